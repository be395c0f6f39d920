"""Sentences for words: bleached templates, and contexts from a corpus."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from wefe._checks import (
    as_seed,
    check_choice,
    check_positive_int,
    check_sequence,
    check_word_set,
    found,
)
from wefe.contextual._encoder import Context
from wefe.models.formats._tokens import UNSPACED
from wefe.query import Query
from wefe.words import Words, each_word

#: A kind of `SEAT_TEMPLATES`, or templates with one "{}" each.
Templates: TypeAlias = str | Sequence[str]

#: Templates of SEAT by kind of word: sentences that say next to nothing, with a gap for the word.
#:
#: A mapping from 'any' (words of any kind), 'name' (of people), 'noun' (singular), 'plural' and
#: 'adjective' to a tuple of texts, each with one ``{}``, in the manner of May, Wang, Bordia, Bowman
#: and Rudinger (NAACL 2019, section 3). :class:`wefe.metrics.SEAT` and
#: :func:`wefe.contextual.load_encoder` take the name of a kind, or templates of your own. An "a"
#: before the gap becomes "an" where the word needs it.
#:
#: >>> from wefe.contextual import SEAT_TEMPLATES
#: >>> list(SEAT_TEMPLATES)
#: ['any', 'name', 'noun', 'plural', 'adjective']
#: >>> SEAT_TEMPLATES["adjective"]
#: ('This is {}.', 'That is {}.', 'They are {}.')
SEAT_TEMPLATES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        kind: tuple(re.findall(r"\S[^.]+\.", sentences))
        for kind, sentences in {
            "any": "This is {}. That is {}. There is {}. Here is {}. {} is here. {} is there.",
            "name": "This is {}. That is {}. There is {}. Here is {}. {} is here. {} is there. "
            "{} is a person. The person's name is {}.",
            "noun": "This is a {}. That is a {}. There is a {}. Here is a {}. The {} is here. "
            "The {} is there. It is a {}.",
            "plural": "These are {}. Those are {}. They are {}. The {} are here. The {} are there.",
            "adjective": "This is {}. That is {}. They are {}.",
        }.items()
    }
)
# What stands for the word in a template.
GAP = "{}"
_ARTICLE = re.compile(r"(?<!\w)([Aa]) $")

# Words that need "an": they start with a vowel, but not with the sound of "you" or "one"; or with a
# silent h; or with eight, eleven or eighteen; or are said letter by letter.
_AN = re.compile(
    r"""\W*(?:
    (?!e[uw] | once | one(?!r) | u(?!\w) | (?-i:U[A-Z]{1,2})(?!\w))
    (?!u(?:biq|gan|ig|k|nanim|ni(?!dent|mag|mp|n)|r(?:an|in|o|ug)|s[aeu]|t[aeio]))[aeiou]
    | heir | honest | honou?r | hour | 8 | 1[18](?!\d)
    | [fhlmnrsx](?!\w) | (?-i:EU|FBI|HIV|LGBT\w*|MBA|[FHLMNRSX][B-DF-HJ-NP-TV-XZ]+)(?!\w)
    )""",
    re.IGNORECASE | re.VERBOSE,
)


def fill_template(template: str, word: str) -> tuple[str, int, int]:
    """Put a word into a template; return the sentence, and the start and end of the word.

    An "a" right before the gap becomes "an" if the word starts with a vowel sound.

    >>> fill_template("This is a {}.", "engineer")
    ('This is an engineer.', 11, 19)
    """
    before, after = template.split(GAP)
    without_accents = unicodedata.normalize("NFD", word).encode("ascii", "ignore").decode()
    if _AN.match(without_accents):
        before = _ARTICLE.sub(r"\1n ", before)
    return before + word + after, len(before), len(before) + len(word)


def check_templates(name: str, templates: object) -> tuple[str, ...]:
    """Return the templates of a kind, or the user's own, each with one "{}"."""
    if isinstance(templates, str):
        if GAP not in templates:
            return SEAT_TEMPLATES[check_choice(name, templates, SEAT_TEMPLATES)]
        templates = [templates]
    checked = check_word_set(name, templates)
    for template in checked:
        if template.count(GAP) != 1:
            raise ValueError(
                f"{name}: a template must hold one '{{}}', where the word goes; got {template!r}."
            )
    return checked


def templates_of_sets(
    query: Query, templates: Templates | Mapping[str, Templates] | None
) -> tuple[tuple[str, ...], ...]:
    """Return the templates of each word set of a query, target sets first; see SEAT."""
    names = (*query.target_sets_names, *query.attribute_sets_names)
    if not isinstance(templates, Mapping):
        kind = "any" if templates is None else templates
        return (check_templates("templates", kind),) * len(names)
    if missing := [name for name in names if name not in templates]:
        raise ValueError(
            f"templates lacks an entry for the set {missing[0]!r} of {query.query_name!r}; it has "
            f"{', '.join(map(repr, templates))}. Use 'any' for words of any kind."
        )
    return tuple(check_templates(f"templates[{name!r}]", templates[name]) for name in names)


# What stands within words and is no letter: soft hyphen, zero-width non-joiner and joiner.
_JOINERS = "\u00ad\u200c\u200d"


