"""Queries as users name them: a published set, or a file of their own."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import NamedTuple

from wefe._checks import nearest
from wefe.datasets._download import UnreachableError
from wefe.query import Query

logger = logging.getLogger(__name__)


class OpenedQueries(NamedTuple):
    """Queries that were asked for by one name.

    Attributes
    ----------
    name : str
        Name of the set, or stem of the file.
    queries : list of Query
        What can be asked.
    paired : bool or None
        Whether word i of each target set belong together; None if nobody knows.
    offline : bool
        Whether no word was, or could be, downloaded.
    left_out : list of str
        Names of the queries whose words are a download.
    why : str
        Why they were not downloaded; '' if nothing is left out.
    """

    name: str
    queries: list[Query]
    paired: bool | None = None
    offline: bool = False
    left_out: list[str] = []  # noqa: RUF012 - nobody changes it
    why: str = ""


def open_query_set(text: str, offline: bool = False, what: str = "query set") -> OpenedQueries:
    """Open a published query set, or a JSON file of queries.

    Where words cannot be downloaded, the queries with such words are left out, and this is logged.

    Parameters
    ----------
    text : str
        A name of :func:`wefe.datasets.list_query_sets`, or a file as `Query.dict` writes it: one
        query, or a list of them.
    offline : bool, default=False
        Whether to download nothing.
    what : str, default='query set'
        What messages call it; for example the option of a command line.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If `text` is neither, the file is damaged, or not one query can be asked.

    Examples
    --------
    >>> opened = open_query_set("gender", offline=True)
    >>> len(opened.queries), opened.left_out
    (6, ['Male terms and Female terms wrt Positive words and Negative words'])
    """
    from wefe.datasets import list_queries_left_out, list_query_sets, load_query_set

    path = Path(text)
    known = {entry["name"]: entry for entry in list_query_sets()}
    # A file that happens to have the name of a published set must not stand for it.
    if text not in known and (path.suffix == ".json" or path.is_file()):
        return OpenedQueries(path.stem, _read_queries(path, what))
    if text not in known:
        raise ValueError(
            f"{what} {text!r} is neither a published query set ({', '.join(known)}) nor a JSON "
            f"file.{nearest(text, known)}"
        )
    why = "offline"
    try:
        queries = load_query_set(text, offline=offline)
    except ConnectionError as error:
        # Better most of an answer, and saying so, than none.
        queries, offline = load_query_set(text, offline=True), True
        why = error.short if isinstance(error, UnreachableError) else str(error)
    if not queries:
        raise ValueError(
            f"{what} {text}: no query of this set can be asked offline, as its words are a "
            f"download ({why}). Connect, or set WEFE_DATA_DIR to a mirror."
        )
    left_out = list_queries_left_out(text) if offline else []
    if left_out:
        logger.warning(
            "%s: %d of %d queries are left out, as their words are a download (%s): %s",
            text,
            len(left_out),
            len(left_out) + len(queries),
            _first(why, 100),
            _first("; ".join(left_out), 100),
        )
    paired = known[text]["paired_targets"]
    return OpenedQueries(text, queries, paired, offline, left_out, why if left_out else "")


def _first(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 3]}..."


def _read_queries(path: Path, what: str) -> list[Query]:
    if not path.is_file():
        raise FileNotFoundError(f"{what} {path}: there is no such file.")
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{what} {path} is no JSON: {error}") from error
    queries = []
    for position, entry in enumerate(data if isinstance(data, list) else [data]):
        try:
            queries.append(Query.from_dict(entry))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{what} {path}, query {position}: {error}") from error
    if not queries:
        raise ValueError(f"{what} {path} holds no query.")
    return queries
