"""The query sets of published studies, declared as references to word sets."""

import itertools
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from wefe.datasets._bingliu import load_bingliu
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
    """A query whose sets are named as ``dataset/key``; ``dataset/key/*`` makes each word a set."""

    targets: tuple[str, ...]
    attributes: tuple[str, ...]

    @property
    def references(self) -> tuple[str, ...]:
        """Everything the query needs."""
        return self.targets + self.attributes


@dataclass(frozen=True)
class QuerySet:
    """Recipes that belong together, with the study they come from."""

    what: str
    source: str
    recipes: tuple[Recipe, ...]
    # Word i of one target set goes with word i of the other: she, he.
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

# Within a query set one name stands for one list. Where the key itself reads well, it is the name.
_SET_NAMES: dict[str, str] = _DATA["set_names"]
# With the language in it, the queries of several languages have names of their own.
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
    "holistic_bias": dict,
    **{code: partial(language_word_sets, code) for code in LANGUAGES},
}
_COMPLETE: dict[str, Callable[[], dict[str, Any]]] = {
    "eds": fetch_eds,
    "bingliu": load_bingliu,
    "holistic_bias": fetch_holistic_bias,
}


class _WordSets:
    """Word sets by reference; a dataset is downloaded only when a set of it has to be."""

    def __init__(self, *, offline: bool) -> None:
        self._offline = offline
        self._datasets: dict[str, dict[str, Any]] = {}

    def __contains__(self, reference: str) -> bool:
        dataset, key = reference.split("/")[:2]
        if dataset not in self._datasets:
            self._datasets[dataset] = _AT_HAND[dataset]()
        if key not in self._datasets[dataset] and not self._offline:
            self._datasets[dataset] = _COMPLETE[dataset]()
        return key in self._datasets[dataset]

    def named_sets(self, references: tuple[str, ...]) -> dict[str, list[str]]:
        """Return the words of each set under the set's name; any word, where they are not here."""
        sets: dict[str, list[str]] = {}
        for reference in references:
            dataset, key, *each = reference.split("/")
            words = self._datasets[dataset][key] if reference in self else ["word"]
            sets |= {word: [word] for word in words} if each else {_set_name(reference): words}
        return sets

    def query(self, recipe: Recipe) -> "Query":
        """Return the query of a recipe."""
        from wefe.query import Query

        targets, attributes = map(self.named_sets, (recipe.targets, recipe.attributes))
        return Query(
            list(targets.values()),
            list(attributes.values()),
            target_sets_names=list(targets),
            attribute_sets_names=list(attributes),
        )


def load_query_set(name: str, offline: bool = False) -> "list[Query]":
    """Load a published query set.

    Parameters
    ----------
    name : str
        `weat`, `gender`, `ethnicity`, `religion`, `case_study` (the three before, in that order),
        `rnsb_national_origin`, `rnsb_religion`; `age`, `disability`, `sexual_orientation`,
        `socioeconomic_class`, `nationality`, `political_views`, `body_type`, with `invented_words`
        as a control; `gender_es`, `gender_fr`, `gender_de`,
        `gender_it`, `gender_nl`, `gender_sv`, `gender_pt`: gender wrt career and family, math and
        arts, science and arts, in other languages. :func:`list_query_sets` tells about each.
    offline : bool, default=False
        If True, nothing is downloaded and the queries with words that do not ship with the package
        are left out; :func:`list_queries_left_out` names them.

    Returns
    -------
    list of Query
        In the order of the study; those that could be made, with `offline`.

    Raises
    ------
    ValueError
        If there is no query set of that name.
    ConnectionError
        If words are needed that are neither at hand nor to be downloaded.

    Examples
    --------
    >>> from wefe.datasets import load_query_set
    >>> queries = load_query_set("gender", offline=True)
    >>> len(queries)
    6
    >>> queries[0].query_name
    'Male terms and Female terms wrt Career and Family'
    >>> queries[0].target_sets[0][:3]
    ['he', 'son', 'his']
    >>> load_query_set("gender_es")[0].query_name
    'Male terms (es) and Female terms (es) wrt Career and Family'
    """
    recipes = _query_set(name).recipes
    word_sets = _WordSets(offline=offline)
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
    """Name the queries that ``load_query_set(name, offline=True)`` leaves out.

    Parameters
    ----------
    name : str
        A query set, as in :func:`load_query_set`.

    Returns
    -------
    list of str
        Names of the queries whose words do not all ship with the package.

    Raises
    ------
    ValueError
        If there is no query set of that name.

    Examples
    --------
    >>> from wefe.datasets import list_queries_left_out
    >>> list_queries_left_out("gender")
    ['Male terms and Female terms wrt Positive words and Negative words']
    >>> list_queries_left_out("weat")
    []
    """
    shipped = _WordSets(offline=True)
    # The words play no part in the name.
    return [
        shipped.query(recipe).query_name
        for recipe in _query_set(name).recipes
        if not all(part in shipped for part in recipe.references)
    ]


def references_to_fetch(name: str) -> list[str]:
    """Return the references of a query set whose words do not ship with the package.

    Examples
    --------
    >>> references_to_fetch("gender")
    ['bingliu/positive_words', 'bingliu/negative_words']
    """
    shipped = _WordSets(offline=True)
    references = [part for recipe in _query_set(name).recipes for part in recipe.references]
    return [part for part in dict.fromkeys(references) if part not in shipped]


def load_weat_queries() -> "list[Query]":
    """Load the ten WEAT tests of Caliskan et al. [1]_, in their order.

    Returns
    -------
    list of Query
        Ten queries with two target and two attribute sets each, of :func:`load_weat`.

    References
    ----------
    .. [1] A. Caliskan, J. J. Bryson and A. Narayanan. Semantics derived automatically from language
       corpora contain human-like biases. Science 356(6334):183-186, 2017.

    Examples
    --------
    >>> from wefe.datasets import load_weat_queries
    >>> load_weat_queries()[0].query_name
    'Flowers and Insects wrt Pleasant and Unpleasant'
    """
    return load_query_set("weat")


def load_case_study_queries(criterion: str, offline: bool = False) -> "list[Query]":
    """Load the queries with which the WEFE paper [1]_ compared seven models.

    Parameters
    ----------
    criterion : {"gender", "ethnicity", "religion"}
        Seven, nine and nine queries with two target and two attribute sets each.
    offline : bool, default=False
        If True, nothing is downloaded and the queries with words that do not ship with the package
        are left out: one, six and three. :func:`list_queries_left_out` names them.

    Returns
    -------
    list of Query
        In the order of the case study.

    Raises
    ------
    ValueError
        If there is no such criterion.
    ConnectionError
        If words are needed that are neither at hand nor to be downloaded.

    References
    ----------
    .. [1] P. Badilla, F. Bravo-Marquez and J. Perez. WEFE: The Word Embeddings Fairness Evaluation
       Framework. IJCAI 2020, pages 430-436.

    Examples
    --------
    >>> from wefe.datasets import load_case_study_queries
    >>> for query in load_case_study_queries("ethnicity", offline=True):
    ...     print(query.query_name)
    White names and Black names wrt Pleasant and Unpleasant
    White names and Asian names wrt Pleasant and Unpleasant
    White names and Hispanic names wrt Pleasant and Unpleasant
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
