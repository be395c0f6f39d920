"""SemBias: does a gender direction pick definitions or stereotypes (Zhao et al., EMNLP 2018)?"""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wefe._checks import (
    check_between,
    check_bool,
    check_sequence,
    check_up_to,
    check_word_set,
    found,
)
from wefe.embeddings import DEFAULT_THRESHOLD, embed_sets
from wefe.metrics._geometry import Vectors, unit_rows
from wefe.metrics._permutation import wilson
from wefe.models._word_embedding_model import WordEmbeddingModel, check_model
from wefe.words import Preprocessors

if TYPE_CHECKING:
    import pandas as pd

logger = logging.getLogger(__name__)

Questions = Sequence[Sequence[Sequence[str]]]
# Questions that are checked: four pairs each.
_Asked = Sequence[Sequence[tuple[str, ...]]]

_KINDS = ("definition", "stereotype", "none")
#: What the four pairs of each question are.
_LABELS = ("definition", "none", "none", "stereotype")
# The published questions whose definition pairs were kept from the training of GN-GloVe.
_N_SUBSET = 40
# Cosines no further apart tie: pairs of the same words, in another order of additions.
_TIE = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class SemBiasResult:
    """Which kind of pair a direction picks; see :func:`sembias`.

    Attributes
    ----------
    definition, stereotype, none : float
        Shares of the questions used, in [0, 1]; NaN if none was used. Tied pairs share equally.
    intervals, confidence : dict and float
        Wilson's interval (lower, upper) for each of these three, and its confidence level.
    n_questions, n_used, n_lost, n_undefined, n_ties : int
        Questions asked; those used; those left out because a word was not found, or because the
        vectors of a pair are identical; and those used in which pairs share the largest cosine.
    questions, lost_words : tuple
        The questions, and the words that were not found.
    cosines : ndarray of shape (n_questions, 4)
        Cosine of the difference of each pair with the direction; NaN for questions left out.
    subset : SemBiasResult or None
        The result for the last questions only.
    nan_reason : str or None
        Why there are no shares; None if there are.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> sembias(load_test_model(), "small").stereotype
    0.025
    """

    definition: float
    stereotype: float
    none: float
    intervals: dict[str, tuple[float, float]]
    confidence: float
    n_questions: int
    n_used: int
    n_lost: int
    n_undefined: int
    n_ties: int
    lost_words: tuple[str, ...]
    questions: tuple[tuple[tuple[str, ...], ...], ...] = ()
    cosines: Vectors = field(default_factory=lambda: np.empty((0, len(_LABELS))))
    subset: SemBiasResult | None = None
    nan_reason: str | None = None

    def to_frame(self) -> pd.DataFrame:
        """Return one row per part and kind of pair.

        Columns ``part`` ('all', and 'subset' if there is one), ``kind``, ``share``, ``lower``
        and ``upper`` (bounds of its interval), ``n_used``, ``n_questions`` and ``n_ties``.
        """
        import pandas as pd

        rows = self._rows("all") + (self.subset._rows("subset") if self.subset else [])
        counts = ["n_used", "n_questions", "n_ties"]
        return pd.DataFrame(rows, columns=["part", "kind", "share", "lower", "upper", *counts])

    def _rows(self, part: str) -> list[tuple[Any, ...]]:
        counts = self.n_used, self.n_questions, self.n_ties
        return [(part, k, getattr(self, k), *self.intervals[k], *counts) for k in _KINDS]

    def by_question(self) -> pd.DataFrame:
        """Return one row per question and pair.

        Columns ``question`` (from 0), ``pair`` ('a:b'), ``kind``, ``cosine`` (with the
        direction, in [-1, 1]; NaN if the question was left out) and ``picked`` (whether it is
        the largest, or ties with it).
        """
        import pandas as pd

        best = _largest(self.cosines)
        rows = [
            (i, ":".join(pair), kind, self.cosines[i, j], bool(best[i, j]))
            for i, question in enumerate(self.questions)
            for j, (pair, kind) in enumerate(zip(question, _LABELS, strict=True))
        ]
        return pd.DataFrame(rows, columns=["question", "pair", "kind", "cosine", "picked"])

    def __repr__(self) -> str:
        if self.nan_reason is not None:
            return f"<SemBias: {self.nan_reason}>"
        shares = ", ".join(f"{kind} {getattr(self, kind):.3f}" for kind in _KINDS)
        return f"<SemBias: {shares}; {self.n_used} of {self.n_questions} questions>"


