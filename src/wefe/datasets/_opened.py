"""Open queries by name: a published set, or the user's own file."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import NamedTuple

from wefe._checks import logger, nearest
from wefe.datasets._shipped import read_json
from wefe.query import Query


class OpenedQueries(NamedTuple):
    """Queries of one name; `paired`: whether words i of their target sets belong together.

    `left_out` are queries that need a download, which is impossible if `offline`, and `why` it is.
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
    """Open a published query set, or a JSON file (see `Query.dict`); messages call it `what`.

    Queries without their words are left out and logged.
    """
    from wefe.datasets import list_queries_left_out, list_query_sets, load_query_set

    path = Path(text)
    known = {entry["name"]: entry["paired_targets"] for entry in list_query_sets()}
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
        why = getattr(error, "short", str(error))
        logger.warning("%s: %s", text, textwrap.shorten(why, 100, placeholder="..."))
        queries, offline = load_query_set(text, offline=True), True
    if not queries:
        raise ValueError(
            f"{what} {text}: no query of this set works offline, because its words need a download "
            f"({why}). Connect to the internet, or set WEFE_DATA_DIR to a folder with the files."
        )
    left_out = list_queries_left_out(text) if offline else []
    return OpenedQueries(text, queries, known[text], offline, left_out, why)


def _read_queries(path: Path, what: str) -> list[Query]:
    if not path.is_file():
        raise FileNotFoundError(f"{what} {path}: there is no such file.")
    data = read_json(path)
    queries = []
    for position, entry in enumerate(data if isinstance(data, list) else [data]):
        try:
            queries.append(Query.from_dict(entry))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{what} {path}, query {position}: {error}") from error
    if not queries:
        raise ValueError(f"{what} {path} contains no query.")
    return queries
