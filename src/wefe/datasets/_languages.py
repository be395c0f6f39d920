"""Gender words and occupations in seven languages, with their grammatical gender."""

from __future__ import annotations

import json
import textwrap
from importlib import resources
from typing import TYPE_CHECKING, Any

from wefe._checks import nearest
from wefe.datasets._criterion import Criterion

if TYPE_CHECKING:
    import pandas as pd

LANGUAGES = {
    "es": "Spanish",
    "fr": "French",
    "de": "German",
    "it": "Italian",
    "nl": "Dutch",
    "sv": "Swedish",
    "pt": "Portuguese",
}
_GENDERS = ("m", "f", "n", "c", "-")
_TARGETS = ("male_terms", "female_terms")


def list_languages() -> list[dict[str, Any]]:
    """List the languages that word sets ship in, beside English.

    Returns
    -------
    list of dict
        One per language, with the keys

        - `code`, `language`: 'es' and 'Spanish';
        - `query_set`: what :func:`load_query_set` and ``wefe measure --queries`` take;
        - `pairs`: number of pairs of a male and a female term;
        - `career`, `family`, `math`, `arts`, `science`: number of words of each attribute set;
        - `occupations`: number of occupations of :func:`load_occupations`;
        - `gendered_words`: number of words of kin, titles and the body, such as 'queen' and
          'pregnant', that :func:`load_language_criterion` adds to its specific words.

    Examples
    --------
    >>> from wefe.datasets import list_languages
    >>> [row["query_set"] for row in list_languages()]
    ['gender_es', 'gender_fr', 'gender_de', 'gender_it', 'gender_nl', 'gender_sv', 'gender_pt']
    """
    rows = []
    for code, language in LANGUAGES.items():
        content = _read(code)
        sizes = {key: len(words) for key, words in content["word_sets"].items()}
        rows.append(
            {
                "code": code,
                "language": language,
                "query_set": f"gender_{code}",
                "pairs": sizes["male_terms"],
                **{key: size for key, size in sizes.items() if key not in _TARGETS},
                "occupations": len(content["occupations"]),
                "gendered_words": len(content["gendered_words"]),
            }
        )
    return rows


def load_language_words(language: str) -> pd.DataFrame:
    """Load the words of a language's gender queries, each with what it translates.

    Parameters
    ----------
    language : {'es', 'fr', 'de', 'it', 'nl', 'sv', 'pt'}
        Code of the language.

    Returns
    -------
    DataFrame
        One row per word, with the columns

        - `set`: male_terms and female_terms (word i of the one goes with word i of the other),
          career, family, math, arts, science;
        - `word`, and `english`: the word that it translates or stands in for;
        - `grammatical_gender`: 'm', 'f', 'n', 'c' (common gender of Dutch and Swedish), or '-'
          where the form has none or serves all;
        - `person`: whether it names persons; such words are listed in both forms, or in one that
          serves both sexes.

    Raises
    ------
    ValueError
        If no words of that language ship.

    Examples
    --------
    >>> from wefe.datasets import load_language_words
    >>> words = load_language_words("es")
    >>> words[words["set"] == "career"].head(3)[["word", "english", "grammatical_gender"]]
             word     english grammatical_gender
    24  ejecutivo   executive                  m
    25  ejecutiva   executive                  f
    26    gestión  management                  f
    """
    import pandas as pd

    rows = [
        (key, row["word"], row["english"], row["gender"], row.get("person", False))
        for key, words in _read(language)["word_sets"].items()
        for row in words
    ]
    return pd.DataFrame(rows, columns=["set", "word", "english", "grammatical_gender", "person"])


def grammatical_gender_counts(language: str) -> pd.DataFrame:
    """Count the words of each set by grammatical gender.

    In a language in which nouns for men are masculine and nouns for women feminine, all feminine
    nouns share some of the direction from man to woman. An attribute set with more feminine words
    than the other one is then nearer to the female terms for no reason of meaning.

    Parameters
    ----------
    language : {'es', 'fr', 'de', 'it', 'nl', 'sv', 'pt'}
        Code of the language.

    Returns
    -------
    DataFrame
        Sets in rows; columns 'm', 'f', 'n', 'c' and '-', see :func:`load_language_words`. Cells
        are numbers of words.

    Raises
    ------
    ValueError
        If no words of that language ship.

    Examples
    --------
    >>> from wefe.datasets import grammatical_gender_counts
    >>> grammatical_gender_counts("de").loc[["math", "arts"]]
    grammatical_gender  m  f  n  c  -
    set
    math                0  7  1  0  0
    arts                2  5  1  0  0
    """
    words = load_language_words(language)
    counts = words.groupby(["set", "grammatical_gender"], sort=False).size().unstack(fill_value=0)
    return counts.reindex(index=words["set"].unique(), columns=_GENDERS, fill_value=0).rename_axis(
        index="set", columns="grammatical_gender"
    )


