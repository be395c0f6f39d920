"""Methods that change single words: which words, in a copy or in place, and block by block.

A method is its fit, and then a function from vectors to vectors. What follows from that is done
here once, for models and for files: which words change, and what becomes of vectors without a
direction.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from wefe._progress import progress_bar
from wefe.debias._base import (
    BaseDebias,
    as_criterion,
    check_words,
    flattened,
    in_every_case,
    log_lost,
)
from wefe.debias._fitted import check_is_fitted
from wefe.models._passes import forms
from wefe.models._search import directions
from wefe.models._tables import RowsLike, chunks
from wefe.models._types import FloatArray
from wefe.models._word_embedding_model import WordEmbeddingModel

logger = logging.getLogger(__name__)

Mask: TypeAlias = npt.NDArray[np.bool_]

# Rows that are changed at once: with their temporary arrays they fit into the cache.
_BLOCK_NUMBERS = 1 << 18


class WordDebias(BaseDebias):
    """Base class of methods that change some words of a model and leave the others as they are."""

    #: Whether `fit` reads the whole vocabulary, not only the words it is given.
    _fit_reads_vocabulary: ClassVar[bool] = False
    #: The attribute with words that lose what makes them words of a class unless they are ignored.
    _class_words: ClassVar[str] = ""
    #: Whether words in `ignore` change as well, in a way of their own.
    _changes_ignored: bool = False

    dim_: int

    def __sklearn_is_fitted__(self) -> bool:
        # What every `fit` sets last.
        return hasattr(self, "dim_")

    @abstractmethod
    def _change(
        self, model: WordEmbeddingModel, result: WordEmbeddingModel, choice: Choice
    ) -> tuple[npt.NDArray[np.intp], int]:
        """Write the new vectors into `result`; return their rows, and how many had to stay."""

    def _protected_words(self) -> Sequence[str]:
        """Words that never change, without the prefix of a model."""
        return ()

    def _warn(self, target: object, ignore: object) -> None:
        """Warn where words of a class are about to lose it, if this method takes it from all."""
        sets = getattr(self, self._class_words, ())
        if target is None and not ignore and sets:
            logger.warning(
                "nothing is ignored, so words to which the class rightly belongs (%s) lose it "
                "too; pass them as ignore",
                ", ".join(sorted({word for words in sets for word in words})[:4]),
            )

    def transform(
        self,
        model: WordEmbeddingModel,
        target: Sequence[str] | None = None,
        ignore: Sequence[str] | None = None,
        copy: bool = True,
    ) -> WordEmbeddingModel:
        """Mitigate the bias of a model with what was learned.

        Parameters
        ----------
        model : WordEmbeddingModel
            The model to change: the one fitted, or another one of the same space.
        target : sequence of str, optional
            The words whose vectors change; all words by default. Words that the model lacks are
            counted and logged.
        ignore : sequence of str, optional
            Words that keep their vectors, also where they are in `target`: those to which the
            class rightly belongs, such as 'actress'. None by default, so that 'she' and 'he' lose
            it too. The notes of a method say if it treats some words otherwise.
        copy : bool, default=True
            True leaves `model` as it is, and takes memory for its vectors once more. False
            changes the vectors of `model`, and its name.

        Returns
        -------
        WordEmbeddingModel
            The mitigated model: `model` itself if `copy` is False. Numbers have the type that they
            had; they are computed in float32, or float64 for models of float64. Zero vectors and
            such with NaN or infinity stay as they are, and are counted in the log.

        Raises
        ------
        ValueError
            If the model has another number of dimensions, or none of the words in `target`.
        sklearn.exceptions.NotFittedError
            If the method was not fitted.
        """
        self._check_transform_args(model, target, ignore, copy)
        check_is_fitted(self)
        self._check_dim(model)
        self._warn(target, check_words("ignore", ignore))
        if target is not None:
            model.prepare(target)
        elif hasattr(model, "snapshot"):
            logger.warning(
                "%s is an encoder: the %d words looked up so far are mitigated, and no others. "
                "Take a snapshot of all that matter first",
                *(model.name, len(model)),
            )
        choice = Choice(self, model, target, ignore)
        if not copy:
            model._check_writeable()
        result = model.copy() if copy else model
        rows, n_left = self._change(model, result, choice)
        result.table.refresh(rows)
        result.name = self._name_of_mitigated(model)
        log_left(n_left)
        if model.use_subwords:
            logger.warning(
                "%s builds vectors of unseen words from subwords; those were not mitigated",
                model.name,
            )
        self._log("%s: %d of %d vectors changed", result.name, len(rows), model.table.n_rows)
        return result


class RowwiseDebias(WordDebias):
    """Base class of methods that change each vector by itself.

    A method defines `fit`, which sets `dim_`, and `_map_vectors`. It may define what else differs:
    words that never change (`_protected_words`), other vectors for words that are ignored
    (`_map_ignored`), and words whose vectors are settled together (`_joint_words`,
    `_settle_jointly`), such as pairs that are equalised. `transform`, with all of its arguments,
    and :func:`transform_file` follow from that.

    Parameters
    ----------
    pca_args : dict, optional
        Arguments of the principal component analysis that finds the bias subspace, for methods
        that have one; ``{"n_components": 10}`` by default.
    verbose : bool, default=False
        Print what is done, or log it where level INFO is on.
    criterion_name : str, optional
        For example 'gender'. The mitigated model is called 'MODEL_gender_debiased'.

    Attributes
    ----------
    dim_ : int
        Number of dimensions of the vectors that the method was fitted on.

    Examples
    --------
    >>> import numpy as np
    >>> from wefe import load_test_model
    >>> from wefe.debias import RowwiseDebias
    >>> class HalfTheWay(RowwiseDebias):
    ...     # Halve the component of every word along she - he.
    ...
    ...     def fit(self, model, **fit_params):
    ...         difference = model["she"] - model["he"]
    ...         self.bias_direction_ = difference / np.linalg.norm(difference)
    ...         self.dim_ = model.dim
    ...         return self
    ...
    ...     def _map_vectors(self, vectors):
    ...         g = self.bias_direction_.astype(vectors.dtype)
    ...         return vectors - np.outer(vectors @ g, g) / 2
    >>> model = load_test_model()
    >>> method = HalfTheWay().fit(model)
    >>> debiased = method.transform(model, ignore=["she", "he"])
    >>> before, after = (each["nurse"] @ method.bias_direction_ for each in (model, debiased))
    >>> print(f"{after / before:.2f}", (debiased["she"] == model["she"]).all())
    0.50 True
    """

    @abstractmethod
    def _map_vectors(self, vectors: FloatArray) -> FloatArray:
        """Return the new vectors of any words.

        Parameters
        ----------
        vectors : ndarray of shape (n_words, dim), float32 or float64
            Finite vectors, none of them zero. They must not be changed.

        Returns
        -------
        ndarray of shape (n_words, dim)
            A new array of the same dtype.
        """

    def _words_to_fit(self, **fit_params: Any) -> list[str]:
        """Return all words that `fit` looks up with these parameters, in every case.

        With them, a file need not be read whole to be fitted on.
        """
        criterion = as_criterion(fit_params.pop("criterion", None))
        words: list[str] = []
        for parameter, attribute in self._from_criterion.items():
            value = fit_params.get(parameter)
            if value is None and criterion is not None:
                value = getattr(criterion, attribute)
            words += flattened(value)
        words += flattened([v for k, v in fit_params.items() if k not in self._from_criterion])
        return list(dict.fromkeys(v for word in words for v in in_every_case(word)))

    def _map_ignored(self, vectors: FloatArray) -> FloatArray | None:  # noqa: ARG002
        """Return new vectors of words in `ignore`; None leaves them as they are."""
        return None

    def _joint_words(self) -> Sequence[str]:
        """Words that `_settle_jointly` looks at, without the prefix of a model."""
        return ()

    def _settle_jointly(
        self,
        originals: Mapping[str, npt.NDArray[np.float64]],  # noqa: ARG002
        mapped: Mapping[str, npt.NDArray[np.float64]],  # noqa: ARG002
    ) -> dict[str, npt.NDArray[np.float64]]:
        """Return the final vectors of words that depend on each other.

        Parameters
        ----------
        originals : mapping from str to ndarray of shape (dim,)
            The vectors of those `_joint_words` that the model has, float64.
        mapped : mapping from str to ndarray of shape (dim,)
            The same as they are by now; those of ignored words are as before.
        """
        return {}

    @property
    def _changes_ignored(self) -> bool:  # type: ignore[override]
        return type(self)._map_ignored is not RowwiseDebias._map_ignored

    def _change(
        self, model: WordEmbeddingModel, result: WordEmbeddingModel, choice: Choice
    ) -> tuple[npt.NDArray[np.intp], int]:
        changed, touched = choice.masks(model.vocab, model.table.n_rows)
        settled = {model.vocab[form]: v for form, v in self._settled(model, choice).items()}
        with progress_bar(int(touched.sum()), type(self).__name__, "word", True) as bar:
            n_left = self._map_rows(model.rows, result.vectors, changed, touched, bar.update)
        for row, vector in settled.items():
            result.vectors[row] = vector
        touched[list(settled)] = True
        return np.flatnonzero(touched), n_left

    def _map_rows(
        self,
        read: Callable[[RowsLike], FloatArray],
        into: FloatArray,
        changed: Mask,
        touched: Mask,
        tell: Callable[[int], object] = int,  # or to advance a bar
    ) -> int:
        """Write the new vectors of rows, block by block; return how many had to stay.

        `changed` are mapped, the rest of `touched` as `_map_ignored` does.
        """
        n_left = 0
        for part in chunks(len(touched), max(1, _BLOCK_NUMBERS // max(into.shape[1], 1))):
            for mask, map_vectors in (
                (changed[part], self._map_vectors),
                (touched[part] & ~changed[part], self._map_ignored),
            ):
                if not mask.any():
                    continue
                # Of a mapped file, only pages that are written to take memory.
                rows = part if mask.all() else part.start + np.flatnonzero(mask)
                into[rows], n_here = _mapped(map_vectors, read(rows))
                n_left += n_here
                tell(int(mask.sum()))
        return n_left

    def _settled(
        self, model: WordEmbeddingModel, choice: Choice
    ) -> dict[str, npt.NDArray[np.float64]]:
        """Return the final vectors of words that are settled jointly, by form in the vocabulary."""
        words = list(dict.fromkeys(self._joint_words()))
        # Of a model that was opened for some words, no others can be told.
        asked = model.requested
        found = {
            word: form
            for word, form in zip(words, forms(model, words), strict=True)
            if (asked is None or form in asked) and form in model.vocab
        }
        originals = model.get_vectors(list(found.values())).astype(np.float64)
        directed = directions(originals)[1]
        if not directed.all():
            lost = [word for word, good in zip(found, directed, strict=True) if not good]
            logger.warning("%s: no direction, so not equalized: %s", model.name, ", ".join(lost))
            found = {word: form for word, form in found.items() if word not in lost}
        if not found:
            return {}
        originals = originals[directed]
        mapped = originals.copy()
        masks = choice.masks({form: row for row, form in enumerate(found.values())})
        self._map_rows(originals.__getitem__, mapped, *masks)
        settled = self._settle_jointly(
            dict(zip(found, originals, strict=True)), dict(zip(found, mapped, strict=True))
        )
        return {found[word]: vector for word, vector in settled.items()}


class Choice:
    """Which words of a model change; the same for its rows and for blocks of its words."""

    def __init__(
        self,
        method: WordDebias,
        model: WordEmbeddingModel,
        target: Sequence[str] | None,
        ignore: Sequence[str] | None,
    ) -> None:
        def known(words: Sequence[str]) -> set[str]:
            return {form for form in forms(model, words) if form in model.vocab}

        # A model that was opened for some words has nothing to be spared of the others.
        def spared(words: Sequence[str]) -> set[str]:
            return model.vocab.keys() & set(forms(model, words))

        self.target = None
        self.ignored = spared(check_words("ignore", ignore))
        self.kept = spared(method._protected_words())
        self.changes_ignored = method._changes_ignored
        if target is None:
            return
        words = check_words("target", target)
        self.target = known(words)
        if not self.target:
            raise ValueError(
                f"{model.name} has none of the {len(words)} words in target; their case and "
                "spelling must be those of the vocabulary."
            )
        lost = [w for w, f in zip(words, forms(model, words), strict=True) if f not in self.target]
        log_lost(model, lost, len(words), "words in target")
        if self.target & self.kept:
            logger.warning(
                "%d words in target stay as they are, because %s protects them",
                *(len(self.target & self.kept), type(method).__name__),
            )

    def masks(self, index: Mapping[str, int], n_rows: int | None = None) -> tuple[Mask, Mask]:
        """Return which rows of an index of words are mapped, and which change in any way."""

        def rows(words: set[str]) -> list[int]:
            # An encoder would give a row to every word that it is asked for, but not to `get`.
            known = index.keys() & words
            return [row for word in known if (row := index.get(word)) is not None]

        targeted = np.zeros(len(index) if n_rows is None else n_rows, dtype=bool)
        if self.target is None:
            # gensim may have room for words to come.
            targeted[: len(index)] = True
        else:
            targeted[rows(self.target)] = True
        changed = targeted.copy()
        ignored = rows(self.ignored)
        changed[ignored] = False
        changed[rows(self.kept)] = False
        touched = changed.copy()
        if self.changes_ignored:
            touched[ignored] = targeted[ignored]
        return changed, touched


def _mapped(
    map_vectors: Callable[[FloatArray], FloatArray | None], vectors: FloatArray
) -> tuple[FloatArray, int]:
    """Return vectors as a function maps them, and how many have no direction and stay."""
    width = np.promote_types(vectors.dtype, np.float32)
    exact = vectors.astype(width, copy=False)
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.einsum("ij,ij->i", exact, exact)
    usual = (squares > np.finfo(width).tiny) & (squares < np.inf)
    if usual.all():
        return map_vectors(exact), 0  # type: ignore[return-value]
    result = vectors.copy()
    if usual.any():
        result[usual] = map_vectors(exact[usual])
    # float32 cannot square its largest and smallest numbers.
    unusual = ~usual & directions(vectors)[1]
    for row in np.flatnonzero(unusual):
        result[row] = map_vectors(vectors[row].astype(np.float64)[None])
    return result, int((~usual & ~unusual).sum())


def log_left(n_left: int) -> None:
    if n_left:
        logger.warning(
            "%d vectors stay as they were: they are zero, or hold NaN or infinity", n_left
        )
