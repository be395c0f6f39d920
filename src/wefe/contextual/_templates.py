"""Bleached sentences for words: the templates of SEAT, and how they are filled."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from wefe._checks import check_choice, check_word_set
from wefe.query import Query

#: A kind of `SEAT_TEMPLATES`, or templates with one "{}" each.
Templates: TypeAlias = str | Sequence[str]

#: Templates of SEAT by kind of word: sentences that say next to nothing, with a gap for the word.
#:
#: A mapping from 'any' (words of any kind), 'name' (of people), 'noun' (singular), 'plural' and
#: 'adjective' to a tuple of texts, each with one ``{}``, in the manner of May, Wang, Bordia, Bowman
#: and Rudinger (NAACL 2019, section 3). :class:`wefe.contextual.SEAT` and
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
_GAP = "{}"
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
    before, after = template.split(_GAP)
    without_accents = unicodedata.normalize("NFD", word).encode("ascii", "ignore").decode()
    if _AN.match(without_accents):
        before = _ARTICLE.sub(r"\1n ", before)
    return before + word + after, len(before), len(before) + len(word)


def check_templates(name: str, templates: object) -> tuple[str, ...]:
    """Return the templates of a kind, or the user's own, each with one "{}"."""
    if isinstance(templates, str):
        if _GAP not in templates:
            return SEAT_TEMPLATES[check_choice(name, templates, SEAT_TEMPLATES)]
        templates = [templates]
    checked = check_word_set(name, templates)
    for template in checked:
        if template.count(_GAP) != 1:
            raise ValueError(
                f"{name}: a template must hold one '{{}}', where the word goes; got {template!r}."
            )
    return checked


def templates_of_sets(
    query: Query, templates: Templates | Mapping[str, Templates] | None
) -> tuple[tuple[str, ...], ...]:
    """Return the templates of each word set of a query, target sets first; see :class:`SEAT`."""
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
