"""Criteria of bias: the words that define their classes, published or in JSON files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import chain, combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wefe._checks import (
    check_choice,
    check_known,
    check_text,
    check_word_set,
    check_word_sets,
    found,
)
from wefe._files import read_json
from wefe.datasets._download import read_shipped
from wefe.datasets._studies import fetch_debias_multiclass, fetch_debiaswe
from wefe.query import Query

if TYPE_CHECKING:
    import pandas as pd


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
        definitional = check_word_sets("definitional_sets", self.definitional_sets)
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
        equalize = check_word_sets("equalize_sets", self.equalize_sets or definitional)
        specific = chain(_words("specific_words", self.specific_words), *definitional, *equalize)
        given = self.stereotyped_words or {}
        check_known("stereotyped_words", given, names)
        stereotyped = {
            name: check_word_set(f"stereotyped_words[{name!r}]", given[name])
            for name in names
            if name in given
        }
        # The dataclass is frozen.
        vars(self).update(
            definitional_sets=definitional,
            class_names=names,
            equalize_sets=equalize,
            specific_words=tuple(dict.fromkeys(specific)),
            stereotyped_words=stereotyped,
            representatives=_one_per_class(
                "representatives", self.representatives, definitional[0]
            ),
        )

    @property
    def classes(self) -> dict[str, tuple[str, ...]]:
        """The different definitional words of each class."""
        columns = map(dict.fromkeys, zip(*self.definitional_sets, strict=True))
        return dict(zip(self.class_names, map(tuple, columns), strict=True))

    @property
    def words(self) -> tuple[str, ...]:
        """All words of the criterion."""
        sets = (*self.definitional_sets, *self.equalize_sets, *self.stereotyped_words.values())
        return (*chain(*sets), *self.representatives, *self.specific_words)

    def queries(self) -> list[Query]:
        """Return a query for each pair of classes that have stereotyped words, in a list.

        Targets are the definitional words of the two classes, attributes their stereotyped words.
        """
        queries = []
        for pair in combinations(self.stereotyped_words, 2):
            targets, attributes = (
                [sets[name] for name in pair] for sets in (self.classes, self.stereotyped_words)
            )
            names = list(pair), [f"{name} stereotypes" for name in pair]
            queries.append(Query(targets, attributes, *names))
        return queries


def _words(name: str, words: Sequence[str] | None) -> tuple[str, ...]:
    return check_word_set(name, words) if words is not None and len(words) else ()


def _one_per_class(name: str, words: Any, default: Sequence[str]) -> tuple[str, ...]:
    """Return as many checked words as there are classes, by default `default`."""
    chosen = _words(name, words) or tuple(default)
    if len(chosen) != len(default):
        raise ValueError(
            f"{name} must be {len(default)} words, one for each class; got {found(words)}."
        )
    return chosen


# Their classes, in the order of the published sets.
_PRESETS = {
    "gender": ("female", "male"),
    "ethnicity": ("black", "caucasian", "asian"),
    "religion": ("jew", "christian", "muslim"),
}


def list_criteria() -> list[str]:
    """Return the names of the criteria for :func:`load_criterion`.

    Returns
    -------
    list of str
        The published criteria, then gender in other languages.

    Examples
    --------
    >>> list_criteria()[:5]
    ['gender', 'ethnicity', 'religion', 'gender_es', 'gender_fr']
    """
    return [*_PRESETS, *(f"gender_{code}" for code in LANGUAGES)]


def load_criterion(name: str | os.PathLike[str], *, offline: bool = False) -> Criterion:
    """Load a published criterion of bias, or one from a file.

    Parameters
    ----------
    name : {'gender', 'ethnicity', 'religion', 'gender_es', ...} or path
        A name of :func:`list_criteria`, or a JSON file: an object whose keys are parameters of
        :class:`Criterion`; only 'definitional_sets' is required.
    offline : bool, default=False
        For 'gender': use the 232 gender-specific words that ship, not the 1,441 of the download,
        which raises ConnectionError if it fails.

    Returns
    -------
    Criterion
        - gender: ten pairs (female, male), 52 pairs to equalize and gender-specific words of
          :func:`fetch_debiaswe`; occupations of :func:`fetch_debias_multiclass` as stereotypes;
        - ethnicity (black, caucasian, asian) and religion (jew, christian, muslim): six and five
          triples and stereotyped words of :func:`fetch_debias_multiclass`;
        - gender in another language: the (female, male) pairs of its gender queries. Specific words
          are these, words and occupations with a form for each sex, and some kin, titles and the
          body: :func:`wefe.explore.learn_specific_words` finds more. No stereotyped words.

    Examples
    --------
    >>> load_criterion("gender", offline=True).definitional_sets[:2]
    (('woman', 'man'), ('girl', 'boy'))
    """
    if not isinstance(name, str | os.PathLike):
        raise TypeError(f"a criterion must be a name, a file or a Criterion; got {found(name)}.")
    path = Path(name)
    if path.suffix == ".json" or path.is_file():
        return _read(path)
    chosen = check_choice("criterion", str(name), (*list_criteria(), "FILE.json"))
    if chosen not in _PRESETS:
        return _language_criterion(chosen.removeprefix("gender_"))
    classes, published = _PRESETS[chosen], fetch_debias_multiclass()
    if chosen == "gender":
        bolukbasi = fetch_debiaswe(offline=offline)
        return Criterion(
            "gender",
            bolukbasi["definitional_pairs"],
            classes,
            bolukbasi["equalize_pairs"],
            bolukbasi["gender_specific_seed" if offline else "gender_specific"],
            {"female": published["female_roles"], "male": published["male_roles"]},
            ("she", "he"),
        )
    sets = published[f"{chosen}_definitional_sets"]
    stereotypes = published[f"{chosen}_analogy_templates"]
    return Criterion(chosen, sets, classes, stereotyped_words=stereotypes, representatives=classes)


def _read(path: Path) -> Criterion:
    content: Any = read_json(path, object)
    check_known(str(path), content, [field.name for field in fields(Criterion)])
    try:
        return Criterion(**{"name": path.stem, **content})
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error


# Languages other than English whose words ship.
LANGUAGES = ("es", "fr", "de", "it", "nl", "sv", "pt")


def load_language_words(language: str) -> pd.DataFrame:
    """Load the words of the gender queries of a language, with their English originals.

    Parameters
    ----------
    language : {'es', 'fr', 'de', 'it', 'nl', 'sv', 'pt'}
        Code of the language.

    Returns
    -------
    DataFrame
        - `set`: male_terms and female_terms (in pairs), career, family, math, arts, science;
        - `word`; `english`: the word that it translates or replaces;
        - `grammatical_gender`: 'm', 'f', 'n', 'c' (common, Dutch and Swedish), '-' (none or all);
        - `person`: whether it names persons; such words have a form for each sex, or one for both.

    Examples
    --------
    >>> load_language_words("es").loc[24, ["word", "english", "grammatical_gender"]].tolist()
    ['ejecutivo', 'executive', 'm']
    """
    import pandas as pd

    rows = [
        (key, row["word"], row["english"], row["gender"], row.get("person", False))
        for key, words in _language(language)["word_sets"].items()
        for row in words
    ]
    return pd.DataFrame(rows, columns=["set", "word", "english", "grammatical_gender", "person"])


def load_occupations(language: str) -> pd.DataFrame:
    """Load the masculine and feminine forms of occupations.

    :func:`language_notes` lists what is left out because the feminine form is contested or has
    another meaning (*música* is music).

    Parameters
    ----------
    language : {'es', 'fr', 'de', 'it', 'nl', 'sv', 'pt'}
        Code of the language.

    Returns
    -------
    DataFrame
        Columns `english` (the same key in all languages), `masculine` and `feminine`, which are
        equal if one form serves both sexes.

    Examples
    --------
    >>> load_occupations("es").set_index("english").loc["nurse"].to_dict()
    {'masculine': 'enfermero', 'feminine': 'enfermera'}
    """
    import pandas as pd

    rows = _language(language)["occupations"]
    return pd.DataFrame(rows, columns=["english", "masculine", "feminine"])


def _language_criterion(language: str) -> Criterion:
    """Return the criterion 'gender' of a language; it has no stereotyped words."""
    sets = language_word_sets(language)
    pairs = list(zip(sets["female_terms"], sets["male_terms"], strict=True))
    persons = load_language_words(language).query("person and grammatical_gender in ['f', 'm']")
    # One form for both sexes may be feminine, such as crianças (children) in Portuguese.
    persons = persons[persons.duplicated("english", keep=False)]
    occupations = load_occupations(language).query("masculine != feminine")
    specific = [*persons["word"], *occupations["feminine"], *occupations["masculine"]]
    specific += _language(language)["gendered_words"]
    return Criterion(f"gender_{language}", pairs, ("female", "male"), specific_words=specific)


def language_notes(language: str) -> dict[str, Any]:
    """Return notes on which words of a language were chosen, checked and left out.

    Parameters
    ----------
    language : {'es', 'fr', 'de', 'it', 'nl', 'sv', 'pt'}
        Code of the language.

    Returns
    -------
    dict
        `review` and `choices`, texts; `left_out` and `occupations_left_out`, a reason for each
        word that is left out or replaced.

    Examples
    --------
    >>> language_notes("sv")["occupations_left_out"]["cashier"]
    'kassör and kassörska are different jobs'
    """
    content = _language(language)
    return {key: content[key] for key in ("review", "choices", "left_out", "occupations_left_out")}


def language_word_sets(language: str) -> dict[str, list[str]]:
    sets = _language(language)["word_sets"]
    return {key: [row["word"] for row in words] for key, words in sets.items()}


def _language(language: str) -> dict[str, Any]:
    return read_shipped(f"languages/{check_choice('language', language, LANGUAGES)}")
