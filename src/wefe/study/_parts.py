"""What the tables of a study file have in common: names, paths, and how they are checked."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_type_hints

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
)

from wefe._checks import nearest
from wefe._visible import HIDDEN
from wefe.metrics._registry import metric_names
from wefe.study._toml_errors import (
    Location,
    PlacedError,
    check_params,
    shown,
)

if TYPE_CHECKING:
    pass


def check_title(name: str) -> str:
    """Return a name, unless it holds what is no letter."""
    bad = HIDDEN.search(name)
    if bad is not None:
        raise ValueError(f"must not hold the control character {bad.group()!a}; got {name!a}")
    return name


#: A text that tables, plots and terminals show.
Name: TypeAlias = Annotated[str, AfterValidator(check_title)]


class Part(BaseModel):
    """A table of a study file: nothing unknown, nothing of another kind, nothing changed later."""

    # Texts are no numbers here, so that a slip is an error and not a guess.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


def beside(text: str, base: str | os.PathLike[str]) -> str:
    """Return the absolute path of a file that is named in a study file.

    Parameters
    ----------
    text : str
        A path, relative to the study file or not; '~' is the home of the user.
    base : path
        The folder of the study file.

    Examples
    --------
    >>> beside("../vectors/glove.txt", "/studies/first")
    '/studies/vectors/glove.txt'
    """
    return os.path.normpath(Path(base, os.path.expanduser(text)).absolute())


def existing_file(text: str, base: str | os.PathLike[str], names: Iterable[str] = ()) -> str:
    """Return the absolute path of a file that is named in a study file, and is there.

    Parameters
    ----------
    text : str
        A path.
    base : path
        The folder of the study file.
    names : iterable of str
        What could have been meant as well.

    Raises
    ------
    FileNotFoundError
        If there is no such file; the error names the nearest one in its folder.
    """
    path = Path(beside(text, base))
    if path.is_file():
        return str(path)
    try:
        others = sorted(entry.name for entry in os.scandir(path.parent) if entry.is_file())
    except OSError:
        others = []
    names = list(names)
    # Names as they would be written: in the folder that was written.
    written = [str(Path(text).with_name(other)) for other in others]
    known = f" Known by name: {', '.join(map(repr, names))}." if names else ""
    raise FileNotFoundError(f"there is no file {path}.{nearest(text, [*names, *written])}{known}")


def names_model(key: str, text: str, base: str | os.PathLike[str]) -> bool:
    """Tell whether a text names a model, and no path."""
    from wefe.models.formats._hub import GENSIM_DATA_NAMES, looks_like_repo_id

    if key in ("counts", "vocabulary"):
        return False
    if (text == "demo" and key == "source") or text.startswith("hf://"):
        return True
    path = Path(beside(text, base))
    # A file in a zip archive is named as if the archive were a folder.
    if path.exists() or any(parent.is_file() for parent in path.parents):
        return False
    # 'vectors/glove' is a file that is missing, if there is a folder 'vectors'.
    is_repo = looks_like_repo_id(text) and not Path(base, text.split("/")[0]).is_dir()
    return is_repo or (text in GENSIM_DATA_NAMES and key == "source")


@contextmanager
def at_key(key: str) -> Iterator[None]:
    """Have a validator of a whole table point at one key."""
    try:
        yield
    except ValueError as error:
        raise PlacedError([((key,), str(error))]) from None


@contextmanager
def blaming(table: str, label: str | None, key: str, position: int | None = None) -> Iterator[None]:
    """Say which key of the study file is to blame for what turns up after it was checked."""
    place = f"[{table}]" if label is None else f"[[{table}]] of {label!r}"
    place += f", key {key!r}" + ("" if position is None else f", element {position + 1}")
    try:
        yield
    except (OSError, ValueError, ImportError) as error:
        kinds = (FileNotFoundError, ConnectionError, OSError, ImportError, ValueError)
        kind = next(kind for kind in kinds if isinstance(error, kind))
        raise kind(f"{place}: {error}") from error


# What no file can say, or what another key says.
_NOT_OF_METRICS = {
    *("contexts", "estimator", "print_model_evaluation"),
    *("p_value_verbose", "warn_not_found_words", "preprocessors"),
}


def metric_name(value: str) -> str:
    """Return the name of a metric as it is listed; case and punctuation do not matter."""
    known = metric_names()
    plain = {plain_name(name): name for name in known}
    longer = {
        plain_name(metric.__name__): name for name, metric in known.items() if name != "weat-es"
    }
    name = (longer | plain).get(plain_name(value))
    if name is None:
        raise ValueError(no_such(value, list(known), "no metric"))
    return name


def plain_name(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter.isalnum())


def check_metric_params(metric: str, params: Mapping[str, Any]) -> None:
    from wefe.embeddings import Lookup as Options
    from wefe.metrics._parameters import plain_hints_of

    if metric.startswith("weat") and "return_effect_size" in params:
        text = "is chosen by the metric: 'weat' or 'weat-es'"
        raise PlacedError([(("params", "return_effect_size"), text)])
    if "preprocessors" in params:
        text = "is the same for all metrics; write it into [lookup]"
        raise PlacedError([(("params", "preprocessors"), text)])
    kind = metric_names()[metric]
    hints = {**plain_hints_of(kind), **get_type_hints(Options)}
    check_params(params, [], hints, _NOT_OF_METRICS, metric)
    check_plain(params)


def check_plain(params: Mapping[str, Any]) -> None:
    """Refuse values that have no JSON: dates, nan."""
    problems: list[tuple[Location, str]] = []
    for name, value in params.items():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            text = f"must be made of texts, finite numbers, true and false; got {shown(value)}"
            problems.append((("params", name), text))
    if problems:
        raise PlacedError(problems)


def repeated(names: Sequence[str]) -> list[tuple[int, int]]:
    """Return the positions of names that occurred before, and where they did first.

    Examples
    --------
    >>> repeated(["a", "b", "a"])
    [(2, 0)]
    """
    found = [(position, names.index(name)) for position, name in enumerate(names)]
    return [(position, first) for position, first in found if first < position]


def check_once(names: Sequence[str]) -> None:
    """Refuse names that occur twice."""
    problems: list[tuple[Location, str]] = [
        ((position,), f"{names[first]!r} is there twice; take one out")
        for position, first in repeated(names)
    ]
    if problems:
        raise PlacedError(problems)


def check_name(name: str, known: Sequence[str], what: str) -> None:
    if name not in known:
        raise ValueError(no_such(name, known, what))


def check_each(key: Location, names: Iterable[str], known: Sequence[str], what: str) -> None:
    problems = [
        ((*key, position), no_such(name, known, what))
        for position, name in enumerate(names)
        if name not in known
    ]
    if problems:
        raise PlacedError(problems)


def no_such(name: str, known: Sequence[str], what: str) -> str:
    return f"{name!r} is {what}.{nearest(name, known)} Known: {', '.join(map(repr, known))}"


def as_value_error(check: Callable[..., object], *values: object) -> None:
    """Call a check; pydantic knows no TypeError."""
    try:
        check(*values)
    except TypeError as error:
        raise ValueError(str(error)) from error
