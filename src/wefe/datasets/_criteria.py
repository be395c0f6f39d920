"""Criteria: by what words of a bias are divided into classes, as mitigation needs to know it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wefe._checks import check_choice, check_known, check_sequence, check_word_set, found
from wefe.datasets._debias_multiclass import fetch_debias_multiclass
from wefe.datasets._debiaswe import fetch_debiaswe
from wefe.datasets._languages import LANGUAGES, load_language_criterion
from wefe.query import Query

_PRESETS = ("gender", "ethnicity", "religion")
_KEYS = (
    "name",
    "definitional_sets",
    "class_names",
    "equalize_sets",
    "specific_words",
    "stereotyped_words",
    "representatives",
)


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


def list_criteria() -> list[str]:
    """Return the names of the criteria that :func:`load_criterion` knows.

    Returns
    -------
    list of str
        The published ones, then gender in other languages.

    Examples
    --------
    >>> list_criteria()[:5]
    ['gender', 'ethnicity', 'religion', 'gender_es', 'gender_fr']
    """
    return [*_PRESETS, *(f"gender_{code}" for code in LANGUAGES)]


def load_criterion(name: str | os.PathLike[str], *, offline: bool = False) -> Criterion:
    """Load the word sets of a published criterion of bias, or those of a file.

    Parameters
    ----------
    name : {'gender', 'ethnicity', 'religion', 'gender_es', ...} or path
        A published criterion; gender in another language (:func:`list_criteria` lists them); or a
        JSON file with an object whose keys are the parameters of
        :class:`Criterion`, of which only 'definitional_sets' is needed.
    offline : bool, default=False
        For 'gender': True takes the 232 gender-specific words that ship with the package in place
        of the 1,441 that are downloaded.

    Returns
    -------
    Criterion
        - gender [1]_: ten pairs (female, male), 52 pairs to equalize, the gender-specific words;
          stereotyped words are the occupations of [2]_.
        - ethnicity [2]_: black, caucasian, asian; six triples, stereotyped words.
        - religion [2]_: jew, christian, muslim; five triples, stereotyped words.

    Raises
    ------
    TypeError
        If `name` is neither a name nor a path.
    ValueError
        If no criterion has that name, or a file is not as described.
    ConnectionError
        If the gender-specific words are neither at hand nor to be downloaded.

    References
    ----------
    .. [1] T. Bolukbasi, K.-W. Chang, J. Zou, V. Saligrama and A. Kalai. Man is to Computer
       Programmer as Woman is to Homemaker? Debiasing Word Embeddings. NIPS 2016.
    .. [2] T. Manzini, Y. C. Lim, A. W. Black and Y. Tsvetkov. Black is to Criminal as Caucasian
       is to Police: Detecting and Removing Multiclass Bias in Word Embeddings. NAACL-HLT 2019.

    Examples
    --------
    >>> gender = load_criterion("gender", offline=True)
    >>> gender.definitional_sets[:2]
    (('woman', 'man'), ('girl', 'boy'))
    >>> load_criterion("religion").class_names
    ('jew', 'christian', 'muslim')
    """
    if not isinstance(name, str | os.PathLike):
        raise TypeError(
            f"a criterion must be a name, a file or a Criterion; got {found(name)}. "
            f"Known names: {', '.join(_PRESETS)}."
        )
    path = Path(name)
    if path.suffix == ".json" or path.is_file():
        return _read(path)
    check_choice("criterion", str(name), (*list_criteria(), "FILE.json"))
    if str(name) not in _PRESETS:
        return load_language_criterion(str(name).removeprefix("gender_"))
    published = fetch_debias_multiclass()
    if name == "gender":
        bolukbasi = fetch_debiaswe(offline=offline)
        templates = published["gender_analogy_templates"]
        return Criterion(
            "gender",
            bolukbasi["definitional_pairs"],
            ("female", "male"),
            bolukbasi["equalize_pairs"],
            bolukbasi["gender_specific_seed" if offline else "gender_specific"],
            {"female": templates["woman"], "male": templates["man"]},
            ("she", "he"),
        )
    classes = {
        "ethnicity": ("black", "caucasian", "asian"),
        "religion": ("jew", "christian", "muslim"),
    }[str(name)]
    sets = published[f"{name}_definitional_sets"]
    return Criterion(
        str(name),
        sets,
        classes,
        stereotyped_words=published[f"{name}_analogy_templates"],
        representatives=classes if name == "religion" else sets[0],
    )


def _read(path: Path) -> Criterion:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path}: expected a JSON file ({error}).") from error
    except RecursionError:
        raise ValueError(f"{path}: expected a JSON file (it is nested too deeply).") from None
    if not isinstance(content, dict) or "definitional_sets" not in content:
        raise ValueError(
            f"{path}: expected a JSON object with 'definitional_sets', a list of lists of words; "
            f"got {found(content)}."
        )
    check_known(str(path), content, _KEYS)
    content.setdefault("name", path.stem)
    try:
        return Criterion(**content)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error


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
