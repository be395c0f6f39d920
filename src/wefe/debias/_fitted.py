"""Check whether a mitigation method is fitted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def check_is_fitted(method: Any, attributes: Sequence[str] | str | None = None) -> None:
    """Raise an error unless a mitigation method is fitted.

    Parameters
    ----------
    method : BaseDebias
        The method.
    attributes : sequence of str, optional
        Attributes that `fit` sets; by default `dim_`, the last one.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the method lacks one of the attributes.

    Examples
    --------
    >>> from wefe.debias import HardDebias
    >>> check_is_fitted(HardDebias())
    Traceback (most recent call last):
    sklearn.exceptions.NotFittedError: HardDebias is not fitted; call fit with a model and ...
    """
    from sklearn.utils.validation import check_is_fitted as check

    message = (
        "%(name)s is not fitted; call fit with a model and word sets first: "
        "%(name)s().fit(model, ...)."
    )
    check(method, attributes, msg=message)
