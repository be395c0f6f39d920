"""Preprocess words before look-up.

A *preprocessor* is a dictionary of options. A list of preprocessors gives the variants of a word,
in the order in which they are looked up.
"""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from wefe._checks import check_bool, check_choice, check_known, check_sequence, found

__all__ = ["preprocess_word", "variants"]


CASES: dict[str, Callable[[str], str]] = {
    "lowercase": str.lower,
    "uppercase": str.upper,
    "titlecase": str.title,
}
_APOSTROPHES = {"straight": "'", "typographic": "\u2019"}
# The straight apostrophe, both single quotation marks and the modifier letter apostrophe.
_ANY_APOSTROPHE = tuple(map(ord, "'\u2018\u2019\u02bc"))
CHOICES = {
    "strip_accents": ("ascii", "unicode"),
    "unicode_form": ("NFC", "NFD", "NFKC", "NFKD"),
    "apostrophes": tuple(_APOSTROPHES),
}
_VALUES: dict[str, Any] = {**dict.fromkeys(CASES, (True,)), **CHOICES}
# Forms in which a query's words may be looked up by any of the options of a preprocessor.
_ALL_FORMS: tuple[Any, ...] = tuple(
    {name: value for name, value in zip(_VALUES, values, strict=True) if value is not None}
    for values in itertools.product(*((None, *choices) for choices in _VALUES.values()))
)
# These make all the forms of a word in ASCII without apostrophe.
_ASCII_FORMS = tuple(f for f in _ALL_FORMS if not {"unicode_form", "apostrophes"} & f.keys())

#: A list of preprocessors; plain dictionaries are enough.
Preprocessors: TypeAlias = Sequence[Mapping[str, Any]]


class HasWords(Protocol):
    """What stands for its words, such as a query, a criterion or a benchmark."""

    @property
    def words(self) -> Collection[str]: ...


#: Words as a model writes them, and what stands for words in all their variants.
Words: TypeAlias = Iterable[str | HasWords] | HasWords


def preprocess_word(
    word: str, options: Mapping[str, Any] | None = None, vocab_prefix: str | None = None
) -> str:
    """Return the form of a word to look up in the vocabulary of a model.

    Parameters
    ----------
    word : str
        The word, as written in the query.
    options : dict, optional
        Any of the following; by default the word stays as it is.

        - ``lowercase``, ``uppercase``, ``titlecase`` : bool. Change the case, in this order.
        - ``strip_accents`` : bool or {'ascii', 'unicode'}. 'unicode' (or True) removes combining
          marks; 'ascii' also drops characters without an ASCII form, such as 'ß'. The result can
          be another word: Spanish 'año' (year) becomes 'ano'.
        - ``unicode_form`` : {'NFC', 'NFD', 'NFKC', 'NFKD'}. Normalise the word: 'ñ' is a single
          character in NFC, but 'n' and a combining mark in NFD, which is a different string.
          NFKC and NFKD also split compatibility characters, such as the Dutch 'ĳ'. The word is
          composed before its case is changed, and gets this form at the end.
        - ``apostrophes`` : {'straight', 'typographic'}. Replace U+0027, U+2018, U+2019 and U+02BC
          by U+0027 or by U+2019. Accents (U+0060, U+00B4) and the prime (U+2032) stay.
        - ``preprocessor`` : callable from str to str. Replaces all other options.
    vocab_prefix : str, optional
        Prepended to the result without processing, for example ``"/c/en/"`` for ConceptNet.

    Returns
    -------
    str
        The processed word.

    Examples
    --------
    >>> preprocess_word("José", {"lowercase": True, "strip_accents": True}, vocab_prefix="/c/en/")
    '/c/en/jose'
    >>> len("niña"), len(preprocess_word("niña", {"unicode_form": "NFD"}))
    (4, 5)
    >>> preprocess_word("Aujourd’hui", {"lowercase": True, "apostrophes": "straight"})
    "aujourd'hui"
    """
    checked = check_preprocessor({} if options is None else options)
    return (vocab_prefix or "") + _apply(word, checked)


def check_preprocessor(options: object) -> Mapping[str, Any]:
    """Return a valid preprocessor."""
    if not isinstance(options, dict):
        raise TypeError(
            "a preprocessor must be a dict of options such as {'lowercase': True}; "
            f"got {found(options)}."
        )
    check_known("preprocessor", options, (*CASES, *CHOICES, "preprocessor"))
    for option, value in options.items():
        if option in CASES:
            check_bool(f"the option {option!r}", value)
        elif option == "preprocessor":
            if not callable(value) and value is not None:
                raise TypeError(f"the option {option!r} must be a callable; got {found(value)}.")
        elif option != "strip_accents" or not isinstance(value, bool):
            check_choice(option, value, CHOICES[option])
    return options


