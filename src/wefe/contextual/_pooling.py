"""From the vectors of the tokens of a text to one vector, as weights of the tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import torch

#: How the vectors of tokens become one; 'auto' is settled when an encoder is opened.
Pooling: TypeAlias = Literal["auto", "mean", "first", "cls", "sentence"]

POOLINGS: tuple[Pooling, ...] = ("auto", "mean", "first", "cls", "sentence")

DESCRIPTIONS: dict[Pooling, str] = {
    "auto": "the SentenceTransformer's own pooling",
    "mean": "mean over subwords",
    "first": "first subword",
    "cls": "first token",
    "sentence": "mean over the sentence",
}


def token_weights(
    pooling: Pooling, words: Sequence[Sequence[int]], lengths: Sequence[int]
) -> npt.NDArray[np.float32]:
    """Return what each token counts; padding counts nothing.

    Parameters
    ----------
    pooling : {'mean', 'first', 'cls', 'sentence'}
        The mean over the tokens of the word, its first one, the first token of the text, or the
        mean over all tokens of the text.
    words : sequence of sequences of int
        Per text, the places of the tokens of its word.
    lengths : sequence of int
        Per text, its number of tokens.

    Returns
    -------
    ndarray of shape (n_texts, max(lengths)), float32
        Each row adds up to 1.

    Examples
    --------
    >>> token_weights("mean", [[1, 2], [1]], [4, 3])
    array([[0. , 0.5, 0.5, 0. ],
           [0. , 1. , 0. , 0. ]], dtype=float32)
    """
    weights = np.zeros((len(lengths), max(lengths)), dtype=np.float32)
    for row, word, length in zip(weights, words, lengths, strict=True):
        if pooling == "mean":
            row[list(word)] = 1 / len(word)
        elif pooling == "first":
            row[word[0]] = 1
        elif pooling == "cls":
            row[0] = 1
        else:
            row[:length] = 1 / length
    return weights


def pool(states: torch.Tensor, weights: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return the weighted means, of shape (n_texts, dim), of states (n_texts, n_tokens, dim)."""
    import torch

    factors = torch.from_numpy(weights).to(states.device)
    pooled = torch.bmm(factors.unsqueeze(1), states.float()).squeeze(1)
    array: npt.NDArray[np.float32] = pooled.cpu().numpy()
    return array
