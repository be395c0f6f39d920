"""Preprocess words before look-up, independent of any model.

A *preprocessor* is a dictionary of options applied to a word. A list of preprocessors yields
the variants of a word, in the order in which they are to be looked up.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypedDict

from wefe._checks import check_bool, check_choice, check_known, check_sequence, found

__all__ = ["Preprocessor", "preprocess_word", "variants"]


class Preprocessor(TypedDict, total=False):
    """Options of one preprocessor; the empty dictionary leaves words as they are.

    A dictionary type: a plain dictionary will do, and no key is required. The keys are
    ``lowercase``, ``uppercase``, ``titlecase`` (bool), ``strip_accents`` (bool, 'ascii' or
    'unicode'), ``unicode_form`` ('NFC', 'NFD', 'NFKC', 'NFKD'), ``apostrophes`` ('straight',
    'typographic') and ``preprocessor`` (a function from str to str, which replaces all others);
    :func:`preprocess_word` says what each of them does.

    Examples
    --------
    Words are looked up as they are written, and if that fails in lower case without accents:

    >>> plain: Preprocessor = {"lowercase": True, "strip_accents": True}
    >>> variants("José", [{}, plain])
    ['José', 'jose']
    """

    lowercase: bool
    uppercase: bool
    titlecase: bool
    strip_accents: bool | Literal["ascii", "unicode"]
    unicode_form: Literal["NFC", "NFD", "NFKC", "NFKD"]
    apostrophes: Literal["straight", "typographic"]
    preprocessor: Callable[[str], str]


_CASES: dict[str, Callable[[str], str]] = {
    "lowercase": str.lower,
    "uppercase": str.upper,
    "titlecase": str.title,
}
_APOSTROPHES = {"straight": "'", "typographic": "\u2019"}
# Straight, both single quotation marks, and the letter that some languages spell with.
_ANY_APOSTROPHE = tuple(map(ord, "'\u2018\u2019\u02bc"))
_CHOICES = {
    "strip_accents": ("ascii", "unicode"),
    "unicode_form": ("NFC", "NFD", "NFKC", "NFKD"),
    "apostrophes": tuple(_APOSTROPHES),
}


#: A list of preprocessors, as users write it: plain dictionaries will do.
Preprocessors: TypeAlias = Sequence[Mapping[str, Any]]


def preprocess_word(
    word: str, options: Mapping[str, Any] | None = None, vocab_prefix: str | None = None
) -> str:
    """Return the form of a word that is looked up in the vocabulary of a model.

    Parameters
    ----------
    word : str
        The word as a query has it.
    options : dict, optional
        Any of the following; the default, ``{}``, changes nothing.

        - ``lowercase``, ``uppercase``, ``titlecase`` : bool. Change the case, in this order if
          several are on.
        - ``strip_accents`` : bool or {'ascii', 'unicode'}. 'unicode' (the same as True) removes
          combining marks, 'ascii' drops in addition whatever has no ASCII form: 'ß' stays, or is
          dropped. In many languages the result is another word: 'año' (year) becomes 'ano'.
        - ``unicode_form`` : {'NFC', 'NFD', 'NFKC', 'NFKD'}. The form of Unicode that is looked up.
          A vocabulary may hold 'niña' with one letter 'ñ' (composed, NFC) or with 'n' and a mark
          (decomposed, NFD): they look alike and are different strings. NFKC and NFKD also take
          apart what is one letter in print only, such as the Dutch 'ĳ'. The word is composed
          before its case is changed, and has this form at the end.
        - ``apostrophes`` : {'straight', 'typographic'}. Write U+0027, U+2018, U+2019 and U+02BC
          all as U+0027 or all as U+2019: "aujourd'hui" is in print 'aujourd’hui'. Accents that
          stand alone (U+0060, U+00B4) and the prime (U+2032) are other characters, and stay.
        - ``preprocessor`` : callable. Takes and returns a string; the other options are ignored.
    vocab_prefix : str, optional
        Put before the processed word (``"/c/en/"`` for ConceptNet); it is not processed itself.

    Returns
    -------
    str
        The processed word.

    Raises
    ------
    TypeError
        If `word` or what a ``preprocessor`` returns is not a string.
    ValueError
        If `options` has an unknown key; the error names the nearest known one.

    Examples
    --------
    >>> preprocess_word("José", {"lowercase": True, "strip_accents": True})
    'jose'
    >>> preprocess_word("Woman", {"preprocessor": str.upper}, vocab_prefix="/c/en/")
    '/c/en/WOMAN'
    >>> len("niña"), len(preprocess_word("niña", {"unicode_form": "NFD"}))
    (4, 5)
    >>> preprocess_word("Aujourd’hui", {"lowercase": True, "apostrophes": "straight"})
    "aujourd'hui"
    """
    if not isinstance(word, str):
        raise TypeError(f"word must be a string; got {found(word)}.")
    checked = check_preprocessor({} if options is None else options)
    return (vocab_prefix or "") + _apply(word, checked)


def check_preprocessor(options: object) -> Preprocessor:
    """Return one preprocessor; unknown options and wrong values are refused."""
    if not isinstance(options, dict):
        raise TypeError(
            "a preprocessor must be a dict of options such as {'lowercase': True}; "
            f"got {found(options)}."
        )
    check_known("preprocessor", options, Preprocessor.__annotations__)
    for option, value in options.items():
        if option in _CASES:
            check_bool(f"the option {option!r}", value)
        elif option in _CHOICES and not (option == "strip_accents" and isinstance(value, bool)):
            check_choice(option, value, _CHOICES[option])
        elif option == "preprocessor" and value is not None and not callable(value):
            raise TypeError(f"the option {option!r} must be a callable; got {found(value)}.")
    return options  # type: ignore[return-value]


def check_preprocessors(preprocessors: object) -> tuple[Preprocessor, ...]:
    """Return a list of preprocessors as a tuple; ``None`` means ``[{}]``."""
    if preprocessors is None:
        return ({},)
    if isinstance(preprocessors, dict):
        raise TypeError(
            f"preprocessors must be a list of dicts; got one dict. Write [{preprocessors!r}]."
        )
    sequence = check_sequence("preprocessors", preprocessors)
    if len(sequence) == 0:
        raise ValueError("preprocessors is empty; [{}] looks words up as they are.")
    return tuple(check_preprocessor(options) for options in sequence)


def variants(
    word: str, preprocessors: Sequence[Preprocessor], vocab_prefix: str | None = None
) -> list[str]:
    """Return the distinct forms of a word, in the order of the (checked) preprocessors.

    A form of which processing left nothing is none, as of a Greek word stripped to ASCII.

    Parameters
    ----------
    word : str
        The word as a query has it.
    preprocessors : sequence of dict
        Options of one preprocessor each, see :func:`preprocess_word`. They are not checked here.
    vocab_prefix : str, optional
        Put before each form, ``"/c/en/"`` for example.

    Returns
    -------
    list of str
        The forms, each once. Equal ones stand where the first of them does.

    Examples
    --------
    >>> variants("Ann", [{}, {"lowercase": True}, {"titlecase": True}])
    ['Ann', 'ann']
    """
    prefix = vocab_prefix or ""
    forms = dict.fromkeys(_apply(word, options) for options in preprocessors)
    return [prefix + form for form in forms if form or not word]


def _apply(word: str, options: Preprocessor) -> str:
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
        # str.title() takes the letter after a mark for the start of a word.
        word = unicodedata.normalize("NFKC" if "K" in form else "NFC", word)
    if "apostrophes" in options:
        word = word.translate(dict.fromkeys(_ANY_APOSTROPHE, _APOSTROPHES[options["apostrophes"]]))
    for case, function in _CASES.items():
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
    # A Hangul syllable decomposes into letters that are no accents; put it together again.
    return unicodedata.normalize("NFC", bare)
