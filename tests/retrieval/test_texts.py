"""The user's own texts with exchanged group words, and names: frequency and matching."""

import itertools

import numpy as np
import pytest

from wefe.retrieval import compare_documents, exchange_group_words, match_names


@pytest.mark.parametrize(
    ("text", "female", "male"),
    [
        ("He likes his job.", "She likes her job.", "He likes his job."),
        ("SHE knows her.", "SHE knows her.", "HE knows him."),
        ("This is hers, not his.", "This is hers, not hers.", "This is his, not his."),
        ("Himself an uncle", "Herself an aunt", "Himself an uncle"),
        ("The theme of mankind", "The theme of mankind", "The theme of mankind"),
    ],
)
def test_group_words_are_exchanged_in_both_directions(text, female, male):
    assert exchange_group_words([text]) == ([female], [male])


def test_own_pairs_replace_the_shipped_ones():
    assert exchange_group_words(["She is French."], [("French", "German")]) == (
        ["She is French."],
        ["She is German."],
    )


def test_pairs_of_documents_are_tested_by_all_exchanges_of_signs():
    texts = [f"She is number {i}." for i in range(7)] + ["No group here."]
    first, second = exchange_group_words(texts)
    values = np.random.default_rng(0).normal(size=(2, 14))
    known = [*first[:7], *second[:7]]

    def rerank(queries, documents):
        rows = [int(query == "two") for query in queries]
        return values[rows, [known.index(text) for text in documents]]

    found = compare_documents(rerank, ["one", "two"], first, second, reranker=True)
    differences = values[:, :7] - values[:, 7:]
    for row, own in zip(found.itertuples(), [differences.mean(axis=0), *differences], strict=True):
        signs = np.array(list(itertools.product([-1, 1], repeat=7)))
        extreme = np.abs(signs @ own) >= abs(own.sum()) - 1e-12
        assert row.p_value == pytest.approx(extreme.mean())
        assert row.gap == pytest.approx(own.mean())
        assert row.share_first == pytest.approx((own > 0).mean())
    assert found["n_documents"].tolist() == [7, 7, 7]
    assert found["p_value_holm"].isna().tolist() == [True, False, False]


def test_texts_without_group_words_cannot_be_compared():
    with pytest.raises(ValueError, match="1 and 1 documents, of which 0 differ"):
        compare_documents(lambda texts: np.eye(len(texts)), ["q"], ["same"], ["same"])


def test_matching_finds_the_best_pairs_of_all():
    generator = np.random.default_rng(3)
    names = {"a": [f"a{i}" for i in range(4)], "b": [f"b{i}" for i in range(5)]}
    frequency = {name: generator.uniform(2, 6) for own in names.values() for name in own}

    def cost(ones, others):
        return sum(abs(frequency[a] - frequency[b]) for a, b in zip(ones, others, strict=True))

    best = min(cost(names["a"], own) for own in itertools.permutations(names["b"], 4))
    assert cost(*match_names(names, frequency, caliper=10).values()) == pytest.approx(best)


def test_names_beyond_the_caliper_are_left_out_of_all_groups():
    names = {"a": ["x", "y"], "b": ["p", "q"], "c": ["s", "t"]}
    frequency = dict(zip("xypqst", (4.0, 2.0, 4.1, 3.9, 2.1, 4.2), strict=True))
    assert match_names(names, frequency) == {"a": ["x"], "b": ["p"], "c": ["t"]}
    with pytest.raises(ValueError, match="larger caliper"):
        match_names({"a": ["x"], "b": ["s"]}, frequency)
