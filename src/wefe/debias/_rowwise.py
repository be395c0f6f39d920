"""Methods that change every vector by itself, in memory or from file to file.

A method is fitted, and then it is a function from vectors to vectors. What follows from that is
done here once: which words change, in which order and dtype, in a copy or in place, how much
memory that takes, and what becomes of vectors without a direction.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from wefe._progress import progress_bar
from wefe.debias._base import BaseDebias, as_criterion, check_words, flattened, in_every_case
from wefe.debias._fitted import check_is_fitted
from wefe.models._passes import forms
from wefe.models._tables import chunks
from wefe.models._types import FloatArray
from wefe.models._word_embedding_model import WordEmbeddingModel

logger = logging.getLogger(__name__)

Mask: TypeAlias = npt.NDArray[np.bool_]

# Rows that are changed at once: with their temporary arrays they fit into the cache.
_BLOCK_NUMBERS = 1 << 18
# Up to this share of rows, single rows are read and written.
_SPARSE = 0.25


class RowwiseDebias(BaseDebias):
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
        Log what is done at level INFO; otherwise at level DEBUG.
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

    #: Whether `fit` reads the whole vocabulary, not only the words it is given.
    _fit_reads_vocabulary: ClassVar[bool] = False

    dim_: int
    _shows_bar = True

    def __sklearn_is_fitted__(self) -> bool:
        # What every `fit` sets last.
        return hasattr(self, "dim_")

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

    def _protected_words(self) -> Sequence[str]:
        """Words that never change, without the prefix of a model."""
        return ()

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
            Words that keep their vectors, also where they are in `target`; none by default.
        copy : bool, default=True
            True leaves `model` as it is, and takes memory for the vectors that change once more:
            for all of them where they are in memory, for those that change where they are mapped
            from a file. False changes the vectors of `model`, and its name.

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
        choice = _Choice(self, model, target, ignore)
        rows = choice.touched(self._changes_ignored)

        def masks(words: list[str]) -> tuple[Mask, Mask]:
            places = [model.vocab[word] for word in words]
            return choice.changed[places], rows[places]

        settled = {
            model.vocab[form]: vector for form, vector in self._settled(model, masks).items()
        }
        rows[list(settled)] = True
        if not copy:
            model._check_writeable()
            result, fresh = model, False
        elif model.held == "mapped":
            result, fresh = model.copy(), False
        else:
            fresh = bool(rows.sum() > _SPARSE * len(rows))
            shape = (len(rows), model.dim)
            room = np.empty(shape, dtype=model.dtype) if fresh else np.array(model.vectors)
            result = model._with_vectors(room)
        self._fill(model, result.vectors, choice, rows, fresh=fresh)
        for row, vector in settled.items():
            result.vectors[row] = vector.astype(model.dtype)
        result._refresh(np.flatnonzero(rows))
        result.name = self._name_of_mitigated(model)
        if model.use_subwords:
            logger.warning(
                "%s builds vectors of unseen words from subwords; those were not mitigated",
                model.name,
            )
        self._log("%s: %d of %d vectors changed", result.name, rows.sum(), len(rows))
        return result

    @property
    def _changes_ignored(self) -> bool:
        return type(self)._map_ignored is not RowwiseDebias._map_ignored

    def _fill(
        self,
        model: WordEmbeddingModel,
        into: FloatArray,
        choice: _Choice,
        rows: Mask,
        *,
        fresh: bool,
    ) -> None:
        """Write the new vectors of the rows that change, and the others where they are missing."""
        n_left = 0
        size = block_rows(model.dim)
        parts: Iterable[slice | npt.NDArray[np.intp]] = chunks(len(rows), size)
        if not fresh and rows.sum() <= _SPARSE * len(rows):
            places = np.flatnonzero(rows)
            parts = (places[part] for part in chunks(len(places), size))
        with progress_bar(int(rows.sum()), type(self).__name__, "word", self._shows_bar) as bar:
            for part in parts:
                block, here = model.rows(part), rows[part]
                if here.any():
                    new, n_here = self._map_block(block, choice.changed[part], here)
                    n_left += n_here
                    if fresh or here.all():
                        into[part] = new
                    else:
                        # Of a mapped file, only pages that are written to take memory.
                        into[part][here] = new[here]
                    bar.update(int(here.sum()))
                elif fresh:
                    into[part] = block
        log_left(n_left)

    def _map_block(self, block: FloatArray, changed: Mask, rows: Mask) -> tuple[FloatArray, int]:
        """Return the vectors of a block as they become, and how many had to stay.

        `changed` are those to map; the rest of `rows` is mapped as `_map_ignored` does.
        """
        width = np.promote_types(block.dtype, np.float32)
        exact = block.astype(width, copy=False)
        with np.errstate(over="ignore", invalid="ignore"):
            squares = np.einsum("ij,ij->i", exact, exact)
        usual = (squares > np.finfo(width).tiny) & (squares < np.inf)
        if usual.all() and 2 * np.count_nonzero(changed) >= len(changed):
            # To map the few others as well takes less time than to pick rows.
            result: FloatArray = self._map_vectors(exact).astype(block.dtype, copy=False)
            others = np.flatnonzero(~changed)
            if others.size:
                result[others] = block[others]
            todo = [(self._map_ignored, rows & ~changed)]
        else:
            result = block.copy()
            todo = [(self._map_vectors, changed), (self._map_ignored, rows & ~changed)]
        for map_vectors, mask in todo:
            plain = np.flatnonzero(mask & usual)
            if plain.size:
                new = map_vectors(exact[plain])
                if new is not None:
                    result[plain] = new
            # float32 cannot square its largest and smallest numbers.
            for row in np.flatnonzero(mask & ~usual):
                vector = block[row].astype(np.float64)[None]
                if np.isfinite(vector).all() and vector.any():
                    new = map_vectors(vector)
                    if new is not None:
                        result[row] = new[0]
        n_left = int((changed & ~usual & ~_directed(block)).sum()) if not usual.all() else 0
        return result, n_left

    def _settled(
        self, model: WordEmbeddingModel, masks: Callable[[list[str]], tuple[Mask, Mask]]
    ) -> dict[str, npt.NDArray[np.float64]]:
        """Return the final vectors of words that are settled jointly.

        Parameters
        ----------
        model : WordEmbeddingModel
            A model that has these words, as they were.
        masks : callable
            Takes words as the vocabulary has them, and tells which are mapped, and which change
            in any way.
        """
        words = list(dict.fromkeys(self._joint_words()))
        # Of a model that was opened for some words, no others can be told.
        asked = model.requested
        found = {
            word: form
            for word, form in zip(words, forms(model, words), strict=True)
            if (asked is None or form in asked) and form in model.vocab
        }
        block = model.get_vectors(list(found.values()))
        directed = _directed(block)
        if not directed.all():
            lost = [word for word, good in zip(found, directed, strict=True) if not good]
            logger.warning("%s: no direction, so not equalized: %s", model.name, ", ".join(lost))
            for word in lost:
                del found[word]
        if not found:
            return {}
        originals = block[directed].astype(np.float64)
        mapped, _ = self._map_block(originals, *masks(list(found.values())))
        settled = self._settle_jointly(
            dict(zip(found, originals, strict=True)), dict(zip(found, mapped, strict=True))
        )
        return {found[word]: vector for word, vector in settled.items()}


def block_rows(dim: int) -> int:
    """Number of vectors that are changed at once."""
    return max(1, _BLOCK_NUMBERS // max(dim, 1))


class _Choice:
    """The rows of a model that change.

    Attributes
    ----------
    changed : ndarray of bool
        Per row, whether it is mapped.
    ignored_rows : ndarray of int
        Rows of the words in `ignore`.
    """

    def __init__(
        self,
        method: RowwiseDebias,
        model: WordEmbeddingModel,
        target: Sequence[str] | None,
        ignore: Sequence[str] | None,
    ) -> None:
        if target is not None:
            model.prepare(target)
        elif hasattr(model, "snapshot"):
            logger.warning(
                "%s is an encoder: the %d words looked up so far are mitigated, and no others. "
                "Take a snapshot of all that matter first",
                *(model.name, len(model)),
            )
        n_rows = model.table.n_rows
        self._target: Mask | None = None
        if target is not None:
            self._target = np.zeros(n_rows, dtype=bool)
            self._target[_rows(model, check_words("target", target), "target")] = True
            if not self._target.any():
                raise ValueError(
                    f"{model.name} has none of the {len(target)} words in target; their case and "
                    "spelling must be those of the vocabulary."
                )
        self.ignored_rows = _rows(model, check_words("ignore", ignore))
        protected = _rows(model, method._protected_words())
        self.changed = np.ones(n_rows, dtype=bool) if target is None else self._target.copy()  # type: ignore[union-attr]
        if self._target is not None and self._target[protected].any():
            logger.warning(
                "%d words in target stay as they are, because %s protects them",
                int(self._target[protected].sum()),
                type(method).__name__,
            )
        self.changed[self.ignored_rows] = False
        self.changed[protected] = False
        if len(model.vocab) < n_rows:
            # gensim may have room for words to come.
            self.changed[len(model.vocab) :] = False

    def touched(self, with_ignored: bool) -> Mask:
        """Rows that are changed in any way."""
        touched = self.changed.copy()
        if with_ignored:
            touched[self.ignored_rows] = True
            if self._target is not None:
                touched &= self._target
        return touched


def _rows(
    model: WordEmbeddingModel, words: Sequence[str], called: str | None = None
) -> npt.NDArray[np.intp]:
    """Return the rows of those words that a model has; missing ones are logged if `called`."""
    vocab = model.vocab
    # A model that was opened for some words has nothing to be spared of the others.
    asked = None if called else model.requested
    rows: list[int] = []
    lost: list[str] = []
    for word, form in zip(words, forms(model, words), strict=True):
        row = vocab.get(form) if asked is None or form in asked else None
        if row is None:
            lost.append(word)
        else:
            rows.append(row)
    if called and lost:
        listed = ", ".join(lost[:10]) + (", ..." if len(lost) > 10 else "")
        logger.warning(
            "%s lacks %d of the %d words in %s: %s",
            *(model.name, len(lost), len(words), called, listed),
        )
    return np.array(rows, dtype=np.intp)


def _directed(vectors: FloatArray) -> Mask:
    """Whether each vector is finite and not zero."""
    return np.asarray(np.isfinite(vectors).all(axis=1) & vectors.any(axis=1))


def log_left(n_left: int) -> None:
    if n_left:
        logger.warning(
            "%d vectors stay as they were: they are zero, or hold NaN or infinity", n_left
        )
