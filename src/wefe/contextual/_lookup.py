"""Which words of a query an encoder has, without encoding them; and is it an encoder at all?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from wefe._checks import found
from wefe.embeddings import UnusableVectorError
from wefe.metrics._geometry import Vectors
from wefe.models._types import FloatArray
from wefe.models._word_embedding_model import WordEmbeddingModel, check_model

if TYPE_CHECKING:
    from wefe.contextual._model import ContextualModel


def check_encoder(model: object, who: str) -> ContextualModel:
    """Return a model that encodes sentences; a static one is refused."""
    check_model(model)
    if not hasattr(model, "encode_contexts"):
        raise TypeError(
            f"{who} needs an encoder, as it measures words in sentences; got {found(model)}, which "
            "has one vector per word. Open one with wefe.contextual.load_encoder('org/name'). (An "
            "encoder becomes a static model when it is copied, changed by a mitigation, or sent to "
            "another process: use n_jobs=1.) For static models there is WEAT."
        )
    return cast("ContextualModel", model)


class WordsOnly(WordEmbeddingModel):
    """Stands for an encoder while words are looked up: the vectors that it gives mean nothing.

    Parameters
    ----------
    model : ContextualModel
        The encoder.
    known : mapping, optional
        The words to be found, as keys; by default those of the encoder.
    """

    def __init__(self, model: WordEmbeddingModel, known: Mapping[str, Any] | None = None) -> None:
        # Nothing else of a model is looked at, and its own __init__ would ask for vectors.
        self.wv = model.wv
        self.name = model.name
        self.vocab_prefix = model.vocab_prefix
        self.use_subwords = False
        self._known = model.vocab if known is None else known

    @property
    def vocab(self) -> Mapping[str, Any]:
        """The words that are found."""
        return self._known

    def get_vectors(self, words: Sequence[str]) -> FloatArray:
        """Return ones, of shape (len(words), 1)."""
        return np.ones((len(words), 1), dtype=np.float32)


def unit_or_refuse(vectors: npt.ArrayLike, texts: Sequence[str], model_name: str) -> Vectors:
    """Return encoded texts as unit vectors, float64; one without a direction is refused."""
    array = np.asarray(vectors, dtype=np.float64)
    lengths = np.linalg.norm(array, axis=1, keepdims=True)
    bad = np.flatnonzero(~((lengths > 0) & np.isfinite(lengths)))
    if len(bad):
        raise UnusableVectorError(
            f"{model_name} has a zero, NaN or infinite vector for {texts[bad[0]]!r} "
            f"({len(bad)} of {len(texts)} texts). Leave its word out, or use another "
            "layer or dtype."
        )
    return np.asarray(array / lengths)