def load_occupations(language: str) -> pd.DataFrame:
    """Load occupations with their masculine and their feminine form, side by side.

    Occupations whose feminine form is another word as well (*música* is music), a machine, or
    contested, are left out; :func:`language_notes` says which and why.

    Parameters
    ----------
    language : {'es', 'fr', 'de', 'it', 'nl', 'sv', 'pt'}
        Code of the language.

    Returns
    -------
    DataFrame
        Columns `english` (the same key in all languages), `masculine` and `feminine`. They are
        equal where one form serves both sexes.

    Raises
    ------
    ValueError
        If no occupations of that language ship.

    Examples
    --------
    >>> from wefe.datasets import load_occupations
    >>> load_occupations("es").set_index("english").loc[["nurse", "dentist"]]
             masculine   feminine
    english
    nurse    enfermero  enfermera
    dentist   dentista   dentista
    """
    import pandas as pd

    rows = _read(language)["occupations"]
    return pd.DataFrame(rows, columns=["english", "masculine", "feminine"])


def load_language_criterion(language: str) -> Criterion:
    """Load the criterion 'gender' of a language, for bias directions and mitigation.

    Parameters
    ----------
    language : {'es', 'fr', 'de', 'it', 'nl', 'sv', 'pt'}
        Code of the language.

    Returns
    -------
    Criterion
        Named ``gender_es`` and so on. Definitional sets are the pairs (female, male) of the gender
        queries, in the order of classes of the English criterion; they are equalized, too.
        Specific words are these; words that are listed with a form for each sex, occupations
        included; and a list of gendered words (kin, titles, the body) written by hand. It is not
        complete: :func:`wefe.explore.learn_specific_words` finds more in a model. There are no
        stereotyped words.

    Raises
    ------
    ValueError
        If no words of that language ship.

    Examples
    --------
    >>> from wefe.datasets import load_language_criterion
    >>> criterion = load_language_criterion("es")
    >>> criterion.class_names, criterion.definitional_sets[:2]
    (('female', 'male'), (('ella', 'él'), ('hija', 'hijo')))
    >>> "enfermera" in criterion.specific_words, "dentista" in criterion.specific_words
    (True, False)
    >>> {"esposa", "rey", "embarazada"} <= set(criterion.specific_words)
    True
    """
    content = _read(language)
    sets = language_word_sets(language)
    rows = [
        row
        for key, words in content["word_sets"].items()
        if key not in _TARGETS
        for row in words
        if row.get("person")
    ]
    forms = {(row["english"], row["gender"]) for row in rows}
    # One form for both sexes may be feminine, such as the Portuguese crianças, children.
    persons = [
        row["word"] for row in rows if {(row["english"], "m"), (row["english"], "f")} <= forms
    ]
    occupations = [
        row[form]
        for row in content["occupations"]
        if row["masculine"] != row["feminine"]
        for form in ("feminine", "masculine")
    ]
    return Criterion(
        f"gender_{language}",
        list(zip(sets["female_terms"], sets["male_terms"], strict=True)),
        ("female", "male"),
        specific_words=[
            *sets["female_terms"],
            *sets["male_terms"],
            *persons,
            *occupations,
            *content["gendered_words"],
        ],
    )


def language_notes(language: str) -> str:
    """Tell how the words of a language were chosen: what was checked, and what was left out.

    Parameters
    ----------
    language : {'es', 'fr', 'de', 'it', 'nl', 'sv', 'pt'}
        Code of the language.

    Returns
    -------
    str
        Lines of at most 88 characters.

    Raises
    ------
    ValueError
        If no words of that language ship.

    Examples
    --------
    >>> from wefe.datasets import language_notes
    >>> print(language_notes("sv").splitlines()[-1])
    - cashier: kassör and kassörska are different jobs
    """
    content = _read(language)
    blocks = [
        content["language"],
        _wrapped(f"Review: {content['review']}"),
        _wrapped(f"Choices: {content['choices']}"),
    ]
    for title, key in (("Words", "left_out"), ("Occupations", "occupations_left_out")):
        reasons = [_wrapped(f"- {words}: {why}", "  ") for words, why in content[key].items()]
        blocks.append("\n".join([f"{title} left out, or replaced:", *reasons]))
    return "\n\n".join(blocks)


def language_word_sets(language: str) -> dict[str, list[str]]:
    """Return the words of the seven sets of a language.

    Examples
    --------
    >>> language_word_sets("it")["male_terms"][:3]
    ['lui', 'figlio', 'padre']
    """
    sets = _read(language)["word_sets"]
    return {key: [row["word"] for row in words] for key, words in sets.items()}


def _read(language: str) -> dict[str, Any]:
    if not isinstance(language, str) or language not in LANGUAGES:
        known = ", ".join(f"{code!r} ({name})" for code, name in LANGUAGES.items())
        raise ValueError(
            f"language must be one of {known}; got {language!r}.{nearest(str(language), LANGUAGES)}"
        )
    folder = resources.files("wefe.datasets").joinpath("data", "languages")
    # UTF-8, not ASCII as the other files are: these are written and reviewed by hand.
    content: dict[str, Any] = json.loads(folder.joinpath(f"{language}.json").read_text("utf-8"))
    return content


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(text, 88, subsequent_indent=indent, break_on_hyphens=False)
