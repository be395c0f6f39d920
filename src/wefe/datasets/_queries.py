"""The query sets of published studies, and the tables of what there is."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from wefe._checks import check_choice, logger, nearest
from wefe._files import read_json
from wefe.datasets._criteria import LANGUAGES, language_word_sets
from wefe.datasets._download import FILES, read_shipped
from wefe.datasets._studies import (
    fetch_bsa,
    fetch_debias_multiclass,
    fetch_eds,
    fetch_holistic_bias,
    load_bingliu,
    load_rnsb_identity_terms,
    load_weat,
)
from wefe.query import Query

_DATA = read_shipped("catalogue/query_sets")
#: Name -> 'what', 'source', 'paired_targets' (word i of one target set belongs to word i of the
#: other), and 'recipes': references to targets and to attributes, "dataset/key dataset/key". A
#: reference "dataset/key/*" makes each word a set.
QUERY_SETS: dict[str, dict[str, Any]] = _DATA["query_sets"]
for _row in QUERY_SETS.values():
    _parts = [QUERY_SETS[part]["recipes"] for part in _row.pop("of", ())]
    _row.setdefault("recipes", [recipe for part in _parts for recipe in part])

_SHIPPED: dict[str, Callable[..., dict[str, Any]]] = {
    "weat": load_weat,
    "rnsb": load_rnsb_identity_terms,
    "eds": partial(fetch_eds, offline=True),
    "debias_multiclass": fetch_debias_multiclass,
    **{code: partial(language_word_sets, code) for code in LANGUAGES},
}
_FETCHED: dict[str, Callable[..., dict[str, Any]]] = {
    "eds": fetch_eds,
    "bingliu": load_bingliu,
    "bsa": fetch_bsa,
    "holistic_bias": fetch_holistic_bias,
}


def _made(name: str, offline: bool, several_words: bool = False) -> tuple[list[Query], list[str]]:
    """Return the queries of a set, and the names of those whose words need a download."""
    datasets: dict[str, dict[str, list[str]]] = {}

    def words_of(reference: str) -> list[str]:
        dataset, key = reference.split("/")[:2]
        if dataset not in datasets:
            datasets[dataset] = _SHIPPED.get(dataset, dict)()
        if key not in datasets[dataset] and not offline:
            several = {"several_words": several_words} if dataset == "holistic_bias" else {}
            datasets[dataset] = _FETCHED[dataset](**several)
        return datasets[dataset].get(key, [])

    queries, left_out = [], []
    for recipe in QUERY_SETS[check_choice("query set", name, QUERY_SETS)]["recipes"]:
        sides = [{each: words_of(each) for each in references.split()} for references in recipe]
        targets, attributes = map(_named, sides)
        query = Query([*targets.values()], [*attributes.values()], [*targets], [*attributes])
        if all(words for side in sides for words in side.values()):
            queries.append(query)
        else:
            left_out.append(query.query_name)
    return queries, left_out


def _named(side: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return the words of each set under its name, which does not depend on the words."""
    sets: dict[str, list[str]] = {}
    for reference, known in side.items():
        _, key, *each = reference.split("/")
        words = known or ["word"]
        # Keys that read well are names themselves.
        name = _DATA["set_names"].get(reference, key.replace("_", " ").capitalize())
        sets |= {word: [word] for word in words} if each else {name: words}
    return sets


def load_query_set(name: str, offline: bool = False, *, several_words: bool = False) -> list[Query]:
    """Load a published query set; :func:`list_query_sets` describes them.

    Parameters
    ----------
    name : str
        `weat`, `gender`, `ethnicity`, `religion`, `case_study` (these three, with which Badilla et
        al., IJCAI 2020, compared seven models),
        `rnsb_national_origin`, `rnsb_religion`, `bsa`, `age`, `disability`, `sexual_orientation`,
        `socioeconomic_class`, `nationality`, `political_views`, `body_type`, `invented_words` (a
        control), or `gender_es`, `_fr`, `_de`, `_it`, `_nl`, `_sv`, `_pt` in other languages.
    offline : bool, default=False
        Download nothing and leave out the queries of :func:`list_queries_left_out`. Otherwise a
        download that fails raises ConnectionError.
    several_words : bool, default=False
        Keep descriptors such as 'hard-of-hearing', as studies do if all models are encoders.

    Returns
    -------
    list of Query
        In the order of the study.

    Examples
    --------
    >>> load_query_set("gender", offline=True)[0].query_name
    'Male terms and Female terms wrt Career and Family'
    """
    return _loaded(name, offline, several_words)[0]


def _loaded(name: str, offline: bool, several_words: bool = False) -> tuple[list[Query], list[str]]:
    """Return queries and the names of those left out, which are logged."""
    queries, left_out = _made(name, offline, several_words)
    if left_out:
        names = textwrap.shorten("; ".join(left_out), 100, placeholder="...")
        logger.warning(
            "%s: %d of %d queries are left out because their words need a download: %s",
            *(name, len(left_out), len(queries) + len(left_out), names),
        )
    return queries, left_out


