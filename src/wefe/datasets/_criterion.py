"""The words that define the classes of a bias."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations
from typing import Any

from wefe._checks import check_known, check_sequence, check_text, check_word_set, found
from wefe.query import Query


@dataclass(frozen=True)
class Criterion:
    """The words that define a bias, for mitigation methods (``fit(model, criterion=...)``).

    Parameters
    ----------
    name : str
        For example 'gender'; becomes part of the names of mitigated models.
    definitional_sets : sequence of sequences of str
        Tuples of two or more different words that differ only in the class, all of one length and
        in the same order of classes: ``[("woman", "man"), ("she", "he")]``.
    class_names : sequence of str, optional
        By default 'class 0', 'class 1' ...
    equalize_sets : sequence of sequences of str, optional
        Tuples that should become equally close to neutral words; by default the definitional sets.
    specific_words : sequence of str, optional
        Words that rightly belong to a class, such as 'actress', and keep their vectors; those of
        the definitional and equalize sets are always added.
    stereotyped_words : mapping from class name to sequence of str, optional
        Words associated with a class that should not be.
    representatives : sequence of str, optional
        One word per class; by default the first definitional set.

    Examples
    --------
    >>> pairs = [("young", "old"), ("boy", "man"), ("girl", "woman")]
    >>> Criterion("age", pairs, class_names=("young", "old")).classes
    {'young': ('young', 'boy', 'girl'), 'old': ('old', 'man', 'woman')}
    """

    name: str
    definitional_sets: Sequence[Sequence[str]]
    class_names: Sequence[str] = ()
    equalize_sets: Sequence[Sequence[str]] = ()
    specific_words: Sequence[str] = field(default=(), repr=False)
    stereotyped_words: Mapping[str, Sequence[str]] = field(default_factory=dict, repr=False)
    representatives: Sequence[str] = ()

    def __post_init__(self) -> None:
        check_text("name", self.name)
        definitional = _tuples("definitional_sets", self.definitional_sets)
        sizes = sorted({len(words) for words in definitional})
        if len(sizes) != 1 or sizes == [1]:
            raise ValueError(
                "definitional_sets must hold tuples of one word per class, two classes or more; "
                f"got tuples of {sizes} words."
            )
        if repeats := [words for words in definitional if len(set(words)) < len(words)]:
            raise ValueError(
                f"definitional_sets: ({', '.join(repeats[0])}) repeats a word; its words stand for "
                "different classes."
            )
        default = [f"class {i}" for i in range(sizes[0])]
        names = _one_per_class("class_names", self.class_names, default)
        if len(set(names)) != len(names):
            raise ValueError(f"class_names must be different names; got {names}.")
        equalize = _tuples("equalize_sets", self.equalize_sets or definitional)
        specific = chain(_words("specific_words", self.specific_words), *definitional, *equalize)
        # The dataclass is frozen.
        vars(self).update(
            definitional_sets=definitional,
            class_names=names,
            equalize_sets=equalize,
            specific_words=tuple(dict.fromkeys(specific)),
            stereotyped_words=_by_class("stereotyped_words", self.stereotyped_words, names),
            representatives=_one_per_class(
                "representatives", self.representatives, definitional[0]
            ),
        )

    def __hash__(self) -> int:
        content = (self.name, self.definitional_sets, self.class_names, self.equalize_sets)
        stereotyped = tuple(self.stereotyped_words.items())
        return hash((content, self.specific_words, stereotyped, self.representatives))

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.class_names)

    @property
    def classes(self) -> dict[str, tuple[str, ...]]:
        """The different definitional words of each class."""
        columns = zip(*self.definitional_sets, strict=True)
        return {
            name: tuple(dict.fromkeys(column))
            for name, column in zip(self.class_names, columns, strict=True)
        }

    @property
    def words(self) -> tuple[str, ...]:
        """All words of the criterion."""
        sets = (*self.definitional_sets, *self.equalize_sets, *self.stereotyped_words.values())
        return (*chain(*sets), *self.representatives, *self.specific_words)

    @property
    def concept_words(self) -> tuple[str, ...]:
        """All stereotyped words, whatever their class."""
        return tuple(dict.fromkeys(chain(*self.stereotyped_words.values())))

    def queries(self) -> list[Query]:
        """Return a query for each pair of classes that have stereotyped words, in a list.

        Targets are the definitional words of the two classes, attributes their stereotyped words.
        """
        classes = self.classes
        named = [name for name in self.class_names if name in self.stereotyped_words]
        return [
            Query(
                [classes[name] for name in pair],
                [self.stereotyped_words[name] for name in pair],
                list(pair),
                [f"{name} stereotypes" for name in pair],
            )
            for pair in combinations(named, 2)
        ]


def _words(name: str, words: Any) -> tuple[str, ...]:
    """Return the checked words; none for None."""
    if words is None or (isinstance(words, list | tuple) and not words):
        return ()
    return check_word_set(name, words)


def _tuples(name: str, sets: Any) -> tuple[tuple[str, ...], ...]:
    return tuple(
        check_word_set(f"{name}[{position}]", words)
        for position, words in enumerate(check_sequence(name, sets))
    )


def _by_class(name: str, given: Any, classes: Sequence[str]) -> dict[str, tuple[str, ...]]:
    if not isinstance(given or {}, Mapping):
        raise TypeError(f"{name} must map names of classes to lists of words; got {found(given)}.")
    check_known(name, given or {}, classes)
    return {
        each: check_word_set(f"{name}[{each!r}]", given[each])
        for each in classes
        if each in (given or {})
    }


def _one_per_class(name: str, words: Any, default: Sequence[str]) -> tuple[str, ...]:
    """Return as many checked words as there are classes, by default `default`."""
    chosen = _words(name, words) or tuple(default)
    if len(chosen) != len(default):
        raise ValueError(
            f"{name} must be {len(default)} words, one for each class; got {found(words)}."
        )
    return chosen
