"""SemBias: does a gender direction pick definitions or stereotypes (Zhao et al., EMNLP 2018)?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wefe._checks import check_sequence, check_up_to, check_word_set, found, logger
from wefe.embeddings import DEFAULT_THRESHOLD, UnanswerableError, embed_sets
from wefe.metrics._geometry import unit_rows
from wefe.metrics._permutation import wilson
from wefe.models._word_embedding_model import WordEmbeddingModel

if TYPE_CHECKING:
    import pandas as pd

Questions = Sequence[Sequence[Sequence[str]]]
# Questions that are checked: four pairs each.
_Asked = Sequence[Sequence[tuple[str, ...]]]

_KINDS = ("definition", "stereotype", "none")
#: What the four pairs of each question are.
_LABELS = ("definition", "none", "none", "stereotype")
# Cosines no further apart tie: pairs of the same words, in another order of additions.
_TIE = 1e-12
_COLUMNS = [
    *("part", "kind", "share", "lower", "upper"),
    *("n_questions", "n_used", "n_lost", "n_undefined", "n_ties"),
]


def sembias(
    model: WordEmbeddingModel,
    questions: Questions,
    *,
    n_subset: int = 0,
    normalize: bool = False,
) -> pd.DataFrame:
    """Ask which of four pairs of words is most like he and she: a definition or a stereotype?

    Zhao, Zhou, Li, Wang and Chang, "Learning Gender-Neutral Word Embeddings", EMNLP 2018.

    Parameters
    ----------
    model, questions, normalize : WordEmbeddingModel, sequence and bool
        As in :func:`sembias_questions`.
    n_subset : int, default=0
        Also report so many of the last questions: use 40 for the published ones, of which the last
        40 were not used to train GN-GloVe.

    Returns
    -------
    pandas.DataFrame
        One row per part ('all', and 'subset' if there is one) and kind of pair: 'definition'
        (ideally all questions), 'stereotype' and 'none'.

        - 'share': of the questions used, in [0, 1]; NaN if none was used. Tied pairs share equally.
        - 'lower', 'upper': bounds of Wilson's 95 % interval, for independent questions.
        - 'n_questions', 'n_used', 'n_lost', 'n_undefined', 'n_ties': questions asked; those used;
          those left out because a word was not found, or because the vectors of a pair are
          identical; and those used in which pairs share the largest cosine.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.datasets import load_sembias
    >>> sembias(load_test_model(), load_sembias())[["kind", "share", "n_used"]]
             kind  share  n_used
    0  definition  0.975      40
    1  stereotype  0.025      40
    2        none  0.000      40
    """
    import pandas as pd

    table = sembias_questions(model, questions, normalize=normalize)
    n_questions = len(table) // len(_LABELS)
    n_subset = check_up_to("n_subset", n_subset, n_questions, "the number of questions")
    rows = list(_rows("all", table))
    if n_subset:
        rows += _rows("subset", table.iloc[-n_subset * len(_LABELS) :])
    return pd.DataFrame(rows, columns=_COLUMNS)


def _rows(part: str, table: pd.DataFrame) -> Iterator[tuple[Any, ...]]:
    columns = (table[name].to_numpy() for name in ("cosine", "vote", "lost"))
    cosines, votes, words = (each.reshape(-1, len(_LABELS)) for each in columns)
    used, lost = ~np.isnan(cosines).any(axis=1), (words != "").any(axis=1)
    n_used = int(used.sum())
    counts = [len(used), n_used, *(int(each.sum()) for each in (lost, ~used & ~lost))]
    n_ties = int((votes[used].max(axis=1, initial=0) < 1).sum())
    for kind in _KINDS:
        share = float(votes[:, np.equal(_LABELS, kind)].sum()) / (n_used or math.nan)
        yield part, kind, share, *wilson(share, n_used, level=0.95), *counts, n_ties


def sembias_questions(
    model: WordEmbeddingModel,
    questions: Questions,
    *,
    normalize: bool = False,
) -> pd.DataFrame:
    """Compare the four pairs of each question with the direction from 'she' to 'he'.

    Parameters
    ----------
    model : WordEmbeddingModel
        The model.
    questions : sequence of sequences of pairs of str
        From :func:`wefe.datasets.load_sembias`, or your own: each question has four pairs, the male
        side first: definition, none, none, stereotype. Words are looked up as written.
    normalize : bool, default=False
        Scale vectors to unit length before taking differences; the published code does not.

    Returns
    -------
    pandas.DataFrame
        One row per question and pair.

        - 'question' (from 0), 'pair' ('a:b'), 'kind' ('definition', 'none' or 'stereotype').
        - 'cosine': of a - b with the direction, in [-1, 1]; NaN if the question is left out because
          a word was not found or the vectors of a pair are identical.
        - 'vote': 1 for the pair with the largest cosine, 1 / n if n pairs tie, otherwise 0.
        - 'lost': the words of the pair that were not found.

    Raises
    ------
    UnanswerableError
        If the model lacks 'he' or 'she', or both have the same vector.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.datasets import load_sembias
    >>> table = sembias_questions(load_test_model(), load_sembias())
    >>> table.loc[(table["vote"] == 1) & (table["kind"] == "stereotype"), "pair"].tolist()
    ['surgeon:midwife']
    """
    import pandas as pd

    asked = _questions(questions)
    pairs = [("he", "she"), *(pair for question in asked for pair in question)]
    words = tuple(word for pair in pairs for word in pair)
    (part,) = embed_sets(model, [("questions", words)], normalize=normalize)
    # The last row, NaN, stands for a word that was not found.
    rows = np.array([-1 if row is None else row for row in part.first_row]).reshape(-1, 2)
    vectors = np.vstack([part.vectors, np.full(model.dim, np.nan)])
    units = unit_rows(vectors[rows[:, 0]] - vectors[rows[:, 1]])
    lost = [", ".join(np.array(pair)[own < 0]) for pair, own in zip(pairs, rows, strict=True)]
    if lost[0]:
        raise UnanswerableError(f"{model.name} lacks {lost[0]}, of the direction.")
    if np.isnan(units[0]).any():
        raise UnanswerableError(f"he and she have the same vector in {model.name}.")
    cosines = (units[1:] @ units[0]).reshape(-1, len(_LABELS))
    cosines[np.isnan(cosines).any(axis=1)] = np.nan
    best = cosines >= cosines.max(axis=1, keepdims=True) - _TIE
    table = pd.DataFrame(
        {
            "question": np.repeat(np.arange(len(asked)), len(_LABELS)),
            "pair": [":".join(pair) for pair in pairs[1:]],
            "kind": _LABELS * len(asked),
            "cosine": cosines.ravel(),
            "vote": (best / best.sum(axis=1, keepdims=True).clip(min=1)).ravel(),
            "lost": lost[1:],
        }
    )
    n_lost = table.loc[table["lost"] != "", "question"].nunique()
    if n_lost > DEFAULT_THRESHOLD * len(asked):
        logger.warning(
            "%s: %d of %d SemBias questions lost a word, as the model lacks %d: %s",
            *(model.name, n_lost, len(asked), len(part.lost), ", ".join(part.lost[:5])),
        )
    return table


def _questions(questions: Questions) -> _Asked:
    asked = []
    for number, question in enumerate(check_sequence("questions", questions)):
        name = f"questions[{number}]"
        pairs = [check_word_set(name, pair) for pair in check_sequence(name, question)]
        if list(map(len, pairs)) != [2] * len(_LABELS):
            wanted = f"four pairs of words: {', '.join(_LABELS)}"
            raise ValueError(f"{name} must have {wanted}; got {found(question)}.")
        asked.append(pairs)
    return asked
