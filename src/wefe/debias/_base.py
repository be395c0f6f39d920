"""Base classes of the mitigation methods: fit, transform, and which vectors change."""

from __future__ import annotations

import functools
import inspect
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from wefe._checks import (
    check_bool,
    check_known,
    check_number,
    check_positive_int,
    check_sequence,
    check_share,
    check_word_set,
    found,
    listed,
    logger,
)
from wefe._wordset import WordSet
from wefe.datasets import Criterion, load_criterion
from wefe.debias._fitted import check_is_fitted
from wefe.debias._projection import Vectors, principal_components
from wefe.embeddings import definitional_vectors, embed_sets
from wefe.metrics._declaration import check_parameters
from wefe.models._passes import Rows, forms
from wefe.models._tables import chunks
from wefe.models._types import FloatArray
from wefe.models._word_embedding_model import WordEmbeddingModel, check_model

if TYPE_CHECKING:
    from sklearn.decomposition import PCA

    from wefe.embeddings import EmbeddingDict


Fit = TypeVar("Fit", bound=Callable[..., Any])


def check_positive(name: str, value: object) -> float:
    if number := check_number(name, value, 0):
        return number
    raise ValueError(f"{name} must be above 0; got {found(value)}.")


def _optional(check: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    return lambda name, value: None if value is None else check(name, value)


#: What parameters may be: the fields of a method that is a dataclass are checked by `fit`.
OptionalCount: TypeAlias = Annotated[int | None, _optional(check_positive_int)]
NotNegative: TypeAlias = Annotated[float, functools.partial(check_number, at_least=0)]
Positive: TypeAlias = Annotated[float, check_positive]
OptionalShare: TypeAlias = Annotated[float | None, _optional(check_share)]


_CRITERION_DOC = """
criterion : Criterion or str, optional
    Provides the word sets that you do not give: a name such as 'gender', or your own.
"""


def fits(*required: str) -> Callable[[Fit], Fit]:
    """Decorate a `fit`: load the criterion and take missing word sets from it.

    `required` names the parameters that the user or the criterion must provide. The docstring of
    `fit` ends with the criterion, and like that of :meth:`BaseDebias.fit`.
    """

    def decorate(fit: Fit) -> Fit:
        @functools.wraps(fit)
        def fit_on_words(self: BaseDebias, model: Any, *args: Any, **kwargs: Any) -> BaseDebias:
            call = inspect.signature(fit).bind(self, model, *args, **kwargs)
            call.apply_defaults()
            given = call.arguments
            given |= self._words(given["fit_params"], given["criterion"], *required, **given)
            check_model(model)
            fit(*call.args, **call.kwargs)
            self.dim_ = model.dim
            return self

        _, _, shared = str(inspect.getdoc(BaseDebias.fit)).partition("to learn from.\n")
        fit_on_words.__doc__ = inspect.cleandoc(fit.__doc__ or "") + _CRITERION_DOC + shared
        return fit_on_words  # type: ignore[return-value]

    return decorate


@dataclass(eq=False, repr=False)
class BaseDebias(BaseEstimator, ABC):  # type: ignore[misc]
    """Base class of the mitigation methods: `fit` learns, `transform` changes vectors.

    It follows scikit-learn. To write a method, define `fit`, which sets `dim_` last, and
    `transform`, or derive from :class:`RowwiseDebias`, which is shorter.

    Parameters
    ----------
    pca_args : dict, optional
        Arguments of the PCA that finds the bias subspace; ``{"n_components": 10}`` by default.
    verbose : bool, default=False
        Log each step at level INFO, or print it if that level is off.
    criterion_name : str, optional
        Part of the name of the result, 'MODEL_gender_debiased'; by default that of the criterion.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> class Negation(BaseDebias):
    ...     def fit(self, model, **fit_params):
    ...         self.dim_ = model.dim
    ...         return self
    ...
    ...     def transform(self, model, target=None, ignore=None, copy=True):
    ...         return type(model)(([*model.vocab], -model.vectors), f"{model.name}_negated")
    >>> Negation().fit_transform(load_test_model()).name
    'minilm-words_negated'
    """

    #: Parameter of `fit` -> attribute of a `Criterion` that it is taken from.
    _from_criterion: ClassVar[Mapping[str, str]] = {
        "definitional_pairs": "definitional_sets",
        "definitional_sets": "definitional_sets",
        "definitional_words": "specific_words",
        "equalize_pairs": "equalize_sets",
        "equalize_sets": "equalize_sets",
        "ignore": "specific_words",
        "bias_representation": "representatives",
        "representatives": "representatives",
        "concept_words": "stereotyped_words",
    }

    pca_args: dict[str, Any] | None = None
    verbose: bool = False
    criterion_name: str | None = None

    @abstractmethod
    def fit(self, model: WordEmbeddingModel, **fit_params: Any) -> BaseDebias:
        """Learn the transformation from a model and word sets.

        Parameters
        ----------
        model : WordEmbeddingModel
            The model to learn from.
        **fit_params
            Word sets by name; unknown names are refused.

        Returns
        -------
        BaseDebias
            The method itself.

        Raises
        ------
        ValueError
            If the model lacks too many words of the word sets.
        """

    @abstractmethod
    def transform(
        self,
        model: WordEmbeddingModel,
        target: Sequence[str] | None = None,
        ignore: Sequence[str] | None = None,
        copy: bool = True,
    ) -> WordEmbeddingModel:
        """Mitigate the bias of a model.

        Less association measured afterwards does not mean that the bias is gone: neighbours and
        classifiers may still reveal it; see :func:`wefe.debias.compare`.

        Parameters
        ----------
        model : WordEmbeddingModel
            The fitted model, or another one of the same space.
        target : sequence of str, optional
            The words whose vectors change; all by default. Missing words are counted and logged.
        ignore : sequence of str, optional
            Words that keep their vectors, even if they are in `target`: those that rightly belong
            to a class, such as 'she' and 'actress'; none by default. As published, equalized sets
            and the first step of DoubleHardDebias change ignored words, too.
        copy : bool, default=True
            True needs memory for a second set of vectors. False changes `model` and its name.

        Returns
        -------
        WordEmbeddingModel
            The mitigated model: `model` itself if `copy` is False. It keeps its dtype; computations
            use float64 for float64 models and float32 for others. Vectors without a direction
            (zero, NaN or infinity) do not change.

        Raises
        ------
        ValueError, sklearn.exceptions.NotFittedError
            If the model has other dimensions, no word of `target`, or read-only vectors and `copy`
            is False; or if the method is not fitted.
        """

    def fit_transform(
        self,
        model: WordEmbeddingModel,
        target: Sequence[str] | None = None,
        ignore: Sequence[str] | None = None,
        copy: bool = True,
        **fit_params: Any,
    ) -> WordEmbeddingModel:
        """Fit on a model and transform it.

        Parameters
        ----------
        model, target, ignore, copy, **fit_params : optional
            See :meth:`transform` and :meth:`fit`. A `fit` with the parameter `ignore` gets it, too.

        Returns
        -------
        WordEmbeddingModel
            The mitigated model: `model` itself if `copy` is False.
        """
        return self.fit(model, **self._fit_params(fit_params, ignore)).transform(
            model, target, ignore, copy
        )

    # For authors of methods

    def _words(
        self, fit_params: Mapping[str, Any], criterion: object, /, *required: str, **given: Any
    ) -> dict[str, Any]:
        """Check the parameters and return the criterion and the word sets, missing ones from it."""
        checked = as_criterion(criterion)
        known = self._known()
        check_known(f"{type(self).__name__}.fit", fit_params, known)
        check_parameters(self)
        for learned in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, learned)
        self.criterion_name_ = self.criterion_name or (checked.name if checked else None)
        words = {name: given.get(name) for name in known if name in self._from_criterion}
        for name in [name for name, value in words.items() if checked and value is None]:
            words[name] = getattr(checked, self._from_criterion[name])
        self._require(**{name: words[name] for name in required})
        return {"criterion": checked, **words}

    def _known(self) -> list[str]:
        return [*inspect.signature(self.fit).parameters][1:-1]

    def _require(self, **words: Any) -> None:
        missing = [name for name, value in words.items() if value is None or value == {}]
        if missing:
            raise TypeError(
                f"{type(self).__name__}.fit needs {' and '.join(missing)}, or a criterion "
                "('gender', or a Criterion with your word sets)."
            )

    def _check_sets_size(
        self, sets: Sequence[Sequence[str]] | None, set_name: str, size: int | None = 2
    ) -> list[tuple[str, ...]]:
        """Return sets as tuples, each of `size` different words (None: two or more)."""
        name = f"{set_name}_{'pairs' if size == 2 else 'sets'}"
        checked = []
        for position, words in enumerate(check_sequence(name, sets)):
            part = check_word_set(f"{name}[{position}]", words)
            if len(set(part)) != (size or max(len(part), 2)):
                hint = " For more than two classes, use a multiclass method." * (size == 2)
                raise ValueError(
                    f"{name}[{position}] must have {size or 'two or more'} words that differ; "
                    f"it has {len(part)} ({', '.join(part)}).{hint}"
                )
            checked.append(part)
        return checked

    def _check_transform_args(
        self, model: WordEmbeddingModel, target: object, ignore: object, copy: object
    ) -> None:
        check_model(model)
        if target is not None and not check_words("target", target):
            raise ValueError("target is empty, so nothing would change. For all words, use None.")
        check_words("ignore", ignore)
        check_bool("copy", copy)
        dim = getattr(self, "dim_", model.dim)
        if dim != model.dim:
            raise ValueError(
                f"{type(self).__name__} was fitted on vectors of {dim} dims; {model.name} has "
                f"{model.dim}. Fit it on this model."
            )

    def _identify_bias_subspace(
        self, definitional_embeddings: Sequence[EmbeddingDict | Any], verbose: bool = False
    ) -> PCA:
        """Fit a PCA to definitional sets, each an array (n_words, dim) or a dict."""
        pca_args = {"n_components": 10} if self.pca_args is None else self.pca_args
        sets = [[*(e.values() if isinstance(e, dict) else e)] for e in definitional_embeddings]
        pca = principal_components(sets, pca_args)
        ratios = np.array2string(pca.explained_variance_ratio_, precision=3)
        report(verbose, "explained variance ratios of the bias subspace: %s", ratios)
        return pca

    def _name_of_mitigated(self, model: WordEmbeddingModel) -> str:
        criterion = getattr(self, "criterion_name_", self.criterion_name)
        return "_".join(filter(None, [model.name, criterion, "debiased"]))

    # For the methods of this package

    def __sklearn_is_fitted__(self) -> bool:
        # What every `fit` sets last.
        return hasattr(self, "dim_")

    def _fit_params(self, fit_params: Mapping[str, Any], ignore: object) -> dict[str, Any]:
        """Return parameters of `fit`, with the words to ignore if it takes them."""
        heard = "ignore" in inspect.signature(self.fit).parameters
        return {"ignore": ignore, **fit_params} if heard else {**fit_params}

    def _log(self, message: str, *args: Any) -> None:
        report(self.verbose, message, *args)