def sembias(
    model: WordEmbeddingModel,
    questions: Questions | str | os.PathLike[str] | None = None,
    *,
    normalize: bool = False,
    direction: Sequence[str] = ("he", "she"),
    preprocessors: Preprocessors | None = None,
    n_subset: int | None = None,
    confidence: float = 0.95,
) -> SemBiasResult:
    """Ask which of four pairs of words is most like he and she: a definition or a stereotype?

    Zhao, Zhou, Li, Wang and Chang, "Learning Gender-Neutral Word Embeddings", EMNLP 2018.

    Parameters
    ----------
    model : WordEmbeddingModel
        The model.
    questions : sequence, str or path, optional
        By default the 440 published questions, which the first call downloads. 'small' stands for
        40 that ship with the package; for others see :func:`wefe.datasets.load_sembias`. A question
        is a list of four pairs, each with the male side first: definition, none, none, stereotype.
    normalize : bool, default=False
        Scale vectors to unit length before taking differences; the published code does not.
    direction : (str, str), default=('he', 'she')
        The direction is the vector of the first word minus that of the second.
    preprocessors : list of dict, optional
        Forms of each word to try, in order; ``[{}, {"lowercase": True}]`` falls back on lower case.
        By default words are looked up as written.
    n_subset : int, optional
        Also report so many of the last questions: by default the last 40 published ones, which were
        not used to train GN-GloVe.
    confidence : float, default=0.95
        Confidence level of the intervals, which assume independent questions.

    Returns
    -------
    SemBiasResult
        Shares of questions in which the pair a:b with the largest cosine(he - she, a - b) is the
        definition (ideally 1), the stereotype, or neither. NaN, with a reason, if the model lacks a
        word of the direction or no question can be used.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> sembias(load_test_model(), "small")
    <SemBias: definition 0.975, stereotype 0.025, none 0.000; 40 of 40 questions>
    """
    check_model(model)
    check_bool("normalize", normalize)
    check_between("confidence", confidence, 0.95)
    pair = check_word_set("direction", direction)
    if len(pair) != 2:
        raise ValueError(f"direction must be two words; got {found(direction)}.")
    if n_subset is None:
        n_subset = _N_SUBSET if questions is None else 0
    asked = _questions(questions)
    n_subset = check_up_to("n_subset", n_subset, len(asked), "the number of questions")

    how = {"preprocessors": preprocessors, "normalize": normalize}
    cosines, lost, reason = _cosines(model, pair, asked, **how)
    result = _summary(asked, cosines, lost, confidence, reason)
    if n_subset:
        last = slice(-n_subset, None)
        subset = _summary(asked[last], cosines[last], lost[last], confidence, reason)
        result = replace(result, subset=subset)
    if result.n_lost > DEFAULT_THRESHOLD * len(asked):
        words_lost = result.lost_words
        logger.warning(
            "%s: %d of %d SemBias questions lost a word, as the model lacks %d: %s",
            *(model.name, result.n_lost, len(asked), len(words_lost), ", ".join(words_lost[:5])),
        )
    return result


def _cosines(
    model: WordEmbeddingModel, direction: Sequence[str], questions: _Asked, **how: Any
) -> tuple[Vectors, npt.NDArray[np.bool_], str]:
    """Return the cosine of each pair, which words are lost, and why a cosine is NaN."""
    words = [*direction, *(word for question in questions for pair in question for word in pair)]
    (part,) = embed_sets(model, [("questions", tuple(words))], **how)
    rows = np.array([-1 if row is None else row for row in part.first_row])
    # NaN stands for a word that was not found.
    vectors = np.vstack([part.vectors, np.full(model.dim, np.nan)])[rows]
    units = unit_rows(vectors[0::2] - vectors[1::2])
    cosines = (units[1:] @ units[0]).reshape(-1, len(_LABELS))
    cosines[np.isnan(cosines).any(axis=1)] = np.nan
    reason = f"every question lost a word with {model.name}, or has a pair of identical vectors"
    gone = list(compress(direction, rows[:2] < 0))
    if gone:
        reason = f"{model.name} lacks {', '.join(gone)}, of the direction"
    elif np.isnan(units[0]).any():
        reason = f"{' and '.join(direction)} have the same vector"
    return cosines, rows[2:].reshape(len(questions), -1) < 0, reason


def _largest(cosines: Vectors) -> npt.NDArray[np.bool_]:
    """Tell which pairs of each question have its largest cosine; none if it was left out."""
    with np.errstate(invalid="ignore"):
        return np.asarray(cosines >= cosines.max(axis=1, keepdims=True) - _TIE)


def _summary(
    questions: _Asked, cosines: Vectors, lost: npt.NDArray[np.bool_], confidence: float, reason: str
) -> SemBiasResult:
    """Return the shares of questions; `lost` tells which of their eight words were not found."""
    used, n_lost = ~np.isnan(cosines).any(axis=1), int(lost.any(axis=1).sum())
    best, n_used = _largest(cosines[used]), int(used.sum())
    votes = best / best.sum(axis=1, keepdims=True)
    parts, labels = votes.sum(axis=0) / (n_used or math.nan), np.array(_LABELS)
    shares: dict[str, Any] = {kind: float(parts[labels == kind].sum()) for kind in _KINDS}
    return SemBiasResult(
        **shares,
        intervals={kind: wilson(share, n_used, confidence) for kind, share in shares.items()},
        confidence=confidence,
        n_questions=len(questions),
        n_used=n_used,
        n_lost=n_lost,
        n_undefined=len(questions) - n_used - n_lost,
        n_ties=int((best.sum(axis=1) > 1).sum()),
        lost_words=tuple(dict.fromkeys(np.array(questions).reshape(lost.shape)[lost].tolist())),
        questions=tuple(map(tuple, questions)),
        cosines=cosines,
        nan_reason=None if n_used else reason,
    )


def _questions(questions: Questions | str | os.PathLike[str] | None) -> _Asked:
    if questions is None or isinstance(questions, str | os.PathLike):
        from wefe.datasets import load_sembias  # datasets stand above metrics

        questions = load_sembias("gn_glove" if questions is None else questions)
    asked = []
    for number, question in enumerate(check_sequence("questions", questions)):
        name = f"questions[{number}]"
        pairs = [check_word_set(name, pair) for pair in check_sequence(name, question)]
        if list(map(len, pairs)) != [2] * len(_LABELS):
            wanted = f"four pairs of words: {', '.join(_LABELS)}"
            raise ValueError(f"{name} must have {wanted}; got {found(question)}.")
        asked.append(pairs)
    if not asked:
        raise ValueError("questions is empty; SemBias needs at least one question.")
    return asked