def find_contexts(
    words: Words,
    sentences: Iterable[str],
    max_contexts: int = 100,
    *,
    random_state: int | np.random.Generator | None = 0,
) -> dict[str, tuple[Context, ...]]:
    """Find words in a corpus, in one pass, and sample the contexts of each.

    Parameters
    ----------
    words : iterable of str, Query or Criterion; or one Query or Criterion
        A query stands for all of its words. "New York" counts as a word. Case does not matter.
    sentences : iterable of str
        Sentences or paragraphs, for example an open text file.
    max_contexts : int, default=100
        Maximum number of contexts per word, drawn uniformly.
    random_state : int, Generator or None, default=0
        Seed. The sample of a word does not depend on other words, unless they overlap with it.

    Returns
    -------
    dict
        Word -> its contexts, in the order of the corpus, perhaps none.

    Notes
    -----
    A word must stand alone: no letter, digit, underscore, accent, vowel sign or joiner next to it
    ("nurse's" and "self-made" match). In scripts without spaces, such as Chinese and Thai, it is
    also found within longer words. Inflected forms do not match. An occurrence belongs to the
    longest word that starts there. Contexts are in Unicode's composed form (NFC).

    Examples
    --------
    >>> find_contexts(["nurse", "pilot"], ["A nurse.", "The pilots met a pilot."])["pilot"]
    (Context(text='The pilots met a pilot.', start=17, end=22),)
    """
    every = [word for word, _ in each_word(words)]
    wanted = tuple(dict.fromkeys(check_word_set("words", every)))
    if "" in wanted:
        raise ValueError("words contains an empty string, which occurs everywhere. Leave it out.")
    limit = check_positive_int("max_contexts", max_contexts)
    if isinstance(sentences, str) or not isinstance(sentences, Iterable):
        raise TypeError(f"sentences must be an iterable of strings; got {found(sentences)}.")
    find = _finder(wanted)
    seed = as_seed(random_state)
    generators = {word: generator_of_word(seed, word) for word in wanted}
    kept: dict[str, list[tuple[int, Context]]] = {word: [] for word in wanted}
    n_found = Counter[str]()
    for text in map(_composed, sentences):
        for word, context in find(text):
            n_found[word] += 1
            place = number = n_found[word]
            # A uniform sample of a stream: algorithm R of Vitter, ACM TOMS 11, 1985.
            if number > limit:
                place = int(generators[word].integers(number)) + 1
            if place <= limit:
                kept[word][place - 1 : place] = [(number, context)]
    return {word: tuple(context for _, context in sorted(own)) for word, own in kept.items()}


def contexts_in(word: str, sentences: Sequence[str | Context]) -> list[Context]:
    """Return the given contexts of a word; in a sentence, its first occurrence."""
    name = f"contexts[{word!r}]"
    contexts = []
    for position, sentence in enumerate(check_sequence(name, sentences)):
        if not isinstance(sentence, Context):
            occurrence = next(_finder([word])(_composed(sentence)), None)
            if occurrence is None:
                raise ValueError(f"{name}[{position}] lacks the word: {found(sentence)}.")
            _, sentence = occurrence
        contexts.append(sentence)
    return contexts


def generator_of_word(seed: int, word: str) -> np.random.Generator:
    """Return random numbers that depend only on a seed and a word."""
    return np.random.default_rng([seed, int.from_bytes(word.encode("utf-8", "surrogatepass"))])


def _finder(words: Sequence[str]) -> Callable[[str], Iterator[tuple[str, Context]]]:
    """Return a function that finds whole words, whatever their case, in a composed sentence."""
    known: dict[str, list[str]] = {}
    for word in words:
        known.setdefault(_folded(_composed(word)), []).append(word)
    before, after = _borders()
    # In text that was lower-cased, the dot of a Turkish capital is a character of its own.
    letters = _alternatives(known).replace("i", "i\u0307?")
    pattern = re.compile(f"{before}(?:{letters}){after}", re.IGNORECASE)

    def find(sentence: str) -> Iterator[tuple[str, Context]]:
        for match in pattern.finditer(sentence):
            for word in known.get(_folded(match[0]), ()):
                yield word, Context(sentence, *match.span())

    return find


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _folded(text: str) -> str:
    # The capital I with a dot becomes two characters.
    return text.lower().replace("i\u0307", "i")


def _alternatives(words: Iterable[str]) -> str:
    """Write words as one expression, by first letters; longer words first."""
    parts = []
    for first, group in groupby(sorted(words), key=lambda word: word[0]):
        rests = sorted((word[1:] for word in group), key=len, reverse=True)
        parts.append(f"{re.escape(first)}(?:{'|'.join(map(re.escape, rests))})")
    return "|".join(parts)


@cache
def _borders() -> tuple[str, str]:
    """Return expressions for the start and the end of a word."""
    unspaced = UNSPACED.pattern
    letter = rf"[^\W{unspaced[1:-1]}]"
    # Marks belong to the letter before them. A variation selector may stand after a picture.
    marks = "".join(
        char
        for char in map(chr, range(0x300, 0x20000))
        if unicodedata.category(char) in ("Mn", "Mc") and not "\ufe00" <= char <= "\ufe0f"
    )
    # Other characters are seen to be none without a search of that long list.
    mark = f"(?=[{_JOINERS}\u0300-\U0001ffff])[{marks}{_JOINERS}]"
    before = rf"(?:(?<!{letter})(?<!(?!{unspaced}){mark})|(?={unspaced}))"
    after = rf"(?!{mark})(?:(?!{letter})|(?<={unspaced}))"
    return before, after
