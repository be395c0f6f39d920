"""Relative Negative Sentiment Bias (Sweeney and Najafian, ACL 2019)."""

from __future__ import annotations

import hashlib
import logging
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np
import numpy.typing as npt

from wefe._checks import check_bool, check_positive_int, check_random_state, found
from wefe._progress import progress_bar
from wefe.embeddings import EmbeddedSet, Lookup
from wefe.metrics._base import BaseMetric, Measurement, Scale, distinct_sizes
from wefe.metrics._geometry import Vectors, as_vectors
from wefe.metrics._logistic import LogisticFits, sigmoid
from wefe.metrics._registry import register
from wefe.metrics._word_counts import Nested, Once, WordCounts, n_cases_of
from wefe.models._word_embedding_model import WordEmbeddingModel
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
    p = np.asarray(negative_probabilities, dtype=np.float64)
    if p.ndim != 1 or len(p) == 0 or not ((p >= 0) & (p <= 1)).all():
        raise ValueError(
            "negative_probabilities must be a non-empty list of numbers between 0 and 1; got "
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
    classifier = _make_classifier(estimator, estimator_params, seed)
    x, y = _training_data(positive, negative)
    fitted, _, _ = _fit(classifier, x, y, holdout=holdout, random_state=seed)
    return _predict_negative(fitted, as_vectors("words", words))


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
    value_range = (0.0, math.inf)
    nan_values = {  # noqa: RUF012
        "rnsb": math.nan,
        "negative_sentiment_probabilities": {},
        "negative_sentiment_distribution": {},
    }

    _params_for_subsets = {"holdout": False}  # noqa: RUF012

    # What the fits of the latest training data are kept under, and these by seed.
    _latest: tuple[tuple[bytes, bool], dict[int, _Fit]] | None = None

    def run_query(
        self,
        query: Query,
        model: WordEmbeddingModel,
        estimator: Any = None,
        estimator_params: Mapping[str, Any] | None = None,
        n_iterations: int = 1,
        random_state: int | np.random.Generator | None = None,
        holdout: bool = True,
        print_model_evaluation: bool = False,
        **lookup: Unpack[Lookup],
    ) -> MetricResult:
        """Measure a model with RNSB.

        Parameters
        ----------
        query : Query
            Two or more target sets, and two attribute sets: first the positive words, then the
            negative ones.
        model : WordEmbeddingModel
            The model to be measured.
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
        **lookup
            How words are looked up, see :class:`wefe.embeddings.Lookup`.

        Returns
        -------
        MetricResult
            'query_name', 'result', 'rnsb', 'negative_sentiment_probabilities' (word ->
            probability) and 'negative_sentiment_distribution' (the same, normalised). A word in
            two target sets counts twice, though the dictionaries can name it only once. With
            several iterations 'rnsb' is the mean of the scores, not the score of the mean
            probabilities. `details` has 'words' (set and word), 'probabilities' (iteration x
            word), 'scores', 'train_accuracy' and 'test_accuracy' (one per iteration, in [0, 1]; of
            the words held out NaN without a hold-out). 'rnsb' is NaN if too few words are left for
            a hold-out (2 per attribute set, 6 in all). `warnings` says if the score depends on one
            random hold-out.

        Raises
        ------
        TypeError
            If `query` or `model` is something else, an option is unknown or of a wrong type, or
            `estimator` is no classifier with `predict_proba`.
        ValueError
            If the query has not two or more target sets and two attribute sets, or an option has no
            such value.
        UnusableVectorError
            If a word of the query has a zero or non-finite vector.
        """
        return self._run(
            query,
            model,
            lookup,
            estimator=estimator,
            estimator_params=estimator_params,
            n_iterations=check_positive_int("n_iterations", n_iterations),
            random_state=check_random_state(random_state),
            holdout=check_bool("holdout", holdout),
            print_model_evaluation=check_bool("print_model_evaluation", print_model_evaluation),
        )

    def _fits_of(self, x: Vectors, y: Vectors, holdout: bool) -> dict[int, _Fit]:
        """Return the fits by seed that were made of this training data, if it was the latest."""
        content = hashlib.blake2b(x.tobytes(), digest_size=16)
        content.update(y.tobytes())
        key = (content.digest(), holdout)
        if self._latest is None or self._latest[0] != key:
            self._latest = (key, {})
        return self._latest[1]

    def scale(self, query: Query | None = None, **params: Any) -> Scale:
        """Say how scores are to be read: at most ln m for m target words.

        Parameters
        ----------
        query : Query, optional
            The number of its target words, m, bounds the score; a word in two sets counts twice.
        **params
            Parameters that `run_query` is called with; `strategy` matters.

        Returns
        -------
        Scale
            Label 'RNSB', in [0, ln m], without a query unbounded above; 0 means that no bias was
            measured.
        """
        sizes = None if query is None else distinct_sizes(query.target_sets, params)
        return Scale("RNSB", (0.0, math.inf if sizes is None else math.log(sum(sizes))), 0.0)

    def _compute(
        self,
        targets: Sequence[EmbeddedSet],
        attributes: Sequence[EmbeddedSet],
        *,
        estimator: Any,
        estimator_params: Mapping[str, Any] | None,
        n_iterations: int,
        random_state: int | np.random.Generator | None,
        holdout: bool,
        print_model_evaluation: bool,
    ) -> Measurement:
        words = [(part.name, word) for part in targets for word in part.words]
        vectors = np.concatenate([part.vectors for part in targets])
        x, y = _training_data(*(part.vectors for part in attributes))
        too_few = _too_few_to_hold_out(y) if holdout else None
        if too_few is not None:
            return self._undefined(too_few)
        probabilities = np.empty((n_iterations, len(words)))
        train_accuracy, test_accuracy = [], []
        # The documented classifier is the same for every query with these attribute words, and it
        # is small; others may hold all their training data.
        default = estimator is None and estimator_params is None
        if default and not holdout and random_state is None:
            random_state = 0  # liblinear's optimum depends on no seed
        # Fresh seeds never come again: keeping their fits would only fill the memory.
        keep = default and isinstance(random_state, int) and not print_model_evaluation
        fits = self._fits_of(x, y, holdout) if keep else {}
        with progress_bar(n_iterations, "RNSB", "fit", show=n_iterations > 1) as bar:
            for iteration, seed in enumerate(_seeds(random_state, n_iterations)):
                fit = fits.get(seed)
                if fit is None:
                    classifier = _make_classifier(estimator, estimator_params, seed)
                    fitted, train, test = _fit(classifier, x, y, holdout=holdout, random_state=seed)
                    accuracy = math.nan if test is None else float(fitted.score(*test))
                    fits[seed] = fit = _Fit(fitted, float(fitted.score(*train)), accuracy)
                    if print_model_evaluation:
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
            (_ONE_HOLDOUT,) if holdout and n_iterations == 1 else (),
        )

    def _compute_cases(
        self,
        targets: Sequence[EmbeddedSet],
        attributes: Sequence[EmbeddedSet],
        counts: Sequence[WordCounts],
        **params: Any,
    ) -> Vectors:
        """Score many variants of a query at once; see `BaseMetric._compute_cases`.

        The default classifier without a hold-out is fitted for all cases together, and to the
        optimum. liblinear, which `run_query` uses, stops before it at its default tolerance. That
        shows in the third digit after the point with thousands of words. To compare subsets with
        the full lists, score these here as well: one `Once` for each set gives one case. Another
        classifier, or a hold-out, means one training per case and iteration.
        """
        other = ("estimator", "estimator_params", "holdout", "print_model_evaluation")
        if any(params[name] not in (None, False) for name in other):
            return super()._compute_cases(targets, attributes, counts, **params)
        of_targets, of_attributes = counts[: len(targets)], counts[len(targets) :]
        vectors = np.concatenate([part.vectors for part in targets])
        probabilities = _probabilities_by_case(vectors, attributes, of_attributes)
        ends = np.cumsum([len(part) for part in targets])[:-1]
        sums, entropies, totals = [], [], []
        for p, count in zip(np.split(probabilities, ends, axis=1), of_targets, strict=True):
            sums.append(count.sums_by_case(p))
            entropies.append(count.sums_by_case(p * np.log(np.where(p == 0, 1, p))))
            totals.append(count.totals)
        mass, n_words = sum(sums), sum(totals)
        with np.errstate(divide="ignore", invalid="ignore"):
            # sum(s ln(s n)) with s = p / mass.
            scores = sum(entropies) / mass - np.log(mass) + np.log(n_words)
        scores = np.where(np.isfinite(scores), np.maximum(scores, 0.0), math.nan)
        return np.broadcast_to(scores, n_cases_of(counts)).copy()


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


