"""The opinion lexicon of Hu and Liu (KDD 2004)."""

from wefe.datasets._download import fetch_file

FILES = ("bingliu/positive-words.txt", "bingliu/negative-words.txt")


def load_bingliu() -> dict[str, list[str]]:
    """Load the opinion lexicon of Hu and Liu; the first call downloads it (73 kB).

    Order and misspellings are as published. 'envious', 'enviously' and 'enviousness' are in both
    lists. Source: M. Hu and B. Liu, Mining and Summarizing Customer Reviews, KDD 2004.

    Returns
    -------
    dict of str to list of str
        `positive_words` (2006) and `negative_words` (4783).

    Examples
    --------
    >>> from wefe.datasets import list_datasets, load_bingliu
    >>> if {row["name"]: row["cached"] for row in list_datasets()}["bingliu"]:
    ...     assert load_bingliu()["positive_words"][:2] == ["a+", "abound"]
    """
    positive, negative = (
        parse_lexicon(fetch_file(name).read_text(encoding="latin-1")) for name in FILES
    )
    return {"positive_words": positive, "negative_words": negative}


def parse_lexicon(text: str) -> list[str]:
    """Return the words of a lexicon file: one per line, comments start with ``;``."""
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith(";")]
