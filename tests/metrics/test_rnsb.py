"""Relative Negative Sentiment Bias: the divergence, the classifier, seeds, and what is printed."""

import math

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from wefe import Query, WordEmbeddingModel
from wefe.metrics import RNSB, joint_negative_sentiment, negative_sentiment_correlation, rnsb
from wefe.running import measure

T1, T2, POSITIVE, NEGATIVE = "she woman", "he man", "home kids tree", "boss job pilot"

LIBLINEAR = {"solver": "liblinear", "max_iter": 10_000}
LBFGS = {"solver": "lbfgs", "max_iter": 10_000}
EXACT = {"solver": "liblinear", "tol": 1e-12, "max_iter": 100_000}

both_ways = pytest.mark.parametrize("holdout", [False, True])


@pytest.fixture
def query(query_of):
    return query_of([T1, T2], [POSITIVE, NEGATIVE])


@pytest.fixture(scope="session")
def sentiment():
    """Two overlapping clouds of 15 words each and six targets, so that hold-outs differ."""
    rng = np.random.default_rng(5)
    words = [f"{kind}{i}" for kind in "pnt" for i in range({"t": 6}.get(kind, 15))]
    vectors = rng.normal(size=(36, 8))
    vectors[:15, 0] += 1
    vectors[15:30, 0] -= 1
    query = Query(
        [words[30:33], words[33:]], [words[:15], words[15:30]], ["A", "B"], ["Good", "Bad"]
    )
    return query, WordEmbeddingModel((words, vectors), "sentiment")


@pytest.fixture(scope="session")
def run(sentiment):
    """Function from options to the result of the two clouds."""
    query, model = sentiment
    return lambda **options: RNSB().run_query(query, model, **options)


@pytest.fixture(scope="session")
def arrays(sentiment):
    """Vectors of targets and attributes, and the classes of the attributes."""
    query, model = sentiment
    targets, x = (model.get_vectors(a + b) for a, b in (query.target_sets, query.attribute_sets))
    return targets, x, np.repeat([1.0, -1.0], 15)


def probabilities_of(result):
    return list(result["negative_sentiment_probabilities"].values())


# Worked examples


@pytest.mark.parametrize(
    ("solver", "penalise_intercept", "line", "by_word", "score"),
    [
        (
            *("liblinear", True, [0.906433, -0.141550, -0.194511, 0.101708]),
            *([0.276802, 0.316428, 0.689000, 0.642015], 0.076539),
        ),
        (
            *("lbfgs", False, [0.906031, -0.185353, -0.239155, 0.213463]),
            *([0.257595, 0.296474, 0.669384, 0.619993], 0.083062),
        ),
    ],
)
def test_toy_example_with_both_objectives(
    solver, penalise_intercept, line, by_word, score, literal, vectors, toy
):
    sets = [vectors(words) for words in (POSITIVE, NEGATIVE)]
    w, b = literal.logistic_regression(*sets, penalise_intercept)
    assert [*w, b] == pytest.approx(line, abs=1e-5)
    exact = literal.negative_probabilities(vectors(f"{T1} {T2}"), *sets, penalise_intercept)
    assert exact == pytest.approx(by_word, abs=1e-6)
    assert rnsb(exact) == pytest.approx(score, abs=1e-6)
    # scikit-learn stops a little before the optimum.
    for more, error in (({}, 2e-5), ({"tol": 1e-10}, 1e-7)):
        options = {"estimator_params": {"solver": solver, **more}, "holdout": False}
        result = toy(RNSB, [T1, T2], [POSITIVE, NEGATIVE], **options)
        assert list(result["negative_sentiment_probabilities"]) == ["she", "woman", "he", "man"]
        assert probabilities_of(result) == pytest.approx(exact, abs=1e-4)
        assert result["rnsb"] == pytest.approx(rnsb(exact), abs=error)
    assert result.details["train_accuracy"] == [1.0]
    assert np.isnan(result.details["test_accuracy"]).all()


