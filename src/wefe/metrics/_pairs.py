"""Target sets whose words form pairs by position: she and he, woman and man."""

from __future__ import annotations

from wefe._wordset import WordSet, WordSets
from wefe.embeddings import UnanswerableError


def too_few_tuples(sets: WordSets, threshold: float) -> str | None:
    """Return why too many tuples lost a word, or None: a tuple is lost if any of its words is."""
    lengths = {part.name: part.n_entries for part in sets}
    if len(set(lengths.values())) > 1:
        stated = ", ".join(f"{name!r} has {length}" for name, length in lengths.items())
        raise UnanswerableError(
            f"the target sets are paired by position and need equal sizes; {stated}."
        )
    n_lost = sum(None in rows for rows in zip(*(part.first_row for part in sets), strict=True))
    share = n_lost / sets[0].n_entries
    if share <= threshold and share < 1:
        return None
    return f"{n_lost} of {sets[0].n_entries} pairs of target words lost a word"


def paired(sets: WordSets) -> tuple[WordSet, ...]:
    """Return sets of equal length without the tuples that lost a word: row i of each is tuple i."""
    rows = [row for row in zip(*(part.first_row for part in sets), strict=True) if None not in row]
    return tuple(part._take(own) for part, own in zip(sets, zip(*rows, strict=True), strict=True))


def tuples_of(sets: WordSets) -> list[tuple[str, ...]]:
    return list(zip(*(part.words for part in sets), strict=True))
