"""Mitigation methods by name, as on the command line."""

from __future__ import annotations

import inspect
import re

from wefe._checks import check_choice
from wefe.debias._base import BaseDebias


def list_debias_methods() -> list[type[BaseDebias]]:
    """Return every mitigation method of the package, in alphabetical order.

    Returns
    -------
    list of type
        Subclasses of :class:`BaseDebias`.

    Examples
    --------
    >>> [method.__name__ for method in list_debias_methods()][:2]
    ['DoubleHardDebias', 'HalfSiblingRegression']
    """
    import wefe.debias

    every = [getattr(wefe.debias, name) for name in dir(wefe.debias)]
    kinds = [kind for kind in every if isinstance(kind, type) and issubclass(kind, BaseDebias)]
    methods = {kind for kind in kinds if not inspect.isabstract(kind)}
    return sorted(methods, key=lambda method: method.__name__)


def get_debias_method(name: str) -> type[BaseDebias]:
    """Return the mitigation method with a name.

    Parameters
    ----------
    name : str
        'HardDebias', or 'hard-debias' as on the command line; case and punctuation do not matter.

    Returns
    -------
    type
        A subclass of :class:`BaseDebias`.

    Examples
    --------
    >>> get_debias_method("LEACE")(svd_tol=0.02)
    LEACE(svd_tol=0.02)
    """
    known = {method.__name__.lower(): method for method in list_debias_methods()}
    plain = re.sub("[^a-z0-9]", "", str(name).lower())
    if plain not in known:
        check_choice("method", name, [debias_method_name(method) for method in known.values()])
    return known[plain]


def debias_method_name(method: type[BaseDebias]) -> str:
    """Return the name of a method on the command line: 'hard-debias'."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])", "-", method.__name__).lower()