def report(verbose: bool, message: str, *args: Any) -> None:
    """Log a message at level INFO if `verbose`, or print it if that level is off."""
    logger.log(logging.INFO if verbose else logging.DEBUG, message, *args)
    if verbose and not logger.isEnabledFor(logging.INFO):
        print(message % args)


def check_words(name: str, words: Any) -> tuple[str, ...]:
    """Return words for `target` or `ignore` as a tuple, empty for None."""
    if words is None:
        return ()
    if isinstance(words, set | frozenset):
        words = sorted(words, key=str)
    sequence = check_sequence(name, words)
    return check_word_set(name, sequence) if len(sequence) else ()


def log_lost(model: WordEmbeddingModel, lost: Sequence[str], n_words: int, called: str) -> None:
    if lost:
        names = listed(lost, 10)
        logger.warning(
            "%s lacks %d of the %d %s: %s", model.name, len(lost), n_words, called, names
        )


def known_words(
    model: WordEmbeddingModel, words: Sequence[str], called: str, at_least: int = 1, **how: Any
) -> WordSet:
    """Look up words; log those that the model lacks, and refuse a model with too few of them."""
    different = tuple(dict.fromkeys(words))
    (part,) = embed_sets(model, [(called, different)], **how)
    if len(part) < at_least:
        raise ValueError(
            f"{model.name} has {len(part)} of the {len(different)} {called}; fit needs {at_least}."
        )
    log_lost(model, part.lost, len(different), called)
    return part


