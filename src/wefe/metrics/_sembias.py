"""SemBias: does a gender direction pick definitions or stereotypes (Zhao et al., EMNLP 2018)?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from wefe._checks import check_sequence, check_up_to, check_word_set, found
from wefe.embeddings import UnanswerableError, embed_sets
from wefe.metrics._geometry import unit_rows
from wefe.models._word_embedding_model import WordEmbeddingModel

if TYPE_CHECKING:
    import pandas as pd

_KINDS = ("definition", "stereotype", "none")
#: What the four pairs of each question are.
_LABELS = ("definition", "none", "none", "stereotype")
# Cosines no further apart tie: pairs of the same words, in another order of additions.
_TIE = 1e-12


def sembias(
    model: WordEmbeddingModel,
    questions: Sequence[Sequence[Sequence[str]]],
    *,
    n_subset: int = 0,
    normalize: bool = False,
) -> pd.DataFrame:
    """Ask which of four pairs of words is most like he and she: a definition or a stereotype?

    Zhao, Zhou, Li, Wang and Chang, "Learning Gender-Neutral Word Embeddings", EMNLP 2018.

    Parameters
    ----------
    model : WordEmbeddingModel
        The model.
    questions : sequence of sequences of pairs of str
        From :func:`wefe.datasets.load_sembias`, or your own: each question has four pairs, the male
        side first: definition, none, none, stereotype. Words are looked up as written.
    n_subset : int, default=0
        Also report so many of the last questions: use 40 for the published ones, of which the last
        40 were not used to train GN-GloVe.
    normalize : bool, default=False
        Scale vectors to unit length before taking differences; the published code does not.

    Returns
    -------
    pandas.DataFrame
        One row per part ('all', and 'subset' if there is one) and kind of pair: 'definition'
        (ideally all questions), 'stereotype' and 'none'.

        - 'share': of the questions used, in [0, 1], those in which the difference of the pair has
          the largest cosine with he - she. Tied pairs share equally; NaN if no question was used.
        - 'n_questions', 'n_used', 'n_lost', 'n_ties': questions asked; those used; those left out
          because a word was not found (others, because the vectors of a pair are identical); and
          those used in which pairs tie.

    Raises
    ------
    UnanswerableError
        If the model lacks 'he' or 'she', or both have the same vector.

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

    asked = _checked(questions)
    n_subset = check_up_to("n_subset", n_subset, len(asked), "the number of questions")
    words = ("he", "she", *(word for question in asked for pair in question for word in pair))
    (part,) = embed_sets(model, [("questions", words)], normalize=normalize)
    # The last row, NaN, stands for a word that was not found.
    rows = np.array([-1 if row is None else row for row in part.first_row]).reshape(-1, 2)
    vectors = np.vstack([part.vectors, np.full(model.dim, np.nan)])
    units = unit_rows(vectors[rows[:, 0]] - vectors[rows[:, 1]])
    if np.isnan(units[0]).any():
        raise UnanswerableError(f"{model.name} lacks he or she, or both have the same vector.")
    cosines = (units[1:] @ units[0]).reshape(-1, len(_LABELS))
    lost = np.any(rows[1:].reshape(len(asked), -1) < 0, axis=1)
    used = np.isfinite(cosines).all(axis=1)
    best = cosines >= cosines.max(axis=1, keepdims=True) - _TIE
    votes = best / best.sum(axis=1, keepdims=True).clip(min=1)
    records = []
    parts = {"all": len(asked)} | ({"subset": n_subset} if n_subset else {})
    for name, size in parts.items():
        start = len(asked) - size
        n_used, n_lost = int(used[start:].sum()), int(lost[start:].sum())
        n_ties = np.count_nonzero(best[start:].sum(axis=1) > 1)
        counts = {"n_questions": size, "n_used": n_used, "n_lost": n_lost, "n_ties": n_ties}
        for kind in _KINDS:
            share = float(votes[start:, np.equal(_LABELS, kind)].sum()) / (n_used or math.nan)
            records.append({"part": name, "kind": kind, "share": share, **counts})
    return pd.DataFrame(records)


def _checked(questions: object) -> list[list[tuple[str, ...]]]:
    asked = []
    for number, question in enumerate(check_sequence("questions", questions)):
        name = f"questions[{number}]"
        pairs = [check_word_set(name, pair) for pair in check_sequence(name, question)]
        if list(map(len, pairs)) != [2] * len(_LABELS):
            wanted = f"four pairs of words: {', '.join(_LABELS)}"
            raise ValueError(f"{name} must have {wanted}; got {found(question)}.")
        asked.append(pairs)
    return asked
