"""Bleached sentences for words: the templates of SEAT, and how they are filled."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from wefe._checks import check_sequence, found, nearest
from wefe.query import Query

#: A kind of `SEAT_TEMPLATES`, or templates with one "{}" each.
Templates: TypeAlias = str | Sequence[str]

#: Templates of SEAT by kind of word: sentences that say next to nothing, with a gap for the word.
#:
#: A mapping from 'any' (words of any kind), 'name' (of people), 'noun' (singular), 'plural' and
#: 'adjective' to a tuple of texts, each with one ``{}``. They are in the manner of May, Wang,
#: Bordia, Bowman and Rudinger (NAACL 2019, section 3). It cannot be changed: pass templates of your
#: own to :class:`wefe.contextual.SEAT` or :func:`wefe.contextual.load_encoder`, which take the
#: name of a kind as well. An "a" before the gap becomes "an" where the word needs it.
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
_GAP = "{}"
_ARTICLE = re.compile(r"(?<!\w)([Aa]) $")

# Which article a word takes, by how it begins; the first line that fits counts. (?-i:...) is for
# capitals only; accents play no part.
_ARTICLES: tuple[tuple[str, str], ...] = (
    # Eight...; eleven and eighteen, also 11,000 and the year 1848.
    ("an", r"8|1[18](?:\d\d|(?:,?\d{3})*)(?!\d)"),
    # Said letter by letter: X-ray, FBI, HR, LGBT; U-turn, UN, US, UFO.
    ("an", r"[fhlmnrsx](?!\w)|(?-i:[FHLMNRSX][B-DF-HJ-NP-TV-XZ]{1,4})(?!\w)"),
    ("an", r"(?-i:EU|FBI|HIV|LGBTQ?I?A?|MBA|NBA|NGO|RAF|SUV)(?!\w)"),
    ("a", r"u(?!\w)|(?-i:U[A-Z]{1,2})(?!\w)"),
    # Silent h.
    ("an", r"heir|honest|honou?r|hour"),
    # As "one" and "we": one-eyed, once, ouija, Uighur.
    ("a", r"one(?![a-z])|oneself|onetime|once|oui|u[iy]g"),
    # "Un-" and no "uni-": unidentified, unimportant, uninformed.
    ("an", r"uni(?:deal|dent|ll|m(?!od)|n|rr|ron|ssu)"),
    # As "you": European, ewe, union, unanimous, ubiquitous, Ukrainian, Ugandan, Uruguayan, user,
    # utility.
    ("a", r"eu|ewe|uni|unanim[io]|unesco|u(?:biq|fo|gan|k|lysses|v)"),
    ("a", r"u(?:ran|re[aty]|rin|rol|rug|s[aeu]|t[aeio])"),
    ("an", r"[aeiou]"),
)
_PATTERNS = [(article, re.compile(rf"\W*(?:{start})", re.I)) for article, start in _ARTICLES]


def _needs_an(word: str) -> bool:
    plain = "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))
    return next((a == "an" for a, pattern in _PATTERNS if pattern.match(plain)), False)


def fill_template(template: str, word: str) -> tuple[str, int, int]:
    """Put a word into a template; return the sentence, and the start and end of the word.

    An "a" right before the gap becomes "an" if the word starts with a vowel sound (rules on its
    first letters: an engineer, an hour, an MBA, a union).

    >>> fill_template("This is a {}.", "engineer")
    ('This is an engineer.', 11, 19)
    """
    before, after = template.split(_GAP)
    if _needs_an(word):
        before = _ARTICLE.sub(r"\1n ", before)
    return before + word + after, len(before), len(before) + len(word)


def check_templates(name: str, templates: object) -> tuple[str, ...]:
    """Return the templates of a kind, or the user's own, each with one "{}"."""
    if isinstance(templates, str):
        if templates in SEAT_TEMPLATES:
            return SEAT_TEMPLATES[templates]
        if _GAP not in templates:
            kinds = ", ".join(map(repr, SEAT_TEMPLATES))
            raise ValueError(
                f"{name} must be one of the kinds {kinds}, or templates such as 'This is {{}}.'; "
                f"got {found(templates)}.{nearest(templates, SEAT_TEMPLATES)}"
            )
        templates = [templates]
    checked = []
    for template in check_sequence(name, templates):
        if not isinstance(template, str):
            raise TypeError(f"{name}: a template must be a string; got {found(template)}.")
        if template.count(_GAP) != 1:
            raise ValueError(
                f"{name}: a template must hold one '{{}}', where the word goes; got {template!r}."
            )
        checked.append(template)
    if not checked:
        raise ValueError(f"{name} is empty; use at least one template, '{{}}' for the bare word.")
    return tuple(checked)


def templates_of_sets(
    query: Query, templates: Templates | Mapping[str, Templates] | None
) -> tuple[tuple[str, ...], ...]:
    """Return the templates of each word set of a query, target sets first; see :class:`SEAT`."""
    names = (*query.target_sets_names, *query.attribute_sets_names)
    if templates is None:
        templates = "any"
    if not isinstance(templates, Mapping):
        return (check_templates("templates", templates),) * len(names)
    for name in names:
        if name not in templates:
            given = ", ".join(map(repr, templates)) or "none"
            raise ValueError(
                f"templates lacks an entry for the set {name!r} of {query.query_name!r}; it has "
                f"{given}.{nearest(name, [str(key) for key in templates])} Use 'any' for words of "
                "any kind."
            )
    return tuple(check_templates(f"templates[{name!r}]", templates[name]) for name in names)