def words_of_classes(
    model: WordEmbeddingModel, name: str, classes: Any, at_least: int = 1, **how: Any
) -> dict[str, WordSet]:
    if not isinstance(classes, Mapping) or len(classes) < 2:
        raise ValueError(
            f"{name} must map the names of two classes or more to lists of words, such as "
            f"{{'female': ['she', 'her'], 'male': ['he', 'him']}}; got {found(classes)}."
        )
    parts = {}
    for each, words in classes.items():
        checked = check_word_set(f"{name}[{each!r}]", words)
        parts[each] = known_words(model, checked, f"words of class {each!r}", at_least, **how)
    return parts


def class_columns(sets: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    sizes = sorted({len(part) for part in sets})
    if len(sizes) != 1:
        raise ValueError(
            "definitional_sets must have one word for each class, so the same number in every "
            f"set; got sets of {sizes} words."
        )
    return [tuple(dict.fromkeys(column)) for column in zip(*sets, strict=True)]


def as_criterion(criterion: Any) -> Criterion | None:
    loaded = criterion is None or isinstance(criterion, Criterion)
    return criterion if loaded else load_criterion(criterion)


def flattened(words: Any) -> list[str]:
    if isinstance(words, str):
        return [words]
    if isinstance(words, Mapping):
        words = list(words.values())
    if isinstance(words, list | tuple | set | frozenset | np.ndarray):
        return [word for part in words for word in flattened(part)]
    return []


def in_every_case(word: str) -> tuple[str, ...]:
    """Return a word as it is and in the cases in which pairs are equalized."""
    return word, word.lower(), word.title(), word.upper()


#: What happens to each row of a model: nothing (0), `_map_vectors` (1) or `_map_ignored` (2).
Fates: TypeAlias = npt.NDArray[np.int8]

# Rows that are changed at once: with their temporary arrays they fit into the cache.
_BLOCK_NUMBERS = 1 << 18


class WordDebias(BaseDebias):
    """Base class of methods that change some words of a model and leave the others alone."""

    #: Whether `fit` reads the whole vocabulary, not only the words it is given.
    _fit_reads_vocabulary: ClassVar[bool] = False
    #: The attribute with words that lose what makes them words of a class unless they are ignored.
    _class_words: ClassVar[str] = ""
    #: A method that maps words in `ignore` in a way of their own; None leaves them as they are.
    _map_ignored: ClassVar[Callable[[Any, FloatArray], FloatArray] | None] = None

    def _fit_subspace(
        self, model: WordEmbeddingModel, sets: Any, size: int | None
    ) -> list[tuple[str, ...]]:
        """Learn the bias subspace of definitional pairs or sets; return these as tuples."""
        name = "definitional_pairs" if size else "definitional_sets"
        checked = self._check_sets_size(sets, "definitional", size)
        complete = definitional_vectors(model, checked, name)
        by_word = [dict(zip(part.words, part.vectors, strict=True)) for part in complete]
        setattr(self, f"{name}_", checked)
        setattr(self, f"{name}_embeddings_", by_word)
        self.pca_ = self._identify_bias_subspace(by_word, self.verbose)
        self.bias_subspace_ = self.pca_.components_[: 1 if size else None]
        self.bias_direction_ = self.bias_subspace_[0]
        return checked

    @abstractmethod
    def _change(
        self, model: WordEmbeddingModel, into: FloatArray, fates: Fates
    ) -> tuple[Rows, int]:
        """Write the new vectors; return their rows, and how many could not change."""

    def _protected_words(self) -> Sequence[str]:
        """Words that never change, without the prefix of a model."""
        return ()

    def transform(
        self,
        model: WordEmbeddingModel,
        target: Sequence[str] | None = None,
        ignore: Sequence[str] | None = None,
        copy: bool = True,
    ) -> WordEmbeddingModel:
        check_is_fitted(self)
        fates = self._choose(model, target, ignore, copy)
        if target is None and hasattr(model, "snapshot"):
            logger.warning(
                "%s is an encoder: only the %d words looked up so far are mitigated. First take a "
                "snapshot of all words of interest",
                *(model.name, len(model)),
            )
        if not copy:
            model._check_writeable()
        result = model.copy() if copy else model
        rows, n_left = self._change(model, result.vectors, fates)
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

    def _choose(self, model: WordEmbeddingModel, target: Any, ignore: Any, copy: bool) -> Fates:
        """Return which rows change; log what may surprise."""
        self._check_transform_args(model, target, ignore, copy)
        ignored = [*rows_of(model, check_words("ignore", ignore)).values()]
        fates = np.zeros(model.table.n_rows, dtype=np.int8)
        if target is None:
            # gensim may have room for words to come.
            fates[: len(model.vocab)] = 1
            sets = getattr(self, self._class_words, ())
            if sets and not ignored:
                logger.warning(
                    "nothing is ignored, so words to which the class rightly belongs (%s) lose it "
                    "too. To keep them, pass them as ignore",
                    ", ".join(sorted({*flattened(sets)})[:4]),
                )
        else:
            fates[self._target(model, check_words("target", target))] = 1
        fates[[*rows_of(model, self._protected_words()).values()]] = 0
        fates[ignored] *= 0 if self._map_ignored is None else 2
        return fates

    def _target(self, model: WordEmbeddingModel, words: Sequence[str]) -> list[int]:
        model.prepare(words)
        rows = rows_of(model, words)
        if not rows:
            raise ValueError(
                f"{model.name} has none of the {len(words)} words in target; their case and "
                "spelling must be those of the vocabulary."
            )
        log_lost(model, [w for w in words if w not in rows], len(words), "words in target")
        if self._map_ignored is not None:
            logger.warning(
                "%s moves the words in target to another space, so cosines between them and other "
                "words mean little",
                type(self).__name__,
            )
        return [*rows.values()]


class RowwiseDebias(WordDebias):
    """Base class of methods that change each vector by itself.

    Define `fit`, which sets `dim_` (the number of dimensions), and `_map_vectors` (or let `fit` set
    `map_`, a function of vectors); `transform` and :func:`debias_file` follow from them. Optional
    hooks: `_protected_words` never change, `_map_ignored` maps ignored words, and `_settled`
    computes words that depend on each other, such as equalized pairs.

    Parameters
    ----------
    pca_args, verbose, criterion_name : optional
        See :class:`BaseDebias`.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> class Halving(RowwiseDebias):
    ...     def fit(self, model, **fit_params):
    ...         self.dim_, self.map_ = model.dim, lambda vectors: vectors / 2
    ...         return self
    >>> model = load_test_model()
    >>> bool((Halving().fit_transform(model)["nurse"] == model["nurse"] / 2).all())
    True
    """

    #: The map of all vectors that change; `fit` sets it, or a method defines `_map_vectors`.
    map_: Any

    def _map_vectors(self, vectors: FloatArray) -> FloatArray:
        """Return new vectors (n_words, dim) in the dtype of `vectors`, which must not change.

        `vectors` is float32 or float64, finite, and without zero rows.
        """
        return np.asarray(self.map_(vectors))

    def _words_to_fit(self, criterion: object = None, **given: Any) -> list[str]:
        """Return all words that `fit` looks up, in every case, so that only they are read."""
        words = flattened([self._words({}, criterion, **given), given])
        return list(dict.fromkeys(chain.from_iterable(map(in_every_case, words))))

    def _settled(self, model: WordEmbeddingModel, fates: Fates) -> dict[int, Vectors]:
        """Return new vectors, by row, of words that depend on each other, whatever `fates` say."""
        return {}

    def _change(
        self, model: WordEmbeddingModel, into: FloatArray, fates: Fates
    ) -> tuple[Rows, int]:
        settled = self._settled(model, fates)
        n_left = self._map(into, fates)
        for row, vector in settled.items():
            into[row], fates[row] = vector, 1
        return np.flatnonzero(fates), n_left

    def _map(self, vectors: FloatArray, fates: Fates) -> int:
        """Change vectors in place; return how many have no direction and stay."""
        n_left = 0
        for part in chunks(len(fates), max(1, _BLOCK_NUMBERS // vectors.shape[1])):
            if not fates[part].any():
                continue
            block, width = vectors[part], np.promote_types(vectors.dtype, np.float32)
            exact = block.astype(width, copy=False)
            with np.errstate(over="ignore", invalid="ignore"):
                squares = np.einsum("ij,ij->i", exact, exact)
            usual = (squares > np.finfo(width).tiny) & (squares < np.inf)
            for fate, function in ((1, self._map_vectors), (2, self._map_ignored)):
                mask = usual & (fates[part] == fate)
                if function is not None and mask.any():
                    # Of a mapped file, only pages that are written to take memory.
                    rows = slice(None) if mask.all() else np.flatnonzero(mask)
                    block[rows] = function(exact[rows])
            n_left += int((fates[part][~usual] > 0).sum())
        return n_left


def rows_of(model: WordEmbeddingModel, words: Sequence[str]) -> dict[str, int]:
    """Return the rows of those words that a model has, in their order."""
    form_of = dict(zip(words, forms(model, words), strict=True))
    # The keys are words that were read: so nothing is encoded, and no unread word is an error.
    known = model.vocab.keys() & set(form_of.values())
    return {word: model.vocab[form] for word, form in form_of.items() if form in known}


def log_left(n_left: int) -> None:
    if n_left:
        logger.warning("%d vectors do not change: their length is zero, NaN or infinite", n_left)
