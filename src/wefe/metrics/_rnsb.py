"""Relative Negative Sentiment Bias (Sweeney and Najafian, ACL 2019)."""

from __future__ import annotations

import hashlib
import logging
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from wefe._checks import check_array, check_bool, check_random_state, found
from wefe._progress import progress_bar
from wefe._wordset import Nested, Ones, Vectors, Weights, WordSet, n_cases_of, word_sets
from wefe.embeddings import Lookup
from wefe.metrics._base import BaseMetric, Measurement, Scale, distinct_sizes
from wefe.metrics._logistic import LogisticFits, sigmoid
from wefe.metrics._parameters import Count, RandomState
from wefe.metrics._registry import register
from wefe.query import Query
from wefe.results import MetricResult

if TYPE_CHECKING:
    import pandas as pd

logger = logging.getLogger(__name__)

# liblinear, as documented: it penalises the intercept, so lbfgs gives other digits.
_DEFAULT_PARAMS = {"solver": "liblinear", "max_iter": 10_000}
_TEST_SHARE = 0.2
_ONE_HOLDOUT = (
    "one random hold-out: with other seeds this score varies; use n_iterations=100 or holdout=False"
)


def rnsb(negative_probabilities: npt.ArrayLike) -> float:
    """Relative negative sentiment bias of given probabilities.

    Blind to a common level: if all words are equally negative it is 0, however negative they are.

    Parameters
    ----------
    negative_probabilities : array-like of shape (n_words,)
        For each target word, the probability of belonging to the second (negative) attribute set.

    Returns
    -------
    float
        Kullback-Leibler divergence (natural logarithm) of the normalised probabilities P from the
        uniform distribution, ``sum(P * ln(P * n_words))``, in [0, ln n_words]; 0 if all words are
        equally negative. nan if all probabilities are 0.

    Raises
    ------
    ValueError
        If there is no probability, or one is not between 0 and 1.

    See Also
    --------
    wefe.metrics.negative_sentiment_probabilities : where they come from.

    References
    ----------
    Sweeney and Najafian, "A Transparent Framework for Evaluating Unintended Demographic Bias in
    Word Embeddings", ACL 2019, section 3.3.

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
    total = p.sum()
    if total == 0:
        return math.nan
    share = p / total
    share = share[share > 0]  # x ln x is 0 at 0, also where the division underflows
    return max(0.0, float((share * np.log(share * len(p))).sum()))


def negative_sentiment_probabilities(
    words: npt.ArrayLike,
    positive: npt.ArrayLike,
    negative: npt.ArrayLike,
    estimator: Any = None,
    estimator_params: Mapping[str, Any] | None = None,
    holdout: bool = False,
    random_state: int | np.random.Generator | None = None,
) -> Vectors:
    """Probability of each word to belong to the negative set, by a classifier trained on both.

    Parameters
    ----------
    words, positive, negative : array-like of shape (n_words, dim)
        Target words; first and second attribute set, as they are: lengths matter.
    estimator : scikit-learn classifier class or instance, optional
        It must have `predict_proba`. By default LogisticRegression.
    estimator_params : mapping, optional
        Parameters of the classifier. By default, for LogisticRegression,
        ``{"solver": "liblinear", "max_iter": 10000}``.
    holdout : bool, default=False
        Train on a stratified 80 % of the attribute words, which needs 2 words per set and 6 in all.
        (:class:`RNSB` does so by default, as documented.)
    random_state : int, Generator or None, default=None
        Seed of the hold-out and of the classifier, if it takes one and has none.

    Returns
    -------
    ndarray of shape (n_words,)
        Probabilities, in [0, 1], of the class of `negative`.

    Raises
    ------
    TypeError
        If `estimator` is no classifier with `predict_proba`, or `estimator_params` no mapping.
    ValueError
        If an array is empty or not finite, the dimensions do not fit, or there are too few words
        for a hold-out.

    See Also
    --------
    wefe.metrics.rnsb : makes a score of them.

    References
    ----------
    Sweeney and Najafian, ACL 2019, section 3.3.

    Examples
    --------
    >>> good, bad = [[1.0, 0.0], [1.0, 0.1]], [[-1.0, 0.0], [-1.0, 0.1]]
    >>> p = negative_sentiment_probabilities([[0.5, 0.0], [-0.5, 0.0]], good, bad)
    >>> bool(p[0] < 0.5 < p[1])
    True
    """
    (seed,) = _seeds(check_random_state(random_state), 1)
    check_bool("holdout", holdout)
    classifier = _make_classifier(estimator, estimator_params, seed)
    measured, *classes = (
        part.vectors for part in word_sets(words=words, positive=positive, negative=negative)
    )
    x, y = _training_data(*classes)
    fitted, _, _ = _fit(classifier, x, y, holdout=holdout, random_state=seed)
    return _predict_negative(fitted, measured)


class _Fit(NamedTuple):
    """A trained classifier and how well it does."""

    classifier: Any
    train_accuracy: float
    test_accuracy: float


@register
class RNSB(BaseMetric):
    """Relative Negative Sentiment Bias.

    A classifier learns to tell the first attribute set (positive words) from the second (negative
    words). Every target word gets a probability of being negative; RNSB is the divergence of
    these, normalised, from the uniform distribution: from 0, no bias measured, to ln m for m target
    words. :func:`rnsb` is that last step.

    With a hold-out, the default as documented, the score depends on which words are held out: give
    a `random_state` and several `n_iterations`, or ``holdout=False``.

    Parameters
    ----------
    estimator : scikit-learn classifier class or instance, optional
        It must have `predict_proba`. By default LogisticRegression.
    estimator_params : mapping, optional
        Parameters of the classifier. By default, for LogisticRegression,
        ``{"solver": "liblinear", "max_iter": 10000}``, which what is given replaces as a whole.
    n_iterations : int, default=1
        Train this many times, each time with a seed of its own derived from `random_state`,
        and average scores and probabilities. Meaningful with `holdout`.
    random_state : int, Generator or None, default=None
        Makes hold-out and classifier reproducible. A `random_state` that the estimator has
        already stays.
    holdout : bool, default=True
        Train on a stratified 80 % of the attribute words and keep 20 % to evaluate the
        classifier. False trains on all: with the default classifier there is no randomness.
    print_model_evaluation : bool, default=False
        Print scikit-learn's classification report on the words held out.

    Notes
    -----
    The result has 'rnsb' (the score), 'negative_sentiment_probabilities' (word -> probability) and
    'negative_sentiment_distribution' (the same, normalised). A word in two target sets counts
    twice, though the dictionaries can name it only once. With several iterations 'rnsb' is the mean
    of the scores, not the score of the mean probabilities. `details` has 'words' (set and word),
    'probabilities' (iteration x word), 'scores', 'train_accuracy' and 'test_accuracy' (one per
    iteration, in [0, 1]; of the words held out NaN without a hold-out). The score is NaN if too few
    words are left for a hold-out (2 per attribute set, 6 in all). `warnings` says if the score
    depends on one random hold-out.

    References
    ----------
    Sweeney and Najafian, "A Transparent Framework for Evaluating Unintended Demographic Bias in
    Word Embeddings", ACL 2019.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> from wefe.datasets import load_weat
    >>> words = load_weat()
    >>> query = Query(
    ...     [["swedish"], ["mexican"], ["german"]], [words["pleasant_5"], words["unpleasant_5"]]
    ... )
    >>> result = RNSB().run_query(query, load_test_model(), holdout=False)
    >>> sum(result["negative_sentiment_distribution"].values())
    1.0
    """

    metric_template = ("n", 2)
    metric_template_minimum = (2, 2)
    metric_name = "Relative Negative Sentiment Bias"
    metric_short_name = "RNSB"
    question = "how unevenly is negative sentiment spread over the target words?"
    meaning = (
        "A classifier learns positive and negative words; how unevenly the probability of "
        "being negative is spread over the target words (Kullback-Leibler divergence from "
        "even)."
    )
    reference = (
        "C. Sweeney and M. Najafian. A Transparent Framework for Evaluating Unintended "
        "Demographic Bias in Word Embeddings. ACL 2019."
    )
    null_exchange = "attribute words between the two sets, with the classifier trained again"
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

    # Fits of the latest training data, by their seeds; copies of a metric share them.
    _kept: ClassVar[Any] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        vars(self).setdefault("_kept", {})

    def _scale(self, query: Query | None, lookup: Lookup) -> Scale:
        sizes = None if query is None else distinct_sizes(query.target_sets, lookup)
        return Scale("RNSB", (0.0, math.inf if sizes is None else math.log(sum(sizes))), 0.0)

    def report_params(
        self, own: Mapping[str, Any], random_state: int, p_value_test_type: str
    ) -> dict[str, Any]:
        # Of one training, a part of the words left out at random would only be noise.
        return {"holdout": own.get("n_iterations", 1) != 1, "random_state": random_state}

    def _fits_of(self, x: Vectors, y: Vectors) -> dict[int, _Fit]:
        """Return the fits by seed that were made of this training data, if it was the latest."""
        content = hashlib.blake2b(x.tobytes(), digest_size=16)
        content.update(y.tobytes())
        key = (content.digest(), self.holdout)
        kept: dict[Any, dict[int, _Fit]] = vars(self)["_kept"]
        if key not in kept:
            kept.clear()
            kept[key] = {}
        return kept[key]

    @property
    def _is_default(self) -> bool:
        return self.estimator is None and self.estimator_params is None

    def _scores(self, targets: Sequence[WordSet], attributes: Sequence[WordSet]) -> Vectors:
        if not self._is_default or self.holdout:
            return super()._scores(targets, attributes)
        vectors = np.concatenate([part.vectors for part in targets])
        probabilities = _probabilities_by_case(vectors, attributes)
        ends = np.cumsum([len(part) for part in targets])[:-1]
        parts = np.split(probabilities, ends, axis=1)
        by_set = list(zip(targets, parts, strict=True))
        mass = sum(part.sum(p) for part, p in by_set)
        entropy = sum(part.sum(p * np.log(np.where(p == 0, 1, p))) for part, p in by_set)
        n_words = sum(part.total for part in targets)
        with np.errstate(divide="ignore", invalid="ignore"):
            # sum(s ln(s n)) with s = p / mass.
            scores = entropy / mass - np.log(mass) + np.log(n_words)
        return np.where(np.isfinite(scores), np.maximum(scores, 0.0), math.nan)

    def _compute(self, targets: Sequence[WordSet], attributes: Sequence[WordSet]) -> Measurement:
        random_state = self.random_state
        words = [(part.name, word) for part in targets for word in part.words]
        vectors = np.concatenate([part.vectors for part in targets])
        x, y = _training_data(*(part.vectors for part in attributes))
        too_few = _too_few_to_hold_out(y) if self.holdout else None
        if too_few is not None:
            return self._undefined(too_few)
        probabilities = np.empty((self.n_iterations, len(words)))
        train_accuracy, test_accuracy = [], []
        # The documented classifier is the same for every query with these attribute words, and it
        # is small; others may hold all their training data.
        default = self._is_default
        if default and not self.holdout and random_state is None:
            random_state = 0  # liblinear's optimum depends on no seed
        # Fresh seeds never come again: keeping their fits would only fill the memory.
        keep = default and isinstance(random_state, int) and not self.print_model_evaluation
        fits = self._fits_of(x, y) if keep else {}
        with progress_bar(self.n_iterations, "RNSB", "fit", show=self.n_iterations > 1) as bar:
            for iteration, seed in enumerate(_seeds(random_state, self.n_iterations)):
                fit = fits.get(seed)
                if fit is None:
                    classifier = _make_classifier(self.estimator, self.estimator_params, seed)
                    fitted, train, test = _fit(
                        classifier, x, y, holdout=self.holdout, random_state=seed
                    )
                    accuracy = math.nan if test is None else float(fitted.score(*test))
                    fits[seed] = fit = _Fit(fitted, float(fitted.score(*train)), accuracy)
                    if self.print_model_evaluation:
                        _print_evaluation(fitted, test)
                train_accuracy.append(fit.train_accuracy)
                test_accuracy.append(fit.test_accuracy)
                probabilities[iteration] = _predict_negative(fit.classifier, vectors)
                bar.update()
        scores = [rnsb(row) for row in probabilities]
        score = float(np.mean(scores))
        mean = probabilities.mean(axis=0)
        distribution = mean / mean.sum() if mean.sum() > 0 else np.full(len(mean), math.nan)
        named = [word for _, word in words]
        return Measurement(
            {
                "result": score,
                "rnsb": score,
                "negative_sentiment_probabilities": dict(zip(named, mean.tolist(), strict=True)),
                "negative_sentiment_distribution": dict(
                    zip(named, distribution.tolist(), strict=True)
                ),
            },
            "the classifier gives every target word a probability of 0"
            if math.isnan(score)
            else None,
            {
                "words": words,
                "probabilities": probabilities,
                "scores": scores,
                "train_accuracy": train_accuracy,
                "test_accuracy": test_accuracy,
            },
            (_ONE_HOLDOUT,) if self.holdout and self.n_iterations == 1 else (),
        )


def negative_sentiment_correlation(result: MetricResult) -> pd.DataFrame:
    """Pearson correlation between target words of their negative sentiment over iterations.

    What section 4.2 of the paper describes. It needs several predictions per word, so run RNSB
    with `n_iterations` of two or more and a hold-out.

    Parameters
    ----------
    result : MetricResult
        A result of RNSB.

    Returns
    -------
    DataFrame of shape (n_words, n_words)
        Rows and columns are the target words; in [-1, 1], NaN for a word whose probability never
        varied.

    Raises
    ------
    TypeError
        If `result` is none of RNSB, or is NaN.
    ValueError
        If it has fewer than two iterations.

    See Also
    --------
    wefe.metrics.joint_negative_sentiment : what the authors plotted.

    References
    ----------
    Sweeney and Najafian, ACL 2019, section 4.2.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> from wefe.datasets import load_weat
    >>> words = load_weat()
    >>> query = Query([["irish"], ["german"]], [words["pleasant_5"], words["unpleasant_5"]])
    >>> result = RNSB().run_query(query, load_test_model(), n_iterations=10, random_state=0)
    >>> negative_sentiment_correlation(result).columns.tolist()
    ['irish', 'german']
    """
    probabilities = _details(result)["probabilities"]
    if len(probabilities) < 2:
        raise ValueError(
            "a correlation needs two or more predictions per word; run RNSB with n_iterations=100, "
            f"say (this result has {len(probabilities)})."
        )
    with np.errstate(invalid="ignore", divide="ignore"):
        matrix = np.atleast_2d(np.corrcoef(probabilities, rowvar=False))
    # A constant word would otherwise correlate through its rounding noise.
    constant = np.ptp(probabilities, axis=0) < 1e-12
    matrix[constant] = math.nan
    matrix[:, constant] = math.nan
    return _word_matrix(result, matrix)


def joint_negative_sentiment(result: MetricResult) -> pd.DataFrame:
    """Products of the normalised negative sentiment of every two target words.

    What the authors' released notebook plots as figure 4: the outer product of the distribution
    with itself. It is large where two words are both negative, and it is no correlation.

    Parameters
    ----------
    result : MetricResult
        A result of RNSB.

    Returns
    -------
    DataFrame of shape (n_words, n_words)
        Rows and columns are the target words; non-negative, and all entries sum to 1.

    Raises
    ------
    TypeError
        If `result` is none of RNSB, or is NaN.

    See Also
    --------
    wefe.metrics.negative_sentiment_correlation : a correlation.

    References
    ----------
    Sweeney and Najafian, ACL 2019, figure 4.

    Examples
    --------
    >>> from wefe import Query, load_test_model
    >>> from wefe.datasets import load_weat
    >>> words = load_weat()
    >>> query = Query([["irish"], ["german"]], [words["pleasant_5"], words["unpleasant_5"]])
    >>> result = RNSB().run_query(query, load_test_model(), holdout=False)
    >>> float(joint_negative_sentiment(result).to_numpy().sum())
    1.0
    """
    mean = _details(result)["probabilities"].mean(axis=0)
    distribution = mean / mean.sum()
    return _word_matrix(result, np.outer(distribution, distribution))


def _details(result: MetricResult) -> Mapping[str, Any]:
    details: Mapping[str, Any] = getattr(result, "details", {})
    if "probabilities" not in details:
        raise TypeError(f"this takes a result of RNSB that is no NaN; got {found(result)}.")
    return details


def _word_matrix(result: MetricResult, matrix: Vectors) -> pd.DataFrame:
    import pandas as pd

    words = [word for _, word in result.details["words"]]
    return pd.DataFrame(matrix, index=words, columns=words)


def _seeds(random_state: int | np.random.Generator | None, n_iterations: int) -> list[int]:
    if isinstance(random_state, np.random.Generator):
        return [int(seed) for seed in random_state.integers(2**32, size=n_iterations)]
    if random_state is not None and n_iterations == 1:
        return [random_state]
    # None draws fresh entropy; scikit-learn would take NumPy's global generator instead.
    return [int(seed) for seed in np.random.SeedSequence(random_state).generate_state(n_iterations)]


def _make_classifier(estimator: Any, params: Mapping[str, Any] | None, seed: int) -> Any:
    if estimator is None:
        from sklearn.linear_model import LogisticRegression

        estimator = LogisticRegression
    if params is not None and not isinstance(params, Mapping):
        raise TypeError(f"estimator_params must be a dict of parameters; got {found(params)}.")
    if isinstance(estimator, type):
        if params is None:
            is_default = estimator.__name__ == "LogisticRegression"
            params = _DEFAULT_PARAMS if is_default else {}
        classifier = estimator(**params)
    elif not hasattr(estimator, "get_params"):
        raise TypeError(
            "estimator must be a scikit-learn classifier, a class or an instance; got "
            f"{found(estimator)}."
        )
    else:
        from sklearn.base import clone

        classifier = clone(estimator).set_params(**(params or {}))
    if not hasattr(classifier, "fit") or not hasattr(classifier, "predict_proba"):
        raise TypeError(
            "estimator must be a scikit-learn classifier with predict_proba (wrap others: "
            f"CalibratedClassifierCV(LinearSVC())); got {found(estimator)}."
        )
    # The parts of a pipeline have seeds too: 'svc__random_state'.
    unseeded = [
        name
        for name, value in getattr(classifier, "get_params", dict)().items()
        if name.split("__")[-1] == "random_state" and value is None
    ]
    return classifier.set_params(**dict.fromkeys(unseeded, seed)) if unseeded else classifier


def _training_data(positive: Vectors, negative: Vectors) -> tuple[Vectors, Vectors]:
    labels = np.repeat([1.0, -1.0], [len(positive), len(negative)])
    return np.concatenate([positive, negative]), labels


def _too_few_to_hold_out(y: Vectors) -> str | None:
    smallest = int(min((y > 0).sum(), (y < 0).sum()))
    # 20 % of 6 words, rounded up, is one of each set.
    if smallest >= 2 and len(y) >= 6:
        return None
    return (
        "the hold-out needs at least 2 words per attribute set and 6 in all; found "
        f"{smallest} in the smaller set and {len(y)} in all. Use holdout=False."
    )


def _fit(
    classifier: Any, x: Vectors, y: Vectors, *, holdout: bool, random_state: int
) -> tuple[Any, tuple[Vectors, Vectors], tuple[Vectors, Vectors] | None]:
    if not holdout:
        return classifier.fit(x, y), (x, y), None
    too_few = _too_few_to_hold_out(y)
    if too_few is not None:
        raise ValueError(too_few)
    from sklearn.model_selection import train_test_split

    x_train, x_test, y_train, y_test = train_test_split(
        x, y, test_size=_TEST_SHARE, stratify=y, shuffle=True, random_state=random_state
    )
    return classifier.fit(x_train, y_train), (x_train, y_train), (x_test, y_test)


def _predict_negative(classifier: Any, vectors: Vectors) -> Vectors:
    column = list(classifier.classes_).index(-1.0)
    return np.asarray(classifier.predict_proba(vectors)[:, column], dtype=np.float64)


def _probabilities_by_case(vectors: Vectors, attributes: Sequence[WordSet]) -> Vectors:
    """Negative sentiment of words in each case: (n_cases, n_words); NaN where a class is empty."""
    fits = LogisticFits(*_training_data(*(part.vectors for part in attributes)))
    words = np.column_stack([vectors, np.ones(len(vectors))])
    weights = [part.weights for part in attributes]
    n_cases = n_cases_of(attributes)
    result = np.empty((n_cases, len(words)))
    shapes = {(each.n_runs, len(each.sizes)) for each in weights if isinstance(each, Nested)}
    if len(shapes) == 1 and all(isinstance(each, Nested | Ones) for each in weights):
        ((n_runs, n_steps),) = shapes
        entries = np.concatenate([_entries(each, n_runs) for each in weights], axis=1)
        by_step = result.reshape(n_runs, n_steps, len(words))
        for runs, steps, coefficients in fits.fit_growing(entries, n_steps):
            by_step[runs, steps] = sigmoid(-coefficients @ words.T)
        return result

    def numbers(cases: slice) -> Vectors:
        shape = (cases.stop - cases.start, 1)
        parts = [
            each.matrix(cases) if each.n_cases > 1 else np.tile(each.matrix(), shape)
            for each in weights
        ]
        return np.concatenate(parts, axis=1)

    for cases, coefficients in fits.fit_each(numbers, n_cases):
        result[cases] = sigmoid(-coefficients @ words.T)
    empty = np.minimum(*(each.totals for each in weights)) == 0
    result[np.broadcast_to(empty, n_cases)] = math.nan
    return result


def _entries(weights: Weights, n_runs: int) -> npt.NDArray[np.intp]:
    """Step in which each run gets each word: (n_runs, n_words)."""
    if not isinstance(weights, Nested):
        return np.zeros((n_runs, weights.n_words), dtype=np.intp)
    places = np.argsort(weights.orders, axis=1)
    return np.searchsorted(weights.sizes, places, side="right")


def _print_evaluation(classifier: Any, test: tuple[Vectors, Vectors] | None) -> None:
    if test is None:
        print("No words were held out (holdout=False), so the classifier was not evaluated.")
        return
    from sklearn.metrics import classification_report

    x, y = test
    print(classification_report(y, classifier.predict(x), zero_division=0))
