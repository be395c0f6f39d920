"""The query sets of published studies, declared as references to word sets."""

import itertools
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from wefe._checks import nearest
from wefe.datasets._bingliu import load_bingliu
from wefe.datasets._bsa import fetch_bsa
from wefe.datasets._debias_multiclass import fetch_debias_multiclass
from wefe.datasets._eds import fetch_eds
from wefe.datasets._holistic_bias import fetch_holistic_bias
from wefe.datasets._languages import LANGUAGES, language_word_sets
from wefe.datasets._rnsb import load_rnsb_identity_terms
from wefe.datasets._shipped import read_shipped
from wefe.datasets._weat import load_weat

if TYPE_CHECKING:
    from wefe.query import Query

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Recipe:
    """A query with sets named ``dataset/key``; ``dataset/key/*`` makes each word a set."""

    targets: tuple[str, ...]
    attributes: tuple[str, ...]

    @property
    def references(self) -> tuple[str, ...]:
        return self.targets + self.attributes


@dataclass(frozen=True)
class QuerySet:
    """The recipes of a study."""

    what: str
    source: str
    recipes: tuple[Recipe, ...]
    # Whether word i of one target set belongs to word i of the other: she, he.
    paired_targets: bool = False


def _recipe(targets: str, attributes: str) -> Recipe:
    return Recipe(tuple(targets.split()), tuple(attributes.split()))


_DATA = read_shipped("catalogue/query_sets")
QUERY_SETS: dict[str, QuerySet] = {}
for _name, _row in _DATA["query_sets"].items():
    _parts = [QUERY_SETS[part].recipes for part in _row.pop("of", ())]
    _own = itertools.starmap(_recipe, _row.pop("recipes", ()))
    QUERY_SETS[_name] = QuerySet(recipes=(*itertools.chain(*_parts), *_own), **_row)
QUERY_SETS |= {
    f"gender_{code}": QuerySet(
        f"Gender queries of the case study in {language}",
        "The wefe developers, after the English word sets",
        tuple(
            _recipe(f"{code}/male_terms {code}/female_terms", f"{code}/{one} {code}/{other}")
            for one, other in (("career", "family"), ("math", "arts"), ("science", "arts"))
        ),
        True,
    )
    for code, language in LANGUAGES.items()
}
CRITERIA = ("gender", "ethnicity", "religion")

# Names of word lists, unique within a query set. Keys that read well are names themselves.
_SET_NAMES: dict[str, str] = _DATA["set_names"]
# The language makes names unique across languages.
_SET_NAMES |= {
    f"{code}/{sex}_terms": f"{sex.capitalize()} terms ({code})"
    for code in LANGUAGES
    for sex in ("male", "female")
}

_AT_HAND: dict[str, Callable[[], dict[str, Any]]] = {
    "weat": load_weat,
    "rnsb": load_rnsb_identity_terms,
    "eds": lambda: fetch_eds(offline=True),
    "debias_multiclass": fetch_debias_multiclass,
    "bingliu": dict,
    "bsa": dict,
    "holistic_bias": dict,
    **{code: partial(language_word_sets, code) for code in LANGUAGES},
}
_COMPLETE: dict[str, Callable[[], dict[str, Any]]] = {
    "eds": fetch_eds,
    "bingliu": load_bingliu,
    "bsa": fetch_bsa,
}


class _WordSets:
    """Word sets by reference; a dataset is downloaded only when needed."""

    def __init__(self, *, offline: bool, several_words: bool = False) -> None:
        self._offline = offline
        descriptors = partial(fetch_holistic_bias, several_words=several_words)
        self._complete: dict[str, Callable[[], dict[str, Any]]]
        self._complete = {**_COMPLETE, "holistic_bias": descriptors}
        self._datasets: dict[str, dict[str, Any]] = {}

    def __contains__(self, reference: str) -> bool:
        dataset, key = reference.split("/")[:2]
        if dataset not in self._datasets:
            self._datasets[dataset] = _AT_HAND[dataset]()
        if key not in self._datasets[dataset] and not self._offline:
            self._datasets[dataset] = self._complete[dataset]()
        return key in self._datasets[dataset]

    def named_sets(self, references: tuple[str, ...]) -> dict[str, list[str]]:
        """Return the words of each set under its name; ["word"] for missing ones."""
        sets: dict[str, list[str]] = {}
        for reference in references:
            dataset, key, *each = reference.split("/")
            words = self._datasets[dataset][key] if reference in self else ["word"]
            sets |= {word: [word] for word in words} if each else {_set_name(reference): words}
        return sets

    def query(self, recipe: Recipe) -> "Query":
        from wefe.query import Query

        targets, attributes = map(self.named_sets, (recipe.targets, recipe.attributes))
        return Query(
            list(targets.values()),
            list(attributes.values()),
            target_sets_names=list(targets),
            attribute_sets_names=list(attributes),
        )


