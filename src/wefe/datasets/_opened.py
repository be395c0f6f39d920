"""Open queries by name: a published set, or the user's own file."""

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
    """Queries that were requested by one name.

    `paired` tells whether words i of the target sets belong together (None if unknown), `offline`
    whether downloads were impossible. `left_out` are queries that need a download, `why` it failed.
    """

    name: str
    queries: list[Query]
    paired: bool | None = None
    offline: bool = False
    left_out: list[str] = []  # noqa: RUF012 - nobody changes it
    why: str = ""


def open_query_set(
    text: str, offline: bool = False, what: str = "query set", *, several_words: bool = False
) -> OpenedQueries:
    """Open a published query set, or a JSON file of queries as written by `Query.dict`.

    Queries without their words are left out and logged. Messages call the option `what`.
    """
    from wefe.datasets import list_queries_left_out, list_query_sets, load_query_set

    path = Path(text)
    known = {entry["name"]: entry for entry in list_query_sets()}
    # A published set goes before a file of the same name.
    if text not in known and (path.suffix == ".json" or path.is_file()):
        return OpenedQueries(path.stem, _read_queries(path, what))
    if text not in known:
        raise ValueError(
            f"{what} {text!r} is neither a published query set ({', '.join(known)}) nor a JSON "
            f"file.{nearest(text, known)}"
        )
    why = "offline"
    try:
        queries = load_query_set(text, offline=offline, several_words=several_words)
    except ConnectionError as error:
        # Most of an answer, with a warning, is better than none.
        queries, offline = load_query_set(text, offline=True), True
        why = error.short if isinstance(error, UnreachableError) else str(error)
    if not queries:
        raise ValueError(
            f"{what} {text}: no query of this set works offline, because its words need a download "
            f"({why}). Connect to the internet, or set WEFE_DATA_DIR to a folder with the files."
        )
    left_out = list_queries_left_out(text) if offline else []
    if left_out:
        logger.warning(
            "%s: %d of %d queries are left out because their words need a download (%s): %s",
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
        raise ValueError(f"{what} {path} is not JSON: {error}") from error
    queries = []
    for position, entry in enumerate(data if isinstance(data, list) else [data]):
        try:
            queries.append(Query.from_dict(entry))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{what} {path}, query {position}: {error}") from error
    if not queries:
        raise ValueError(f"{what} {path} contains no query.")
    return queries
