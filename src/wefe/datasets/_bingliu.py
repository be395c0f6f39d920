"""The opinion lexicon of Hu and Liu (KDD 2004), known by the name of Bing Liu."""

from wefe.datasets._download import fetch_file

FILES = ("bingliu/positive-words.txt", "bingliu/negative-words.txt")


def load_bingliu() -> dict[str, list[str]]:
    """Load the opinion lexicon of Hu and Liu [1]_; the first call downloads it (73 kB).

    Order and misspellings are as published. The two lists share 'envious', 'enviously' and
    'enviousness'.

    Returns
    -------
    dict of str to list of str
        `positive_words` (2006) and `negative_words` (4783).

    References
    ----------
    .. [1] M. Hu and B. Liu. Mining and Summarizing Customer Reviews. KDD 2004, pages 168-177.

    Examples
    --------
    >>> from wefe.datasets import list_datasets, load_bingliu
    >>> cached = {row["name"]: row["cached"] for row in list_datasets()}
    >>> if cached["bingliu"]:
    ...     assert load_bingliu()["positive_words"][:2] == ["a+", "abound"]
    """
    positive, negative = (
        parse_lexicon(fetch_file(name).read_text(encoding="latin-1")) for name in FILES
    )
    return {"positive_words": positive, "negative_words": negative}


def parse_lexicon(text: str) -> list[str]:
    """Return the words of a lexicon file: one word per line, comments start with ``;``."""
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith(";")]