# Published figures

# female, woman, girl, sister, she, her, hers, daughter, male, man, boy, brother, he, him, his, son
PUBLISHED_PROBABILITIES = [
    0.581534, 0.289514, 0.167449, 0.136569, 0.406776, 0.386124, 0.279431, 0.103587,
    0.454925, 0.414333, 0.181504, 0.160708, 0.565627, 0.502566, 0.565775, 0.148030,
]  # fmt: skip
PUBLISHED_DISTRIBUTION = [
    10.8811, 5.4171, 3.1331, 2.5553, 7.6112, 7.2248, 5.2284, 1.9382,
    8.5121, 7.7526, 3.3961, 3.0070, 10.5834, 9.4035, 10.5862, 2.7698,
]  # fmt: skip
# Means over 500 runs.
NATIONAL_ORIGIN = [
    0.038654, 0.122664, 0.503841, 0.019140, 0.080741, 0.049876, 0.058043, 0.080309,
    0.121779, 0.229082, 0.783695, 0.227488, 0.487741, 0.027805, 0.007886,
]  # fmt: skip


def test_published_score_without_holdout(gender_family_career, word2vec):
    result = RNSB().run_query(gender_family_career, word2vec, holdout=False)
    assert result["rnsb"] == pytest.approx(0.12921977967420623, abs=2e-5)
    first, second = gender_family_career.target_sets
    for key, expected, factor in [
        ("negative_sentiment_probabilities", PUBLISHED_PROBABILITIES, 1),
        ("negative_sentiment_distribution", PUBLISHED_DISTRIBUTION, 100),
    ]:
        assert list(result[key]) == first + second
        found = [factor * value for value in result[key].values()]
        assert found == pytest.approx(expected, rel=1e-3)


# The divergence


@pytest.mark.parametrize(
    ("p", "expected"),
    [
        ([0.2, 0.3, 0.4, 0.1], 0.106440),
        ([0.3, 0.3, 0.2, 0.2], 0.020136),
        (PUBLISHED_PROBABILITIES, 0.129220),
        # 0.631312, which is printed with them, is the mean of 500 scores.
        (NATIONAL_ORIGIN, 0.560488),
        # No bias is not mistaken for a probability close to zero, whose share underflows.
        *(([1.0, 1.0, tiny], math.log(3 / 2)) for tiny in (1e-300, 5e-324)),
    ],
)
def test_divergence_of_given_probabilities(p, expected):
    assert rnsb(p) == pytest.approx(expected, abs=1e-6)
    with pytest.raises(ValueError, match="between 0 and 1"):
        rnsb([*p, 1.1])


def test_details_tell_every_iteration(sentiment, run):
    query, _ = sentiment
    result = run(n_iterations=6, random_state=1)
    groups = zip("AB", query.target_sets, strict=True)
    assert result.details["words"] == [(group, word) for group, words in groups for word in words]
    probabilities = result.details["probabilities"]
    # With a seed, too, hold-outs differ.
    assert np.unique(probabilities.round(9), axis=0).shape == (6, 6)
    assert [rnsb(row) for row in probabilities] == result.details["scores"]
    assert result["rnsb"] == pytest.approx(np.mean(result.details["scores"]))
    assert probabilities_of(result) == pytest.approx(probabilities.mean(axis=0))
    first, again = (run(n_iterations=2, random_state=np.random.default_rng(3)) for _ in range(2))
    assert first == again
    for share in ("train_accuracy", "test_accuracy"):
        assert len(result.details[share]) == 6
        assert all(0.5 <= accuracy <= 1 for accuracy in result.details[share])


# Classifiers

CLASSIFIERS = {
    "class": {"estimator": GaussianNB},
    "instance with parameters": {
        "estimator": KNeighborsClassifier(),
        "estimator_params": {"n_neighbors": 3},
    },
    "pipeline with a random part": {
        "estimator": make_pipeline(StandardScaler(), RandomForestClassifier(n_estimators=5))
    },
}