def check_preprocessors(preprocessors: object) -> tuple[Mapping[str, Any], ...]:
    """Return a list of preprocessors as a tuple; None means ``[{}]``."""
    if preprocessors is None:
        return ({},)
    sequence = check_sequence("preprocessors", preprocessors)
    if len(sequence) == 0:
        raise ValueError("preprocessors is empty; [{}] looks words up as they are.")
    return tuple(check_preprocessor(options) for options in sequence)


def variants(word: str, preprocessors: Preprocessors, vocab_prefix: str | None = None) -> list[str]:
    """Return the distinct forms of a word, in the order of the preprocessors.

    Parameters
    ----------
    word : str
        The word, as written in the query.
    preprocessors : sequence of dict
        Options as in :func:`preprocess_word`; they are not checked.
    vocab_prefix : str, optional
        As in :func:`preprocess_word`.

    Returns
    -------
    list of str
        The forms without duplicates and empty forms ('ascii' can leave nothing of a Greek word).

    Examples
    --------
    >>> variants("Ann", [{}, {"lowercase": True}, {"titlecase": True}])
    ['Ann', 'ann']
    """
    prefix = vocab_prefix or ""
    forms = dict.fromkeys(_apply(word, options) for options in preprocessors)
    return [prefix + form for form in forms if form or not word]


def every_form(
    words: Iterable[str], preprocessors: object, vocab_prefix: str | None = None
) -> frozenset[str]:
    """Return every form in which words are looked up."""
    checked = check_preprocessors(preprocessors)
    return frozenset(form for word in words for form in variants(word, checked, vocab_prefix))


def each_word(words: Words) -> Iterator[tuple[str, bool]]:
    """Yield words, and whether they are as a model writes them; others have variants."""
    entries = [words] if hasattr(words, "words") else words
    if isinstance(entries, str) or not isinstance(entries, Iterable):
        raise TypeError(f"words must be a list of strings or queries; got {found(words)}.")
    for entry in entries:
        if hasattr(entry, "words"):
            yield from ((word, False) for word in entry.words)
        elif isinstance(entry, str):
            yield str(entry), True
        else:
            raise TypeError(f"words must be strings or queries; got {found(entry)}.")


def words_of(
    words: Words, vocab_prefix: str | None = None, preprocessors: Preprocessors | None = None
) -> frozenset[str]:
    """Return every string to look up for words (as they are) and queries (in many forms).

    The words of a query get `vocab_prefix` and the forms of `preprocessors`, by default every form
    that a preprocessor can produce, and always the form as written and its lower case.
    """
    asked: set[str] = set()
    for word, is_written in each_word(words):
        forms = _forms(word, preprocessors)
        asked.update([word] if is_written else variants(word, forms, vocab_prefix))
    return frozenset(asked)


def _forms(word: str, preprocessors: Preprocessors | None) -> tuple[Any, ...]:
    if preprocessors is not None:
        # As they are written and in lower case they are always asked for.
        return (*check_preprocessors(preprocessors), {}, {"lowercase": True})
    return _ASCII_FORMS if word.isascii() and "'" not in word else _ALL_FORMS


def _apply(word: str, options: Mapping[str, Any]) -> str:
    if not options:
        return word
    function = options.get("preprocessor")
    if function is not None:
        processed = function(word)
        if not isinstance(processed, str):
            raise TypeError(
                f"the preprocessor {function!r} must return a string; for {word!r} it returned "
                f"{found(processed)}."
            )
        return processed
    form = options.get("unicode_form")
    if form is not None:
        # str.title() would capitalise the letter after a combining mark.
        word = unicodedata.normalize("NFKC" if "K" in form else "NFC", word)
    if "apostrophes" in options:
        word = word.translate(dict.fromkeys(_ANY_APOSTROPHE, _APOSTROPHES[options["apostrophes"]]))
    for case, function in CASES.items():
        if options.get(case):
            word = function(word)
    if options.get("strip_accents"):
        word = _strip_accents(word, to_ascii=options["strip_accents"] == "ascii")
    return word if form is None else unicodedata.normalize(form, word)


def _strip_accents(word: str, *, to_ascii: bool) -> str:
    decomposed = unicodedata.normalize("NFKD", word)
    if to_ascii:
        return decomposed.encode("ascii", "ignore").decode("ascii")
    bare = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    # A Hangul syllable decomposes into letters that are not accents; compose it again.
    return unicodedata.normalize("NFC", bare)
