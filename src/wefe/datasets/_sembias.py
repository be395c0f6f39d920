"""SemBias questions: the published ones, a small set that ships, or a file."""

from __future__ import annotations

import os
from pathlib import Path

from wefe.datasets._gn_glove import fetch_gn_glove, parse_sembias
from wefe.datasets._shipped import shipped_word_sets

_N_PAIRS = 4


def load_sembias(source: str | os.PathLike[str] = "small") -> list[list[list[str]]]:
    """Load questions for :func:`wefe.metrics.sembias`.

    Parameters
    ----------
    source : {'small', 'gn_glove'} or path, default='small'
        'small': 40 questions of common words, written for this package. 'gn_glove': the 440
        published ones (:func:`fetch_gn_glove`). Or a text file with one question per line, its
        pairs ``a:b`` separated by tabs or spaces.

    Returns
    -------
    list of list of [str, str]
        Each question: a definition pair, two neutral pairs, a stereotype pair; male word first.

    Raises
    ------
    FileNotFoundError, ValueError, ConnectionError
        If there is no such file, a line is not a question, or the download fails.

    Examples
    --------
    >>> load_sembias()[0]
    [['king', 'queen'], ['bread', 'butter'], ['soap', 'towel'], ['engineer', 'librarian']]
    """
    if source == "small":
        questions: list[list[list[str]]] = shipped_word_sets("sembias")["questions"]
        return questions
    if source == "gn_glove":
        return [list(question) for question in fetch_gn_glove()["sembias"]]
    path = Path(source)
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no file {path} with questions. Give a file, 'small' or 'gn_glove'."
        )
    try:
        questions = parse_sembias(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text: {error}.") from error
    for number, question in enumerate(questions, start=1):
        complete = all(len(pair) == 2 and all(pair) for pair in question)
        if len(question) != _N_PAIRS or not complete:
            raise ValueError(
                f"{path}: question {number} must have four pairs a:b, between tabs or spaces; got "
                f"{' '.join(':'.join(pair) for pair in question)[:80]!r}."
            )
    return questions