@both_ways
@pytest.mark.parametrize("options", CLASSIFIERS.values(), ids=CLASSIFIERS.keys())
def test_every_classifier_with_probabilities_will_do(options, holdout, run, arrays):
    result = run(holdout=holdout, random_state=0, **options)
    assert run(holdout=holdout, random_state=0, **options) == result
    assert 0 <= result["rnsb"] <= math.log(6)
    if options["estimator"] is GaussianNB and not holdout:
        targets, x, y = arrays
        expected = GaussianNB().fit(x, y).predict_proba(targets)[:, 0]
        assert probabilities_of(result) == pytest.approx(expected)


@both_ways
def test_default_is_the_optimum_of_the_problem_of_liblinear(holdout, run):
    options = {"holdout": holdout, "n_iterations": 4, "random_state": 2}
    default, exact = run(**options), run(**options, estimator_params=EXACT)
    found, expected = (result.details["probabilities"] for result in (default, exact))
    np.testing.assert_allclose(found, expected, atol=1e-7)
    assert default["rnsb"] == pytest.approx(exact["rnsb"], abs=1e-7)
    for share in ("train_accuracy", "test_accuracy"):
        assert default.details[share] == pytest.approx(exact.details[share], nan_ok=True)
    assert default.warnings == exact.warnings
    # scikit-learn's tolerance is looser.
    documented = run(**options, estimator_params=LIBLINEAR)
    assert default["rnsb"] == pytest.approx(documented["rnsb"], rel=2e-3)
    assert abs(run(**options, estimator_params=LBFGS)["rnsb"] - default["rnsb"]) > 1e-6


@both_ways
@pytest.mark.parametrize(
    "options",
    [
        {"estimator": LogisticRegression},
        {"estimator": LogisticRegression(**LIBLINEAR)},
        {"estimator_params": LIBLINEAR},
    ],
    ids=["class", "instance", "parameters"],
)
def test_an_estimator_gives_its_own_numbers_to_the_digit(options, holdout, run, arrays):
    result = run(holdout=holdout, random_state=3, **options)
    targets, x, y = arrays
    if holdout:
        x, test, y, y_test = train_test_split(x, y, test_size=0.2, stratify=y, random_state=3)
    trained = LogisticRegression(**LIBLINEAR, random_state=3).fit(x, y)
    p = trained.predict_proba(targets)[:, 0]
    assert probabilities_of(result) == p.tolist()
    assert result["rnsb"] == rnsb(p)
    assert result.details["train_accuracy"] == [trained.score(x, y)]
    if holdout:
        assert result.details["test_accuracy"] == [trained.score(test, y_test)]


def test_a_classifier_needs_probabilities(run):
    with pytest.raises(AttributeError, match="predict_proba"):
        run(estimator=LinearSVC, holdout=False)


class NeverNegative(GaussianNB):
    def predict_proba(self, x):
        return np.tile([0.0, 1.0], (len(x), 1))


def test_no_negative_word_at_all_is_nan_with_a_reason(run):
    result = run(estimator=NeverNegative, holdout=False)
    assert math.isnan(result["result"])
    assert "a probability of 0" in result.nan_reason
    assert probabilities_of(result) == [0.0] * 6


# Hold-out


def test_a_single_random_holdout_is_warned_about(sentiment, run):
    """By the seed alone, the default of one query went from 0.072 to 0.117."""
    query, model = sentiment
    scores = [run(random_state=seed)["rnsb"] for seed in range(5)]
    assert max(scores) > 1.2 * min(scores)
    (warning,) = run(random_state=0).warnings
    assert warning.startswith("one random hold-out")
    assert "n_iterations" in warning
    assert "holdout=False" in warning
    assert not run(n_iterations=3).warnings
    assert not run(holdout=False).warnings
    for audit in (False, True):
        row = measure(RNSB, [query], [model], audit=audit).loc[0]
        assert row["warnings"].startswith(warning)


