"""Target sets whose words belong together by position: she and he, woman and man."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wefe.embeddings import EmbeddedSet, UnanswerableError


def too_few_tuples(sets: Sequence[EmbeddedSet], threshold: float) -> str | None:
    """Say why too many tuples lost a word: sets that lose different ones lose them together."""
    _check_tuples(sets)
    n_lost = sum(any(part.first_row[i] is None for part in sets) for i in range(sets[0].n_entries))
    share = n_lost / sets[0].n_entries
    if share <= threshold and share < 1:
        return None
    return f"{n_lost} of {sets[0].n_entries} pairs of target words lost a word"


def _check_tuples(sets: Sequence[EmbeddedSet]) -> None:
    lengths = {part.name: part.n_entries for part in sets}
    if len(set(lengths.values())) > 1:
        stated = ", ".join(f"{name!r} has {length}" for name, length in lengths.items())
        raise UnanswerableError(
            f"the target sets are paired by position and need equal sizes; {stated}."
        )


def paired_vectors(sets: Sequence[EmbeddedSet]) -> tuple[list[tuple[str, ...]], list[Any]]:
    """Return the tuples that aligned sets form by position, without those that lost a word.

    Parameters
    ----------
    sets : sequence of EmbeddedSet
        Sets of equal length in the query: entry i of each belongs together.

    Returns
    -------
    tuples : list of tuple of str
        The forms of each complete tuple.
    arrays : list of ndarray of shape (n_tuples, dim)
        The vectors, one array per set, row i of each belonging together.

    Raises
    ------
    UnanswerableError
        If the sets have different lengths.
    """
    _check_tuples(sets)
    positions = [
        i for i in range(sets[0].n_entries) if all(part.first_row[i] is not None for part in sets)
    ]
    rows = [[row for i in positions if (row := part.first_row[i]) is not None] for part in sets]
    tuples = [
        tuple(part.words[row] for part, row in zip(sets, entry, strict=True))
        for entry in zip(*rows, strict=True)
    ]
    return tuples, [part.vectors[picked] for part, picked in zip(sets, rows, strict=True)]
