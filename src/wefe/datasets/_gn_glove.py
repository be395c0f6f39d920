"""Gendered word lists and SemBias questions of Zhao et al. (EMNLP 2018), GN-GloVe."""

from typing import Any

from wefe.datasets._download import fetch_file

MALE, FEMALE = "gn_glove/male_word_file.txt", "gn_glove/female_word_file.txt"
SEMBIAS = "gn_glove/SemBias"

# The order of the pairs on every line; the file does not say so.
SEMBIAS_LABELS = ("definition", "none", "none", "stereotype")


def fetch_gn_glove() -> dict[str, Any]:
    """Fetch the paired gender words and SemBias questions of GN-GloVe (a download of 30 kB).

    Source: Zhao et al., Learning Gender-Neutral Word Embeddings, EMNLP 2018, pages 4847-4853.

    Returns
    -------
    dict
        - `male_terms`, `female_terms`: 222 words each; word `i` of one list is the counterpart of
          word `i` of the other, and words with several counterparts are repeated;
        - `sembias`: 440 questions of four pairs each, male word first in gendered pairs. GN-GloVe
          was not trained on the definition pairs of the last 40 questions;
        - `sembias_labels`: ``["definition", "none", "none", "stereotype"]``.

    Examples
    --------
    >>> from wefe.datasets import fetch_gn_glove, list_datasets
    >>> if {row["name"]: row["cached"] for row in list_datasets()}["gn_glove"]:
    ...     assert fetch_gn_glove()["sembias"][0][0] == ["priest", "nun"]
    """
    return {
        "male_terms": _read_text(MALE).split(),
        "female_terms": _read_text(FEMALE).split(),
        "sembias": parse_sembias(_read_text(SEMBIAS)),
        "sembias_labels": list(SEMBIAS_LABELS),
    }


def parse_sembias(text: str) -> list[list[list[str]]]:
    r"""Return the questions of a SemBias file: one per line, pairs ``a:b`` between tabs.

    >>> parse_sembias("priest:nun\tdog:cat\tbook:magazine\tdoctor:nurse\n")
    [[['priest', 'nun'], ['dog', 'cat'], ['book', 'magazine'], ['doctor', 'nurse']]]
    """
    return [[pair.split(":") for pair in line.split()] for line in text.splitlines() if line]


def _read_text(name: str) -> str:
    return fetch_file(name).read_text(encoding="utf-8")