@pytest.mark.parametrize(
    ("attributes", "found"),
    [
        (("home kids", "boss job tree"), "found 2 in the smaller set and 5 in all"),
        (("home", "boss job tree they folk nurse"), "found 1 in the smaller set and 7 in all"),
    ],
)
def test_too_few_words_for_a_holdout_are_nan_with_the_way_out(attributes, found, toy):
    """No error: a model that lost a few words must not stop a run over many models."""
    result = toy(RNSB, [T1, T2], attributes)
    assert math.isnan(result["rnsb"])
    assert result.nan_reason.endswith(f"{found}. Use holdout=False.")
    assert toy(RNSB, [T1, T2], attributes, holdout=False)["rnsb"] >= 0
    assert toy(RNSB, [T1, T2], ("home kids", "boss job tree they"))["rnsb"] >= 0


@pytest.mark.parametrize("length", [1e8, 1e20, 1e150])
def test_vectors_too_long_to_train_on_are_nan_with_the_way_out(length, sentiment):
    """Products in single precision would overflow."""
    query, model = sentiment
    long = WordEmbeddingModel((list(model.vocab), length * model.wv.vectors), "long")
    result = RNSB().run_query(query, long, holdout=False)
    assert math.isnan(result["rnsb"])
    assert "normalize=True" in result.nan_reason
    assert RNSB().run_query(query, long, holdout=False, normalize=True)["rnsb"] > 0


def test_model_evaluation_is_printed_on_request_only(run, capsys):
    run(random_state=0)
    assert capsys.readouterr().out == ""
    run(random_state=0, print_model_evaluation=True, n_iterations=2)
    printed = capsys.readouterr().out
    assert printed.count("precision    recall  f1-score   support") == 2
    assert "-1.0" in printed
    run(holdout=False, print_model_evaluation=True)
    assert capsys.readouterr().out == ""


# Correlation of negative sentiment, and its namesake


@pytest.fixture
def three_repetitions(query, toy_model):
    """A result with the predictions of the worked example in place of its own."""
    result = RNSB().run_query(query, toy_model, holdout=False)
    result.details["probabilities"] = np.array(
        [[0.2, 0.3, 0.4, 0.1], [0.3, 0.3, 0.2, 0.2], [0.25, 0.35, 0.5, 0.1]]
    )
    return result


def test_correlation_over_three_repetitions(three_repetitions):
    matrix = negative_sentiment_correlation(three_repetitions)
    assert list(matrix.index) == list(matrix.columns) == ["she", "woman", "he", "man"]
    upper = matrix.to_numpy()[np.triu_indices(4, 1)]
    assert upper == pytest.approx([0, -0.654654, 0.866025, 0.755929, -0.5, -0.944911], abs=1e-6)
    assert np.diag(matrix) == pytest.approx(np.ones(4))
    assert matrix.to_numpy() == pytest.approx(matrix.to_numpy().T)
    # A word that varies by rounding only has no correlation.
    three_repetitions.details["probabilities"][:, 1] = [0.3, 0.3 + 1e-16, 0.3]
    matrix = negative_sentiment_correlation(three_repetitions)
    assert matrix["woman"].isna().all()
    assert matrix.loc["woman"].isna().all()
    assert matrix.drop(index="woman", columns="woman").notna().to_numpy().all()
    three_repetitions.details["probabilities"] = three_repetitions.details["probabilities"][:2]
    assert negative_sentiment_correlation(three_repetitions).loc["she", "he"] == pytest.approx(-1)


def test_joint_negative_sentiment_is_an_outer_product(three_repetitions):
    p = np.array([0.2, 0.3, 0.4, 0.1])
    three_repetitions.details["probabilities"] = p[None]
    matrix = joint_negative_sentiment(three_repetitions)
    assert list(matrix.columns) == ["she", "woman", "he", "man"]
    assert matrix.to_numpy() == pytest.approx(np.outer(p, p))
