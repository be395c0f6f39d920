"""Relative Negative Sentiment Bias (Sweeney and Najafian, ACL 2019)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from wefe._checks import as_seed, check_array, found, progress_bar
from wefe._wordset import Vectors, Weights, WordSets
from wefe.embeddings import Lookup, UnanswerableError
from wefe.metrics._base import BaseMetric, distinct_sizes
from wefe.metrics._declaration import Count, Measurement, RandomState, Scale
from wefe.metrics._exchange import TestType
from wefe.metrics._logistic import fit_cases, sigmoid, weight_matrix, with_intercept
from wefe.metrics._registry import register
from wefe.query import Query
from wefe.results import MetricResult

if TYPE_CHECKING:
    import pandas as pd

_Mask: TypeAlias = npt.NDArray[np.bool_]
# Coefficients or probabilities, predicted classes and held-out words: one row per iteration.
_Iterations: TypeAlias = tuple[Vectors, Vectors, _Mask]

# liblinear, as documented: it penalises the intercept, so lbfgs gives other digits. Without any
# parameters its problem is solved in wefe.metrics._logistic, to the optimum.
_DEFAULT_PARAMS = {"solver": "liblinear", "max_iter": 10_000}
_TEST_SHARE = 0.2
_ONE_HOLDOUT = (
    "one random hold-out: this score depends on the seed; use n_iterations=100 or holdout=False"
)


def rnsb(negative_probabilities: npt.ArrayLike) -> float:
    """Relative negative sentiment bias of given probabilities.

    Parameters
    ----------
    negative_probabilities : array-like of shape (n_words,)
        Probability of each target word to belong to the second (negative) attribute set.

    Returns
    -------
    float
        Kullback-Leibler divergence of the normalised probabilities P from the uniform distribution,
        ``sum(P * ln(P * n_words))``, in [0, ln n_words]. 0 if all words are equally negative,
        however negative they are. nan if all probabilities are 0.

    Examples
    --------
    >>> rnsb([0.2, 0.3, 0.4, 0.1])
    0.106440
    """
    p = check_array("negative_probabilities", negative_probabilities, "(n_words,)")
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError(
            "negative_probabilities must be numbers between 0 and 1; got "
            f"{found(negative_probabilities)}."
        )
    return float(_divergence(p, np.ones(len(p))))


@np.errstate(divide="ignore", invalid="ignore")
def _divergence(p: Vectors, weights: Vectors) -> Vectors:
    """RNSB of the words in each row, which count by their weights; NaN if all are 0."""
    shares = p / (weights * p).sum(axis=-1, keepdims=True)
    n_words = weights.sum(axis=-1, keepdims=True)
    # x ln x is 0 at 0, also where the division underflows.
    terms = weights * shares * np.log(np.where(shares > 0, shares * n_words, 1))
    return np.asarray(terms.sum(axis=-1).clip(min=0))


@register
class RNSB(BaseMetric):
    """Relative Negative Sentiment Bias: how unevenly is negative sentiment spread over words?

    A classifier learns to tell the first attribute set (positive words) from the second (negative
    words). Every target word then gets a probability of being negative. RNSB (:func:`rnsb`) is the
    divergence of these probabilities from the uniform distribution, from 0 (no bias measured) to ln
    m for m target words. With a hold-out, the documented default, it depends on which words are
    held out: use a `random_state` and several `n_iterations`, or ``holdout=False``.
    Source: Sweeney and Najafian, "A Transparent Framework for Evaluating Unintended Demographic
    Bias in Word Embeddings", ACL 2019.

    The result has 'rnsb' (the score), 'negative_sentiment_probabilities' (word -> probability) and
    'negative_sentiment_distribution' (the same, normalised). A word in two target sets counts
    twice, but appears once in the dictionaries. With several iterations 'rnsb' is the mean of the
    scores, not the score of the mean probabilities. `details` has 'words' (set and word),
    'probabilities' (iteration x word), and per iteration 'scores', 'train_accuracy' and
    'test_accuracy' (in [0, 1]; NaN without a hold-out). The score is NaN if too few words are left
    for a hold-out (2 per attribute set, 6 in all), or if vectors have values above 1e7, which the
    default classifier cannot use.

    Parameters
    ----------
    estimator : scikit-learn classifier class or instance, optional
        A classifier with `predict_proba`; wrap others: ``CalibratedClassifierCV(LinearSVC())``. By
        default the exact optimum of what LogisticRegression solves with liblinear, which penalises
        the intercept.
    estimator_params : mapping, optional
        Parameters of the classifier. They replace the defaults for LogisticRegression, ``{"solver":
        "liblinear", "max_iter": 10000}``, as a whole.
    n_iterations : int, default=1
        Number of trainings, each with its own seed; scores and probabilities are averaged.
    random_state : int, Generator or None, default=None
        Seed of the hold-out and of the classifier, unless the classifier already has one.
    holdout : bool, default=True
        Train on a stratified 80 % of the attribute words, and evaluate the classifier on the rest.
        False: train on all, which involves no randomness by default.
    print_model_evaluation : bool, default=False
        Print scikit-learn's classification report for the held-out words.
    p_value_iterations : int, default=199
        Number of random exchanges of words between the attribute sets; each needs a training.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> query = Query([["irish"], ["german"]], [["love", "peace"], ["hatred", "war"]])
    >>> RNSB().run_query(query, load_test_model(), holdout=False)["negative_sentiment_distribution"]
    {'irish': 0.4961, 'german': 0.5039}
    """

    metric_template = ("n", 2)
    metric_template_minimum = (2, 2)
    metric_name = "Relative Negative Sentiment Bias"
    metric_short_name = "RNSB"
    question = "how unevenly is negative sentiment spread over the target words?"
    meaning = "How unevenly a classifier spreads negative sentiment over the target words."
    null_exchange = "attributes"
    audit_findings = frozenset({"small-attribute-difference", "common-lean"})
    value_range = (0.0, math.inf)
    nan_values = {  # noqa: RUF012
        "rnsb": math.nan,
        "negative_sentiment_probabilities": {},
        "negative_sentiment_distribution": {},
    }
    subset_params = {"holdout": False}  # noqa: RUF012

    estimator: Any = None
    estimator_params: Mapping[str, Any] | None = None
    n_iterations: Count = 1
    random_state: RandomState = None
    holdout: bool = True
    print_model_evaluation: bool = False
    p_value_test_type: TestType = "two-sided"
    p_value_iterations: Count = 199

    def _scale(self, query: Query | None, lookup: Lookup) -> Scale:
        sizes = distinct_sizes(query, lookup, "target_sets")
        return Scale("RNSB", (0.0, math.log(sum(sizes)) if sizes else math.inf), 0.0)

    def _report_params(self, own: Mapping[str, Any], **test: Any) -> dict[str, Any]:
        # With a single training, a random hold-out only adds noise.
        return {"holdout": own.get("n_iterations", 1) != 1, "random_state": test["random_state"]}

    @property
    def _is_default(self) -> bool:
        return self.estimator is None and self.estimator_params is None

    def _scores(self, targets: WordSets, attributes: WordSets) -> Vectors:
        if not self._is_default or self.holdout:
            return super()._scores(targets, attributes)
        coefficients = fit_cases(*_training_data(attributes), [w.weights for w in attributes])
        vectors = np.concatenate([part.vectors for part in targets])
        probabilities = _negative_probabilities(coefficients, vectors)
        return _divergence(probabilities, weight_matrix([words.weights for words in targets]))

    def _compute(self, targets: WordSets, attributes: WordSets) -> Measurement:
        words = [(part.name, word) for part in targets for word in part.words]
        vectors = np.concatenate([part.vectors for part in targets])
        x, y = _training_data(attributes)
        probabilities, predicted, held_out = self._train(x, y, vectors)
        if self.print_model_evaluation and self.holdout:
            from sklearn.metrics import classification_report

            for labels, test in zip(predicted, held_out, strict=True):
                print(classification_report(y[test], labels[test], zero_division=0))
        scores = _divergence(probabilities, np.ones(len(words)))
        forms, mean = [word for _, word in words], probabilities.mean(axis=0)
        score, shares = float(scores.mean()), mean / (mean.sum() or math.nan)
        details = {
            "words": words,
            "probabilities": probabilities,
            "scores": scores.tolist(),
            "train_accuracy": _accuracies(predicted == y, ~held_out),
            "test_accuracy": _accuracies(predicted == y, held_out),
        }
        once = self.holdout and self.n_iterations == 1
        return self._measured(
            score,
            details,
            warnings=(_ONE_HOLDOUT,) * once,
            negative_sentiment_probabilities=dict(zip(forms, mean.tolist(), strict=True)),
            negative_sentiment_distribution=dict(zip(forms, shares.tolist(), strict=True)),
        )

    def _why_undefined(self, targets: WordSets, attributes: WordSets) -> str:
        return "the classifier gives every target word a probability of 0"

    def _train(self, x: Vectors, y: Vectors, vectors: Vectors) -> _Iterations:
        """Return probabilities of being negative, predicted classes, and held-out words."""
        seeds = _seeds(self.random_state, self.n_iterations)
        words = np.arange(len(y))
        trained = [_trained(y, seed) if self.holdout else words for seed in seeds]
        held_out = np.array([~np.isin(words, own) for own in trained])
        if self._is_default:
            coefficients = fit_cases(x, y, [Weights(~held_out)])
            predicted = np.where(coefficients @ with_intercept(x).T > 0, 1.0, -1.0)
            return _negative_probabilities(coefficients, vectors), predicted, held_out
        probabilities, predicted = (np.empty((len(seeds), len(part))) for part in (vectors, y))
        with progress_bar(len(seeds), "RNSB", "fit", show=len(seeds) > 1) as bar:
            for row, (seed, own) in enumerate(zip(seeds, trained, strict=True)):
                classifier = _make_classifier(self.estimator, self.estimator_params, seed)
                classifier.fit(x[own], y[own])
                predicted[row] = classifier.predict(x)
                negative = list(classifier.classes_).index(-1.0)
                probabilities[row] = classifier.predict_proba(vectors)[:, negative]
                bar.update()
        return probabilities, predicted, held_out


def negative_sentiment_correlation(result: MetricResult) -> pd.DataFrame:
    """Pearson correlation between the negative sentiment of target words, over iterations.

    Parameters
    ----------
    result : MetricResult
        A result of RNSB with a hold-out and at least two `n_iterations`.

    Returns
    -------
    DataFrame of shape (n_words, n_words)
        As in section 4.2 of the paper, in [-1, 1]; NaN for a word with a constant probability.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> query = Query([["irish"], ["german"]], [["love", "peace", "joy"], ["hate", "war", "fear"]])
    >>> result = RNSB().run_query(query, load_test_model(), n_iterations=10, random_state=0)
    >>> negative_sentiment_correlation(result).columns.tolist()
    ['irish', 'german']
    """
    probabilities = result.details["probabilities"]
    if len(probabilities) < 2:
        more = f"n_iterations=100, say (this result has {len(probabilities)})"
        raise ValueError(f"a correlation needs several predictions per word; run RNSB with {more}.")
    with np.errstate(invalid="ignore", divide="ignore"):
        matrix = np.atleast_2d(np.corrcoef(probabilities, rowvar=False))
    # A constant word would otherwise correlate through its rounding noise.
    constant = np.ptp(probabilities, axis=0) < 1e-12
    matrix[constant[:, None] | constant] = math.nan
    return _word_matrix(result, matrix)


def joint_negative_sentiment(result: MetricResult) -> pd.DataFrame:
    """Products of the normalised negative sentiment of every two target words.

    Parameters
    ----------
    result : MetricResult
        A result of RNSB.

    Returns
    -------
    DataFrame of shape (n_words, n_words)
        As in figure 4 of the authors' notebook: at least 0, with a sum of 1; large if both words
        are negative. It is no correlation.

    Examples
    --------
    >>> vectors = [[[1.0, 0.0]], [[0.0, 1.0]]]
    >>> result = RNSB().run_vectors(vectors, vectors, holdout=False)
    >>> float(joint_negative_sentiment(result).to_numpy().sum())
    1.0
    """
    mean = result.details["probabilities"].mean(axis=0)
    distribution = mean / mean.sum()
    return _word_matrix(result, np.outer(distribution, distribution))


def _word_matrix(result: MetricResult, matrix: Vectors) -> pd.DataFrame:
    import pandas as pd

    words = [word for _, word in result.details["words"]]
    return pd.DataFrame(matrix, index=words, columns=words)


def _seeds(random_state: int | np.random.Generator | None, n_iterations: int) -> Any:
    if isinstance(random_state, int) and n_iterations == 1:
        return [random_state]
    # None draws fresh entropy; scikit-learn would take NumPy's global generator instead.
    return np.random.SeedSequence(as_seed(random_state)).generate_state(n_iterations).tolist()


def _make_classifier(estimator: Any, params: Mapping[str, Any] | None, seed: int) -> Any:
    from sklearn.base import clone
    from sklearn.linear_model import LogisticRegression

    if estimator is None:
        estimator = LogisticRegression
    if params is None:
        params = _DEFAULT_PARAMS if estimator is LogisticRegression else {}
    classifier = estimator(**params) if isinstance(estimator, type) else estimator
    classifier = clone(classifier).set_params(**params)
    # The parts of a pipeline have seeds too: 'svc__random_state'.
    params = {name: value for name, value in classifier.get_params().items() if value is None}
    return classifier.set_params(
        **{name: seed for name in params if name.split("__")[-1] == "random_state"}
    )


def _training_data(classes: WordSets) -> tuple[Vectors, Vectors]:
    labels = np.repeat([1.0, -1.0], [len(part) for part in classes])
    return np.concatenate([part.vectors for part in classes]), labels


def _trained(y: Vectors, seed: int) -> npt.NDArray[Any]:
    """Return the words to train on; the others are held out."""
    from sklearn.model_selection import train_test_split

    words, smallest = np.arange(len(y)), int(min((y > 0).sum(), (y < 0).sum()))
    # 20 % of 6 words, rounded up, is one of each set.
    if smallest < 2 or len(y) < 6:
        raise UnanswerableError(
            "the hold-out needs at least 2 words per attribute set and 6 in all; found "
            f"{smallest} in the smaller set and {len(y)} in all. Use holdout=False."
        )
    split = train_test_split(words, test_size=_TEST_SHARE, stratify=y, random_state=seed)
    return np.asarray(split[0])


def _accuracies(correct: _Mask, rows: _Mask) -> list[float]:
    """Share of the rows that are correct in each iteration; NaN without any."""
    with np.errstate(invalid="ignore"):
        shares: list[float] = ((correct & rows).sum(axis=1) / rows.sum(axis=1)).tolist()
    return shares


def _negative_probabilities(coefficients: Vectors, vectors: Vectors) -> Vectors:
    return sigmoid(-coefficients @ with_intercept(vectors).T)
