"""Query: named target and attribute sets, their template and subqueries (WEFE paper, 3.1)."""

from __future__ import annotations

import builtins
import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from wefe._checks import check_known, check_sequence, check_word_set, found, listed
from wefe._visible import html_table

__all__ = ["Query"]

Template: TypeAlias = tuple[int | Literal["n"], int | Literal["n"]]
#: Target or attribute sets: the name and the words of each.
Side: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]

_OWN = ("target_sets", "attribute_sets", "target_sets_names", "attribute_sets_names")
_KEYS = (*_OWN, "query_name", "template")


class Query:
    """A bias test: target sets (social groups) and attribute sets (concepts).

    Queries are immutable. Two queries are equal if their words and names are, in the same order.
    Source: Badilla, Bravo-Marquez and Pérez, "WEFE: The Word Embeddings Fairness Evaluation
    Framework", IJCAI 2020: queries in section 3.1, scores in 3.2, rankings in 3.2 and 4.2.

    Parameters
    ----------
    target_sets, attribute_sets : sequence of sequences of str
        At least one set of words for a social group, for example women or men; and sets of words
        that may be associated with the groups, for example traits or occupations.
    target_sets_names, attribute_sets_names : sequence of str, optional
        One distinct name per set; by default 'Target set 0', ... and 'Attribute set 0', ...

    Examples
    --------
    >>> query = Query([["she"], ["he"]], [["art"], ["math"]], ["Women", "Men"], ["Arts", "Science"])
    >>> query.query_name, query.template
    ('Women and Men wrt Arts and Science', (2, 2))
    """

    __slots__ = ("_sides",)

    _sides: tuple[Side, ...]

    def __init__(
        self,
        target_sets: Sequence[Sequence[str]],
        attribute_sets: Sequence[Sequence[str]],
        target_sets_names: Sequence[str] | None = None,
        attribute_sets_names: Sequence[str] | None = None,
    ) -> None:
        self._sides = (
            _named_sets("target", target_sets, target_sets_names),
            _named_sets("attribute", attribute_sets, attribute_sets_names),
        )
        if not self._sides[0]:
            raise ValueError("target_sets is empty; a query needs at least one target set.")

    @property
    def target_sets(self) -> list[list[str]]:
        """The target sets, as new lists."""
        return [list(words) for _, words in self._sides[0]]

    @property
    def attribute_sets(self) -> list[list[str]]:
        """The attribute sets, as new lists."""
        return [list(words) for _, words in self._sides[1]]

    @property
    def target_sets_names(self) -> list[str]:
        """The names of the target sets."""
        return [name for name, _ in self._sides[0]]

    @property
    def attribute_sets_names(self) -> list[str]:
        """The names of the attribute sets."""
        return [name for name, _ in self._sides[1]]

    @property
    def template(self) -> tuple[int, int]:
        """The numbers of target sets and of attribute sets."""
        targets, attributes = self._sides
        return len(targets), len(attributes)

    @property
    def query_name(self) -> str:
        """The name of the query, made from the names of the sets: 'T1 and T2 wrt A1 and A2'."""
        named = (self.target_sets_names, self.attribute_sets_names)
        return " wrt ".join(_enumerate(names) for names in named if names)

    @property
    def content(self) -> tuple[tuple[tuple[str, ...], ...], ...]:
        """The words without names, as nested tuples."""
        return tuple(tuple(words for _, words in sets) for sets in self._sides)

    @property
    def words(self) -> tuple[str, ...]:
        """The words of all sets, targets first."""
        return tuple(word for side in self._sides for _, words in side for word in words)

    def satisfies(self, template: Template, minimum: tuple[int, int] = (1, 1)) -> bool:
        """Check whether the query has the shape of a template.

        Parameters
        ----------
        template : tuple
            Numbers of target sets and of attribute sets; 'n' means any number.
        minimum : tuple of int, default=(1, 1)
            Smallest numbers that 'n' allows.

        Returns
        -------
        bool
            True if both numbers match.
        """
        sides = zip(check_template(template), self.template, minimum, strict=True)
        return all(have >= least if want == "n" else have == want for want, have, least in sides)

    def get_subqueries(
        self, new_template: Template, minimum: tuple[int, int] = (1, 1)
    ) -> list[Query]:
        """Return the subqueries Q(s) with the given template (WEFE paper, section 3.1).

        Parameters
        ----------
        new_template, minimum : tuple
            As in :meth:`satisfies`, but 'n' keeps all sets of that side.

        Returns
        -------
        list of Query
            All C(t, t') C(a, a') combinations in the order of the sets. Combinations that repeat
            the words of an earlier one are dropped. Empty if the query has too few sets.

        Examples
        --------
        >>> query = Query([["she"], ["he"], ["they"]], [["math"], ["art"]])
        >>> len(query.get_subqueries((2, 1)))
        6
        """
        sides = zip(check_template(new_template), self._sides, minimum, strict=True)
        picks = [
            itertools.combinations(sets, max(len(sets), least) if want == "n" else want)
            for want, sets, least in sides
        ]
        return unique_queries([self._part(chosen) for chosen in itertools.product(*picks)])

    # `builtins.dict`, because inside this class `dict` is the documented method.
    def dict(self) -> builtins.dict[str, Any]:
        """Return the query as plain data for :meth:`from_dict`.

        'target_sets' and 'attribute_sets' (lists of lists of words), 'target_sets_names',
        'attribute_sets_names', 'query_name' and 'template' (a pair of numbers).
        """
        return {key: getattr(self, key) for key in _KEYS}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Query:
        """Create a query from the result of :meth:`dict`.

        Parameters
        ----------
        data : mapping
            Must have 'target_sets' and 'attribute_sets'. The other keys of :meth:`dict` are
            optional; 'query_name' and 'template' follow from the sets.

        Returns
        -------
        Query
            The query.

        Examples
        --------
        >>> query = Query([["she"], ["he"]], [["math"]])
        >>> Query.from_dict(query.dict()) == query
        True
        """
        check_known("query", data, _KEYS)
        return cls(*(data.get(key) for key in _OWN))  # type: ignore[arg-type]

    def to_json(self) -> str:
        """Return :meth:`dict` as JSON; write it to a file in UTF-8."""
        return json.dumps(self.dict(), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Query:
        """Create a query from JSON.

        Parameters
        ----------
        text : str
            An object as in :meth:`from_dict`.

        Returns
        -------
        Query
            The query.

        Examples
        --------
        >>> written = '{"target_sets": [["she"], ["he"]], "attribute_sets": [["math"]]}'
        >>> Query.from_json(written).template
        (2, 1)
        """
        return cls.from_dict(json.loads(text))

    def __eq__(self, other: object) -> bool:
        return self._sides == other._sides if isinstance(other, Query) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._sides)

    def _joined(self) -> Query:
        words = dict.fromkeys(word for part in self.attribute_sets for word in part)
        name = _enumerate(self.attribute_sets_names)
        return Query(self.target_sets, [list(words)], self.target_sets_names, [name])

    def __repr__(self) -> str:
        return (
            f"<Query: {self.query_name}\n"
            f"- Target sets: {self.target_sets}\n"
            f"- Attribute sets:{self.attribute_sets}>"
        )

    def _repr_html_(self) -> str:
        rows = [
            {"set": name, "role": role, "words": len(words), "first": listed(words, 10)}
            for role, side in zip(("target", "attribute"), self._sides, strict=True)
            for name, words in side
        ]
        return html_table(self.query_name, rows)

    @classmethod
    def _part(cls, sides: tuple[Side, ...]) -> Query:
        # Everything was checked when the whole query was created.
        part = object.__new__(cls)
        part._sides = sides
        return part