def _training_data(positive: npt.ArrayLike, negative: npt.ArrayLike) -> tuple[Vectors, Vectors]:
    first, second = as_vectors("positive", positive), as_vectors("negative", negative)
    x = np.concatenate([first, second])
    return x, np.concatenate([np.ones(len(first)), -np.ones(len(second))])


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


def _probabilities_by_case(
    vectors: Vectors, attributes: Sequence[EmbeddedSet], counts: Sequence[WordCounts]
) -> Vectors:
    """Negative sentiment of words in each case: (n_cases, n_words); NaN where a class is empty."""
    fits = LogisticFits(*_training_data(*(part.vectors for part in attributes)))
    words = np.column_stack([vectors, np.ones(len(vectors))])
    n_cases = n_cases_of(counts)
    result = np.empty((n_cases, len(words)))
    shapes = {(each.n_runs, len(each.sizes)) for each in counts if isinstance(each, Nested)}
    if len(shapes) == 1 and all(isinstance(each, Nested | Once) for each in counts):
        ((n_runs, n_steps),) = shapes
        entries = np.concatenate([_entries(each, n_runs) for each in counts], axis=1)
        by_step = result.reshape(n_runs, n_steps, len(words))
        for runs, steps, weights in fits.fit_growing(entries, n_steps):
            by_step[runs, steps] = sigmoid(-weights @ words.T)
        return result

    def numbers(cases: slice) -> Vectors:
        shape = (cases.stop - cases.start, 1)
        parts = [
            each.matrix(cases) if each.n_cases > 1 else np.tile(each.matrix(), shape)
            for each in counts
        ]
        return np.concatenate(parts, axis=1)

    for cases, weights in fits.fit_each(numbers, n_cases):
        result[cases] = sigmoid(-weights @ words.T)
    empty = np.minimum(*(each.totals for each in counts)) == 0
    result[np.broadcast_to(empty, n_cases)] = math.nan
    return result


def _entries(counts: WordCounts, n_runs: int) -> npt.NDArray[np.intp]:
    """Step in which each run gets each word: (n_runs, n_words)."""
    if not isinstance(counts, Nested):
        return np.zeros((n_runs, counts.n_words), dtype=np.intp)
    places = np.argsort(counts.orders, axis=1)
    return np.searchsorted(counts.sizes, places, side="right")


def _print_evaluation(classifier: Any, test: tuple[Vectors, Vectors] | None) -> None:
    if test is None:
        print("No words were held out (holdout=False), so the classifier was not evaluated.")
        return
    from sklearn.metrics import classification_report

    x, y = test
    print(classification_report(y, classifier.predict(x), zero_division=0))