def load_query_set(
    name: str, offline: bool = False, *, several_words: bool = False
) -> "list[Query]":
    """Load a published query set; :func:`list_query_sets` describes them.

    Parameters
    ----------
    name : str
        `weat`, `gender`, `ethnicity`, `religion`, `case_study` (these three criteria),
        `rnsb_national_origin`, `rnsb_religion`, `bsa`, `age`, `disability`, `sexual_orientation`,
        `socioeconomic_class`, `nationality`, `political_views`, `body_type`, `invented_words` (a
        control), or gender in another language: `gender_es`, `gender_fr`, `gender_de`, `gender_it`,
        `gender_nl`, `gender_sv`, `gender_pt`.
    offline : bool, default=False
        Download nothing and leave out the queries of :func:`list_queries_left_out`.
    several_words : bool, default=False
        Keep descriptors of people such as 'hard-of-hearing', which only encoders can embed. Studies
        and `wefe measure` do so if all models are encoders.

    Returns
    -------
    list of Query
        In the order of the study.

    Raises
    ------
    ValueError, ConnectionError
        If there is no such query set, or a download fails.

    Examples
    --------
    >>> load_query_set("gender", offline=True)[0].query_name
    'Male terms and Female terms wrt Career and Family'
    """
    recipes = _query_set(name).recipes
    word_sets = _WordSets(offline=offline, several_words=several_words)
    queries = [
        word_sets.query(recipe)
        for recipe in recipes
        if all(part in word_sets for part in recipe.references)
    ]
    if len(queries) < len(recipes):
        logger.info(
            "offline: %d of %d queries of %r left out: %s",
            len(recipes) - len(queries),
            len(recipes),
            name,
            "; ".join(list_queries_left_out(name)),
        )
    return queries


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
    shipped = _WordSets(offline=True)
    # The name does not depend on the words.
    return [
        shipped.query(recipe).query_name
        for recipe in _query_set(name).recipes
        if not all(part in shipped for part in recipe.references)
    ]


def shipped_word_set(reference: str) -> list[str]:
    """Return the words of a shipped set by its reference: 'weat/flowers'."""
    dataset, _, key = reference.partition("/")
    known = [f"{name}/{each}" for name, load in _AT_HAND.items() for each in load()]
    if reference not in known:
        raise ValueError(
            f"{reference!r} is not a word set that ships.{nearest(reference, known)} Write words "
            "as a list, or DATASET/SET, for example 'weat/flowers'"
        )
    return list(_AT_HAND[dataset]()[key])


def references_to_fetch(name: str) -> list[str]:
    """Return the references of a query set whose words do not ship with the package."""
    shipped = _WordSets(offline=True)
    references = [part for recipe in _query_set(name).recipes for part in recipe.references]
    return [part for part in dict.fromkeys(references) if part not in shipped]


def load_weat_queries() -> "list[Query]":
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


def load_case_study_queries(criterion: str, offline: bool = False) -> "list[Query]":
    """Load the queries with which the WEFE paper compared seven models.

    Source: Badilla et al., WEFE: The Word Embeddings Fairness Evaluation Framework, IJCAI 2020.

    Parameters
    ----------
    criterion : {"gender", "ethnicity", "religion"}
        Seven, nine and nine queries with two target and two attribute sets each.
    offline : bool, default=False
        As in :func:`load_query_set`; leaves out one, six and three queries.

    Returns
    -------
    list of Query
        In the order of the case study.

    Raises
    ------
    ValueError, ConnectionError
        If there is no such criterion, or a download fails.

    Examples
    --------
    >>> load_case_study_queries("ethnicity", offline=True)[0].query_name
    'White names and Black names wrt Pleasant and Unpleasant'
    """
    if criterion not in CRITERIA:
        raise ValueError(f"criterion must be one of {', '.join(CRITERIA)}; got {criterion!r}.")
    return load_query_set(criterion, offline=offline)


def _query_set(name: str) -> QuerySet:
    if name not in QUERY_SETS:
        raise ValueError(
            f"There is no query set {name!r}; the query sets are {', '.join(QUERY_SETS)}."
        )
    return QUERY_SETS[name]


def _set_name(reference: str) -> str:
    key = reference.split("/")[1]
    return _SET_NAMES.get(reference, key.replace("_", " ").capitalize())
