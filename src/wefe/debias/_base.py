"""What every mitigation method shares: fit, transform, and what their arguments mean."""

from __future__ import annotations

import inspect
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import is_dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from wefe._checks import (
    check_bool,
    check_number,
    check_positive_int,
    check_sequence,
    check_share,
    check_word_set,
    found,
    nearest,
)
from wefe.datasets import Criterion, load_criterion
from wefe.embeddings import definitional_vectors
from wefe.metrics._parameters import check_parameters
from wefe.models._word_embedding_model import WordEmbeddingModel, check_model

if TYPE_CHECKING:
    from sklearn.decomposition import PCA

    from wefe.embeddings import EmbeddingDict

logger = logging.getLogger(__name__)

DEFAULT_PCA_ARGS: Mapping[str, Any] = {"n_components": 10}


def check_positive(name: str, value: object) -> float:
    """Return `value` as a finite float above 0."""
    number = check_number(name, value, 0)
    if number:
        return number
    raise ValueError(f"{name} must be above 0; got {found(value)}.")


def _optional(check: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    return lambda name, value: None if value is None else check(name, value)


#: What parameters may be: the fields of a method that is a dataclass are checked by `fit`.
OptionalCount: TypeAlias = Annotated[int | None, _optional(check_positive_int)]
NotNegative: TypeAlias = Annotated[float, partial(check_number, at_least=0)]
Positive: TypeAlias = Annotated[float, check_positive]
OptionalShare: TypeAlias = Annotated[float | None, _optional(check_share)]


class BaseDebias(BaseEstimator, ABC):  # type: ignore[misc]
    """Base class of the mitigation methods: `fit` learns, `transform` changes vectors.

    The conventions are those of scikit-learn: parameters of the constructor are only stored, what
    `fit` learns has a name that ends with an underscore, `fit` returns the object, and
    ``sklearn.base.clone`` copies it.

    Parameters
    ----------
    pca_args : dict, optional
        Arguments of the principal component analysis that finds the bias subspace;
        ``{"n_components": 10}`` by default.
    verbose : bool, default=False
        Print what is done; it is logged at level INFO where that is on, otherwise at DEBUG.
    criterion_name : str, optional
        For example 'gender'. The mitigated model is called 'MODEL_gender_debiased'.

    See Also
    --------
    RowwiseDebias : The base class of methods that change each vector by itself.
    wefe.debias.compare : What a method gained, what it cost, and what it left.

    Notes
    -----
    A method of your own defines `fit` and `transform`; one that changes every vector by itself,
    whatever the others are, is written as a :class:`RowwiseDebias` in a few lines.

    Examples
    --------
    A method that looks at all vectors at once, as a :class:`RowwiseDebias` cannot:

    >>> import numpy as np
    >>> from wefe import WordEmbeddingModel
    >>> from wefe.debias import BaseDebias
    >>> class Centring(BaseDebias):
    ...     def fit(self, model, **fit_params):
    ...         return self
    ...
    ...     def transform(self, model, target=None, ignore=None, copy=True):
    ...         result = model.copy(f"{model.name}_centred") if copy else model
    ...         words = list(result.vocab if target is None else target)
    ...         words = [word for word in words if word not in (ignore or ())]
    ...         result.batch_update(words, result.get_vectors(words) - model.vectors.mean(axis=0))
    ...         return result
    >>> model = WordEmbeddingModel((["she", "he"], np.array([[1.0, 0.0], [3.0, 2.0]])), "toy")
    >>> centred = Centring().fit_transform(model)
    >>> centred.name, centred["she"], model["she"]
    ('toy_centred', array([-1., -1.]), array([1., 0.]))
    """

    #: Parameter of `fit` -> attribute of a `Criterion` that it is taken from.
    _from_criterion: ClassVar[Mapping[str, str]] = {}

    def __init__(
        self,
        pca_args: dict[str, Any] | None = None,
        verbose: bool = False,
        criterion_name: str | None = None,
    ) -> None:
        self.pca_args = pca_args
        self.verbose = verbose
        self.criterion_name = criterion_name

    @abstractmethod
    def fit(self, model: WordEmbeddingModel, **fit_params: Any) -> BaseDebias:
        """Learn the transformation.

        Parameters
        ----------
        model : WordEmbeddingModel
            The model to learn from.
        **fit_params
            The word sets of the method.

        Returns
        -------
        BaseDebias
            The method itself.
        """

    @abstractmethod
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
            The model to change.
        target : sequence of str, optional
            The words whose vectors change; all words by default. Words that the model lacks are
            counted and logged.
        ignore : sequence of str, optional
            Words that keep their vectors, also where they are in `target`; none by default. Two
            exceptions, both as published: words of sets that are equalized, and what
            DoubleHardDebias takes out of all words.
        copy : bool, default=True
            True leaves `model` as it is. False changes its vectors, and its name.

        Returns
        -------
        WordEmbeddingModel
            The mitigated model: `model` itself if `copy` is False.
        """

    def fit_transform(
        self,
        model: WordEmbeddingModel,
        target: Sequence[str] | None = None,
        ignore: Sequence[str] | None = None,
        copy: bool = True,
        **fit_params: Any,
    ) -> WordEmbeddingModel:
        """Fit, and transform the same model.

        Parameters
        ----------
        model : WordEmbeddingModel
            The model to learn from and to change.
        target : sequence of str, optional
            The words whose vectors change; all words by default. See :meth:`transform`.
        ignore : sequence of str, optional
            Words that keep their vectors; none by default. A method that learns from the whole
            vocabulary leaves them out there as well.
        copy : bool, default=True
            True leaves `model` as it is. False changes its vectors, and its name.
        **fit_params
            The word sets of the method, or ``criterion="gender"``: see :meth:`fit`.

        Returns
        -------
        WordEmbeddingModel
            The mitigated model: `model` itself if `copy` is False.
        """
        if "ignore" in inspect.signature(self.fit).parameters:
            fit_params.setdefault("ignore", ignore)
        return self.fit(model, **fit_params).transform(model, target, ignore, copy)

    # For authors of methods

    def _check_sets_size(
        self, sets: Sequence[Sequence[str]], set_name: str, size: int | None = 2
    ) -> list[tuple[str, ...]]:
        """Return sets of words as tuples.

        Parameters
        ----------
        sets : sequence of sequences of str
            The sets.
        set_name : str
            What they are called in messages: 'definitional' for definitional pairs.
        size : int or None, default=2
            Number of words that each must have; None for two or more.
        """
        kind = "pairs" if size == 2 else "sets"
        name = f"{set_name}_{kind}"
        checked = []
        for position, words in enumerate(check_sequence(name, sets)):
            part = check_word_set(f"{name}[{position}]", words)
            if (size is None and len(part) < 2) or (size is not None and len(part) != size):
                wanted = "two or more words" if size is None else f"{size} words"
                hint = (
                    " Methods for more than two classes (MulticlassHardDebias, "
                    "LinearProjection, ...) take definitional_sets."
                    if size == 2 < len(part)
                    else ""
                )
                raise ValueError(
                    f"{name}[{position}] must have {wanted}; it has {len(part)} "
                    f"({', '.join(part)}).{hint}"
                )
            if len(set(part)) < len(part):
                raise ValueError(
                    f"{name}[{position}] repeats a word ({', '.join(part)}); its words stand for "
                    "different classes."
                )
            checked.append(part)
        return checked

    def _check_transform_args(
        self, model: WordEmbeddingModel, target: object, ignore: object, copy: object
    ) -> None:
        """Refuse arguments of `transform` that are of another type."""
        check_model(model)
        if target is not None and not _words("target", target):
            raise ValueError("target is empty, so nothing would change; None stands for all words.")
        _words("ignore", ignore)
        check_bool("copy", copy)

    def _identify_bias_subspace(
        self, definitional_embeddings: Sequence[EmbeddingDict | Any], verbose: bool = False
    ) -> PCA:
        """Find the directions along which the members of definitional sets differ.

        Parameters
        ----------
        definitional_embeddings : sequence of dict or of ndarray of shape (n_words, dim)
            The vectors of each definitional set.
        verbose : bool, default=False
            Log the variance explained at level INFO.

        Returns
        -------
        sklearn.decomposition.PCA
            Fitted on the vectors, each set centred on its own mean (Bolukbasi et al. 2016).
            Its components point from the second to the first words. There are never more of them
            than the sets span: further ones would be rounding noise.
        """
        from wefe.debias._projection import principal_components

        vectors = [
            np.stack(list(part.values())) if isinstance(part, dict) else np.asarray(part)
            for part in definitional_embeddings
        ]
        pca_args = DEFAULT_PCA_ARGS if self.pca_args is None else self.pca_args
        if not isinstance(pca_args, Mapping):
            raise TypeError(
                "pca_args must be a dict of arguments of scikit-learn's PCA, such as "
                f"{{'n_components': 1}}; got {found(pca_args)}."
            )
        pca = principal_components(vectors, pca_args)
        report(
            verbose,
            "explained variance ratios of the bias subspace: %s",
            np.array2string(pca.explained_variance_ratio_, precision=3),
        )
        return pca

    # For the methods of this package

    def __sklearn_is_fitted__(self) -> bool:
        learned = (name for name in vars(self) if name.endswith("_") and name[0] != "_")
        # The name is there before anything is learned.
        return any(name != "criterion_name_" for name in learned)

    def _fit_words(self, criterion: object, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the word sets to fit with: those given, the others from the criterion."""
        checked = as_criterion(criterion)
        name = self.criterion_name
        if name is not None and not isinstance(name, str):
            raise TypeError(f"criterion_name must be a string; got {found(name)}.")
        check_bool("verbose", self.verbose)
        if is_dataclass(self):
            check_parameters(self)
        # A fit that fails leaves an unfitted method, not one that is half another.
        for learned in [name for name in vars(self) if name.endswith("_") and name[0] != "_"]:
            delattr(self, learned)
        self.criterion_name_ = self.criterion_name or (checked.name if checked else None)
        words = dict(given)
        for parameter, attribute in self._from_criterion.items():
            if words.get(parameter) is None and checked is not None:
                words[parameter] = getattr(checked, attribute)
        return words

    def _words(
        self, fit_params: Mapping[str, Any], criterion: object, *required: str, **given: Any
    ) -> dict[str, Any]:
        """Return what `_fit_words` does, once the arguments of `fit` are checked."""
        self._refuse_unknown(fit_params)
        words = self._fit_words(criterion, given)
        self._require(words, *required)
        return words

    def _fit_subspace(
        self,
        model: WordEmbeddingModel,
        words: Mapping[str, Any],
        name: str,
        n_components: int | None = None,
    ) -> None:
        """Learn the bias subspace of 'definitional_pairs' or 'definitional_sets'."""
        sets = self._check_sets_size(
            words[name], "definitional", 2 if name == "definitional_pairs" else None
        )
        complete = definitional_vectors(model, sets, name)
        setattr(self, f"{name}_", sets)
        by_word = [dict(zip(part.words, part.vectors, strict=True)) for part in complete]
        setattr(self, f"{name}_embeddings_", by_word)
        self.pca_ = self._identify_bias_subspace([part.vectors for part in complete], self.verbose)
        self.bias_subspace_ = self.pca_.components_[:n_components]
        self.bias_direction_ = self.bias_subspace_[0]

    def _require(self, words: Mapping[str, Any], *parameters: str) -> None:
        for parameter in parameters:
            if words.get(parameter) is None:
                raise TypeError(
                    f"{type(self).__name__}.fit needs {parameter}, or a criterion "
                    "('gender', or a Criterion with word sets of yours)."
                )

    def _refuse_unknown(self, fit_params: Mapping[str, Any]) -> None:
        # A misspelt word set would otherwise be silently left out.
        if fit_params:
            known = [
                name
                for name in inspect.signature(self.fit).parameters
                if name not in ("model", "fit_params")
            ]
            name = next(iter(fit_params))
            raise TypeError(
                f"{type(self).__name__}.fit has no parameter {name!r}; it has "
                f"{', '.join(known)}.{nearest(name, known)}"
            )

    def _name_of_mitigated(self, model: WordEmbeddingModel) -> str:
        criterion = getattr(self, "criterion_name_", self.criterion_name)
        return "_".join([model.name, *([criterion] if criterion else []), "debiased"])

    def _check_dim(self, model: WordEmbeddingModel) -> None:
        if model.dim != self.dim_:
            raise ValueError(
                f"{type(self).__name__} was fitted on vectors of {self.dim_} dims; {model.name} "
                f"has {model.dim}. Fit it on this model."
            )

    def _log(self, message: str, *args: Any) -> None:
        report(self.verbose, message, *args)


def report(verbose: bool, message: str, *args: Any) -> None:
    """Log a message at level INFO if `verbose`, and print it where nobody listens to that."""
    logger.log(logging.INFO if verbose else logging.DEBUG, message, *args)
    if verbose and not logger.isEnabledFor(logging.INFO):
        print(message % args)


def check_words(name: str, words: object) -> tuple[str, ...]:
    """Return words for `target` or `ignore` as a tuple; None is no words."""
    return tuple(_words(name, words))


def _words(name: str, words: object) -> Collection[str]:
    if words is None:
        return ()
    if isinstance(words, set | frozenset):
        words = sorted(words, key=str)
    sequence = check_sequence(name, words)
    return check_word_set(name, sequence) if len(sequence) else ()


def log_lost(model: WordEmbeddingModel, lost: Sequence[str], n_words: int, called: str) -> None:
    """Warn of words that a model lacks."""
    if lost:
        listed = ", ".join(lost[:10]) + (", ..." if len(lost) > 10 else "")
        logger.warning(
            "%s lacks %d of the %d %s: %s", model.name, len(lost), n_words, called, listed
        )


def as_written(model: WordEmbeddingModel) -> str:
    """Say how words are looked up, as the end of a message."""
    prefix = f", behind the prefix {model.vocab_prefix!r}" if model.vocab_prefix else ""
    return f"They are looked up as written{prefix}."


def class_columns(sets: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Return the words of each class, each once, from definitional sets with a word for each."""
    sizes = sorted({len(part) for part in sets})
    if len(sizes) != 1:
        raise ValueError(
            "definitional_sets must have one word for each class, so the same number in every "
            f"set; got sets of {sizes} words."
        )
    return [tuple(dict.fromkeys(column)) for column in zip(*sets, strict=True)]


def as_criterion(criterion: object) -> Criterion | None:
    """Return a criterion, loaded if it is a name or a file."""
    if criterion is None or isinstance(criterion, Criterion):
        return criterion
    return load_criterion(criterion)  # type: ignore[arg-type]


def flattened(words: Any) -> list[str]:
    """Return all strings in nested lists, tuples and the values of mappings."""
    if isinstance(words, str):
        return [words]
    if isinstance(words, Mapping):
        words = list(words.values())
    if isinstance(words, list | tuple | set | frozenset | np.ndarray):
        return [word for part in words for word in flattened(part)]
    return []


def in_every_case(word: str) -> tuple[str, ...]:
    """Return a word as it is, and in the cases in which pairs are equalised."""
    return word, word.lower(), word.title(), word.upper()