def list_queries_left_out(name: str) -> list[str]:
    """Return the names of the queries that ``load_query_set(name, offline=True)`` leaves out.

    Parameters
    ----------
    name : str
        A query set of :func:`load_query_set`.

    Returns
    -------
    list of str
        The queries with words that do not ship with the package.

    Examples
    --------
    >>> list_queries_left_out("gender")
    ['Male terms and Female terms wrt Positive words and Negative words']
    """
    return _made(name, offline=True)[1]


def shipped_word_set(reference: str, others: Iterable[str] = ()) -> list[str]:
    """Return the words of a shipped set by its reference: 'weat/flowers'.

    The error for an unknown one may suggest the names of other sets.
    """
    dataset, _, key = reference.partition("/")
    known = [f"{name}/{each}" for name, load in _SHIPPED.items() for each in load()]
    if reference not in known:
        hint = nearest(reference, [*others, *known])
        raise ValueError(
            f"{reference!r} is not a word set that ships.{hint} Write words as a list, or "
            "DATASET/SET, for example 'weat/flowers'"
        )
    return list(_SHIPPED[dataset]()[key])


def load_weat_queries() -> list[Query]:
    """Load the ten WEAT tests in their order; :func:`load_weat` loads their words.

    Returns
    -------
    list of Query
        Two target and two attribute sets each.

    Examples
    --------
    >>> load_weat_queries()[0].query_name
    'Flowers and Insects wrt Pleasant and Unpleasant'
    """
    return load_query_set("weat")


def list_datasets() -> list[dict[str, Any]]:
    """List the datasets, without downloading anything.

    Returns
    -------
    list of dict
        - `name`; `function`: the function of :mod:`wefe.datasets` that returns or describes it;
        - `what`: one line of description; `word_sets`: their number, downloads included;
        - `delivery`: 'shipped', 'fetched' or 'shipped and fetched'; `download_bytes`: 0 for none;
        - `source`, `url`: the publication.

    Examples
    --------
    >>> [(row["name"], row["word_sets"], row["delivery"]) for row in list_datasets()[:2]]
    [('weat', 32, 'shipped'), ('rnsb', 2, 'shipped')]
    """
    rows = []
    for name, row in read_shipped("catalogue/datasets").items():
        # Datasets that ship, in whole or in part, have their source in their JSON file.
        source = row.pop("source", None) or read_shipped(name)["source"]
        row["download_bytes"] = sum(FILES[file].size for file in row.pop("files", ()))
        rows.append({"name": name, **row, "source": source["citation"], "url": source["url"]})
    return rows


def list_query_sets() -> list[dict[str, Any]]:
    """List the query sets of :func:`load_query_set`, without downloading anything.

    Returns
    -------
    list of dict
        One per query set: `name`, `what`; `queries` and `queries_offline`, their numbers with and
        without a download; `paired_targets`, whether words i of the target sets belong together, as
        RIPA and direct bias require; and `source`.

    Examples
    --------
    >>> [(row["name"], row["queries"], row["queries_offline"]) for row in list_query_sets()[:2]]
    [('weat', 10, 10), ('gender', 7, 6)]
    """
    return [
        {
            "name": name,
            "what": row["what"],
            "queries": len(row["recipes"]),
            "queries_offline": len(row["recipes"]) - len(list_queries_left_out(name)),
            "paired_targets": row.get("paired_targets", False),
            "source": row["source"],
        }
        for name, row in QUERY_SETS.items()
    ]


class OpenedQueries(NamedTuple):
    """Queries of one name; `left_out`: those that need a download, and `why` it is impossible."""

    name: str
    queries: list[Query]
    left_out: list[str] = []  # noqa: RUF012 - nobody changes it
    why: str = ""


def open_query_set(
    text: str, offline: bool = False, what: str = "query set", *, several_words: bool = False
) -> OpenedQueries:
    """Open a published query set, or a JSON file (see `Query.dict`); messages call it `what`.

    Queries without their words are left out and logged.
    """
    path = Path(text)
    # A published set goes before a file of the same name.
    if text not in QUERY_SETS:
        if path.suffix == ".json" or path.is_file():
            return OpenedQueries(path.stem, _read_queries(path, what))
        raise ValueError(
            f"{what} {text!r} is neither a published query set ({', '.join(QUERY_SETS)}) nor a "
            f"JSON file.{nearest(text, QUERY_SETS)}"
        )
    why = "offline"
    try:
        queries, left_out = _loaded(text, offline, several_words)
    except ConnectionError as error:
        # Most of an answer, with a warning, is better than none.
        why = getattr(error, "short", str(error))
        logger.warning("%s: %s", text, textwrap.shorten(why, 100, placeholder="..."))
        queries, left_out = _loaded(text, offline=True)
    if not queries:
        raise ValueError(
            f"{what} {text}: no query of this set works offline, because its words need a download "
            f"({why}). Connect to the internet, or set WEFE_DATA_DIR to a folder with the files."
        )
    return OpenedQueries(text, queries, left_out, why)


def _read_queries(path: Path, what: str) -> list[Query]:
    data: Any = read_json(path, object)
    queries = []
    for position, entry in enumerate(data if isinstance(data, list) else [data]):
        try:
            queries.append(Query.from_dict(entry))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{what} {path}, query {position}: {error}") from error
    if not queries:
        raise ValueError(f"{what} {path} contains no query.")
    return queries
