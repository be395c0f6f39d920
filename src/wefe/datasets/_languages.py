"""Gender words and occupations in seven languages, with their grammatical gender."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from wefe._checks import check_choice
from wefe.datasets._criterion import Criterion
from wefe.datasets._shipped import read_shipped

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
    """List the languages other than English whose words ship with the package.

    Returns
    -------
    list of dict
        - `code`, `language`: for example 'es' and 'Spanish';
        - `query_set`: its name for :func:`load_query_set` and ``wefe measure --queries``;
        - numbers of words: `pairs` of a male and a female term, `career`, `family`, `math`, `arts`,
          `science`, `occupations` (:func:`load_occupations`), and `gendered_words` (kin, titles and
          the body, such as 'queen' and 'pregnant'; :func:`load_language_criterion`).

    Examples
    --------
    >>> [row["code"] for row in list_languages()]
    ['es', 'fr', 'de', 'it', 'nl', 'sv', 'pt']
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
        for key, words in _read(language)["word_sets"].items()
        for row in words
    ]
    return pd.DataFrame(rows, columns=["set", "word", "english", "grammatical_gender", "person"])


def grammatical_gender_counts(language: str) -> pd.DataFrame:
    """Count the words of each set by grammatical gender.

    Feminine nouns are closer to female terms for reasons of grammar, so an attribute set with more
    of them seems more female, whatever its words mean.

    Parameters
    ----------
    language : {'es', 'fr', 'de', 'it', 'nl', 'sv', 'pt'}
        Code of the language.

    Returns
    -------
    DataFrame
        Number of words per set (rows) and gender of :func:`load_language_words` (columns).

    Examples
    --------
    >>> grammatical_gender_counts("de").loc["math"].to_dict()
    {'m': 0, 'f': 7, 'n': 1, 'c': 0, '-': 0}
    """
    words = load_language_words(language)
    counts = words.groupby(["set", "grammatical_gender"], sort=False).size().unstack(fill_value=0)
    return counts.reindex(index=words["set"].unique(), columns=_GENDERS, fill_value=0).rename_axis(
        index="set", columns="grammatical_gender"
    )


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
        Definitional and equalize sets are the (female, male) pairs of the gender queries. Specific
        words are these, words and occupations with a form for each sex, and some kin, titles and
        the body: :func:`wefe.explore.learn_specific_words` finds more. No stereotyped words.

    Examples
    --------
    >>> load_language_criterion("es").definitional_sets[:2]
    (('ella', 'él'), ('hija', 'hijo'))
    """
    content = _read(language)
    sets = language_word_sets(language)
    pairs = list(zip(sets["female_terms"], sets["male_terms"], strict=True))
    words = load_language_words(language)
    persons = words[words["person"] & ~words["set"].isin(_TARGETS)]
    # One form for both sexes may be feminine, such as crianças (children) in Portuguese.
    forms = persons.groupby("english")["grammatical_gender"].agg(set)
    persons = persons[persons["english"].map(forms) >= {"m", "f"}]
    occupations = [
        row[form]
        for row in content["occupations"]
        if row["masculine"] != row["feminine"]
        for form in ("feminine", "masculine")
    ]
    return Criterion(
        f"gender_{language}",
        pairs,
        ("female", "male"),
        specific_words=[
            *(word for terms in zip(*pairs, strict=True) for word in terms),
            *persons["word"],
            *occupations,
            *content["gendered_words"],
        ],
    )


def language_notes(language: str) -> str:
    """Explain which words of a language were chosen, checked and left out.

    Parameters
    ----------
    language : {'es', 'fr', 'de', 'it', 'nl', 'sv', 'pt'}
        Code of the language.

    Returns
    -------
    str
        Lines of at most 88 characters.

    Examples
    --------
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
    sets = _read(language)["word_sets"]
    return {key: [row["word"] for row in words] for key, words in sets.items()}


def _read(language: str) -> dict[str, Any]:
    return read_shipped(f"languages/{check_choice('language', language, LANGUAGES)}")


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(text, 88, subsequent_indent=indent, break_on_hyphens=False)