def check_query(query: object) -> None:
    """Check that `query` is a `Query`."""
    if not isinstance(query, Query):
        raise TypeError(
            f"query must be a Query; got {found(query)}. Build one, Query(target_sets, "
            "attribute_sets), or load published ones with wefe.datasets.load_query_set."
        )


def check_queries(queries: object) -> list[Query]:
    """Return one or more queries as a list."""
    given: list[Any] = list(check_sequence("queries", queries))
    if not given:
        raise ValueError("queries is empty; there is nothing to run.")
    for query in given:
        check_query(query)
    return given


def unique_queries(queries: Sequence[Query]) -> list[Query]:
    """Drop queries that repeat the words of an earlier one."""
    first: dict[object, Query] = {}
    for query in queries:
        first.setdefault(query.content, query)
    return list(first.values())


def check_template(template: Any) -> Template:
    """Return a template: a pair of integers or 'n', with at least one target set."""
    is_pair = isinstance(template, tuple | list) and len(template) == 2
    if not is_pair or not all(
        number == "n" or number in range(least, 10_000)
        for number, least in zip(template, (1, 0), strict=True)
    ):
        raise ValueError(
            "a template is a pair (number of target sets, number of attribute sets), such as "
            f"(2, 1) or ('n', 1) for any number; got {found(template)}."
        )
    return template[0], template[1]


def _named_sets(kind: str, sets: object, names: object) -> Side:
    sequence, what = check_sequence(f"{kind}_sets", sets), f"{kind}_sets_names"
    n_sets = len(sequence)
    if names is None:
        names = [f"{kind.capitalize()} set {i}" for i in range(n_sets)]
    checked = check_sequence(what, names)
    if len(checked) != n_sets or len(set(checked)) != n_sets:
        raise ValueError(
            f"{what} must have one name per set, all different, because results are stored by "
            f"name: {n_sets} sets, {len(checked)} names {list(checked)}."
        )
    return tuple(
        (str(name), check_word_set(f"{kind} set {i} ({name!r})", words))
        for i, (name, words) in enumerate(zip(checked, sequence, strict=True))
    )


def _enumerate(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + " and " * (len(names) > 1) + names[-1]
