"""Criterion: the words by which a bias is divided into classes, as mitigation needs to know it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wefe._checks import check_known, check_sequence, check_word_set, found
from wefe.query import Query


@dataclass(frozen=True)
class Criterion:
    """The word sets of one criterion of bias: all that a mitigation method may ask for.

    Every method of :mod:`wefe.debias` takes one (``fit(model, criterion=...)``), so that methods
    can be exchanged without looking for other words.

    Parameters
    ----------
    name : str
        What the criterion is, for example 'gender'; it goes into the names of mitigated models.
    definitional_sets : sequence of sequences of str
        Tuples of words that differ in the class only, in the same order of classes:
        ``[("woman", "man"), ("she", "he")]``. Two or more words each.
    class_names : sequence of str, optional
        Names of the classes; 'class 0', 'class 1' ... by default.
    equalize_sets : sequence of sequences of str, optional
        Tuples that should become equally near to every neutral word; by default the definitional
        sets.
    specific_words : sequence of str, optional
        Words to which the class rightly belongs, such as 'actress': what `transform` should
        ignore. Those of the definitional and equalize sets are always among them.
    stereotyped_words : mapping from class name to sequence of str, optional
        Words that should not belong to a class, by the class that they are associated with.
    representatives : sequence of str, optional
        The word that stands for each class; by default the first definitional set.

    Raises
    ------
    TypeError
        If something is of another type.
    ValueError
        If a definitional set has another number of words than the others, fewer than two, or a
        word twice; or names, representatives or stereotyped words do not belong to its classes.

    See Also
    --------
    load_criterion : Published criteria, and those of a file.

    Examples
    --------
    >>> criterion = Criterion(
    ...     "age",
    ...     [("young", "old"), ("boy", "man"), ("girl", "woman")],
    ...     class_names=("young", "old"),
    ...     stereotyped_words={"young": ["naive", "quick"], "old": ["wise", "slow"]},
    ... )
    >>> criterion.classes
    {'young': ('young', 'boy', 'girl'), 'old': ('old', 'man', 'woman')}
    >>> criterion.queries()[0].query_name
    'young and old wrt young stereotypes and old stereotypes'
    """

    name: str
    definitional_sets: Sequence[Sequence[str]]
    class_names: Sequence[str] = ()
    equalize_sets: Sequence[Sequence[str]] = ()
    specific_words: Sequence[str] = field(default=(), repr=False)
    stereotyped_words: Mapping[str, Sequence[str]] = field(default_factory=dict, repr=False)
    representatives: Sequence[str] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise TypeError(f"name must be a string; got {found(self.name)}.")
        definitional = _tuples("definitional_sets", self.definitional_sets)
        n_classes = len(definitional[0]) if definitional else 0
        if n_classes < 2 or any(len(words) != n_classes for words in definitional):
            sizes = sorted({len(words) for words in definitional})
            raise ValueError(
                "definitional_sets must hold tuples of one word per class, two classes or more; "
                f"got tuples of {sizes} words."
            )
        for words in definitional:
            if len(set(words)) < len(words):
                raise ValueError(
                    f"definitional_sets: ({', '.join(words)}) repeats a word; its words stand for "
                    "different classes."
                )
        names = _words("class_names", self.class_names) or tuple(
            f"class {i}" for i in range(n_classes)
        )
        if len(check_word_set("class_names", names)) != n_classes or len(set(names)) != n_classes:
            raise ValueError(
                f"class_names must be {n_classes} different names, one for each word of a "
                f"definitional set; got {found(self.class_names)}."
            )
        equalize = _tuples("equalize_sets", self.equalize_sets or definitional)
        specific = _words("specific_words", self.specific_words)
        everything = [*specific, *(word for words in (*definitional, *equalize) for word in words)]
        given = self.stereotyped_words or {}
        if not isinstance(given, Mapping):
            raise TypeError(
                "stereotyped_words must map names of classes to lists of words; "
                f"got {found(given)}."
            )
        check_known("stereotyped_words", given, names)
        stereotyped = {
            name: check_word_set(f"stereotyped_words[{name!r}]", given[name])
            for name in names
            if name in given
        }
        representatives = _words("representatives", self.representatives) or definitional[0]
        if len(check_word_set("representatives", representatives)) != n_classes:
            raise ValueError(
                f"representatives must be {n_classes} words, one for each class; "
                f"got {found(self.representatives)}."
            )
        for attribute, value in (
            ("definitional_sets", definitional),
            ("class_names", names),
            ("equalize_sets", equalize),
            ("specific_words", tuple(dict.fromkeys(everything))),
            ("stereotyped_words", stereotyped),
            ("representatives", representatives),
        ):
            object.__setattr__(self, attribute, value)

    def __hash__(self) -> int:
        content = (self.name, self.definitional_sets, self.class_names, self.equalize_sets)
        stereotyped = tuple(self.stereotyped_words.items())
        return hash((content, self.specific_words, stereotyped, self.representatives))

    @property
    def n_classes(self) -> int:
        """Number of classes: words in a definitional set."""
        return len(self.class_names)

    @property
    def classes(self) -> dict[str, tuple[str, ...]]:
        """The words of each class in the definitional sets, each once."""
        columns = zip(*self.definitional_sets, strict=True)
        return {
            name: tuple(dict.fromkeys(column))
            for name, column in zip(self.class_names, columns, strict=True)
        }

    @property
    def concept_words(self) -> tuple[str, ...]:
        """All stereotyped words, whatever their class."""
        every = (word for words in self.stereotyped_words.values() for word in words)
        return tuple(dict.fromkeys(every))

    def queries(self) -> list[Query]:
        """Return a query for each two classes that have stereotyped words.

        Targets are the definitional words of the two classes, attributes their stereotyped words.

        Returns
        -------
        list of Query
            Queries with two target and two attribute sets; none if fewer than two classes have
            stereotyped words.

        Examples
        --------
        >>> from wefe.datasets import load_criterion
        >>> [query.query_name for query in load_criterion("religion").queries()][:1]
        ['jew and christian wrt jew stereotypes and christian stereotypes']
        """
        classes = self.classes
        named = [name for name in self.class_names if name in self.stereotyped_words]
        return [
            Query(
                [classes[first], classes[second]],
                [self.stereotyped_words[first], self.stereotyped_words[second]],
                [first, second],
                [f"{first} stereotypes", f"{second} stereotypes"],
            )
            for position, first in enumerate(named)
            for second in named[position + 1 :]
        ]


def _words(name: str, words: Any) -> tuple[str, ...]:
    """Return words that may be left out: None and an empty list are none."""
    if words is None or (isinstance(words, list | tuple) and not words):
        return ()
    return check_word_set(name, words)


def _tuples(name: str, sets: Any) -> tuple[tuple[str, ...], ...]:
    return tuple(
        check_word_set(f"{name}[{position}]", words)
        for position, words in enumerate(check_sequence(name, sets))
    )
