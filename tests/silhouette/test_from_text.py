"""Models trained on a text with a planted association, and on the same text without it."""

import gzip
import math
import os
import subprocess
import sys
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

from wefe import Query, WordEmbeddingModel, measure
from wefe.silhouette import _from_text, score_reference_models, train_reference_models

QUERY = Query(
    [["he", "man", "father"], ["she", "woman", "mother"]],
    [["office", "job", "salary"], ["home", "family", "kitchen"]],
)
SMALL = {"dim": 30, "progress": False}
FROM_GENSIM = ["sgns", "fasttext"]


def planted_text(n=13_000, seed=0):
    """Sentences of eight words; four of five groups meet their own concept."""
    rng = np.random.default_rng(seed)
    chance = 1 / (np.arange(300) + 5)  # of fillers: Zipf's law
    words = rng.choice([f"filler{i:03}" for i in range(300)], (n, 8), p=chance / chance.sum())
    groups = rng.integers(2, size=n)
    concepts = np.where(rng.random(n) < 0.8, groups, 1 - groups)
    words[:, 2] = np.array(QUERY.target_sets)[groups, rng.integers(3, size=n)]
    for column in (4, 5):
        words[:, column] = np.array(QUERY.attribute_sets)[concepts, rng.integers(3, size=n)]
    return words.tolist()


@pytest.fixture(scope="module")
def text():
    return planted_text()


@pytest.fixture(scope="module")
def corpus(text):
    return _from_text._read(text, _from_text._swap_of(None), QUERY, False)


def scores_by(text, algorithm, strengths, **options):
    models, table = train_reference_models(
        text, QUERY, algorithms=[algorithm], bias_strengths=strengths, **{**SMALL, **options}
    )
    return score_reference_models("weat", [QUERY], models, table)


# What each algorithm finds


@pytest.mark.parametrize("resample", [False, True])
def test_ppmi_svd_finds_the_planted_association_and_more_of_it_at_greater_strength(text, resample):
    strengths = [0, 0.25, 0.5, 0.75, 1]
    scores = scores_by(text, "ppmi_svd", strengths, n_seeds=2, resample=resample)
    assert scores["bias_strength"].tolist() == strengths
    assert abs(scores["score"][0]) < 1e-5
    assert (np.diff(scores["score"]) > 0.05).all()
    # It draws nothing itself: only which sentences stay differs, where some do.
    differ = scores["score_sd"] > 1e-5
    assert differ.tolist() == [False, True, True, True, resample]


@pytest.mark.parametrize("algorithm", FROM_GENSIM)
def test_gensim_models_find_it_and_hardly_any_in_the_balanced_text(text, algorithm):
    pytest.importorskip("gensim")
    balanced, half, original = scores_by(text, algorithm, [0, 0.5, 1], n_seeds=1)["score"]
    assert abs(balanced) < min(half, 0.2 * original)
    assert original > max(half, 0.5)


# Counts


def test_partners_are_mirror_images_in_the_balanced_text(corpus):
    words, partner, tokens, sizes = corpus
    original, second = (
        _from_text._cooccurrences(each, sizes, len(words)) for each in (tokens, partner[tokens])
    )
    counts = (original + second).tocsr()
    ppmi = _from_text._ppmi(counts)
    alone = partner == np.arange(len(words))
    assert alone.sum() == len(words) - 6
    for one, other in zip(*QUERY.target_sets, strict=True):
        i, j = words.index(one), words.index(other)
        assert partner[i] == j
        for matrix in (counts.toarray(), ppmi.toarray()):
            assert matrix[i].any()
            np.testing.assert_array_equal(matrix[i][alone], matrix[j][alone])
            np.testing.assert_array_equal(matrix[i][partner], matrix[j])
    # The original text is not its own mirror image, and the swap loses no count.
    he, she = (original.toarray()[words.index(word)] for word in ("he", "she"))
    assert np.abs(he - she)[alone].max() > 50
    assert 2 * original.sum() == counts.sum()


def test_ppmi_is_that_of_a_slow_count(monkeypatch):
    monkeypatch.setattr(_from_text, "_WINDOW", 4)
    monkeypatch.setattr(_from_text, "_BLOCK_TOKENS", 7)  # windows reach over blocks
    rng = np.random.default_rng(1)
    sentences = [rng.integers(12, size=n).tolist() for n in (1, 9, 0, 14, 2, 30)]
    tokens = np.concatenate(sentences).astype(np.intc)
    pairs = Counter(
        (sentence[i], sentence[j])
        for sentence in sentences
        for i in range(len(sentence))
        for j in range(max(0, i - 4), min(len(sentence), i + 5))
        if i != j
    )
    total = Counter()
    for (word, _), n in pairs.items():
        total[word] += n
    of_contexts = sum(n**0.75 for n in total.values())
    expected = np.zeros((12, 12))
    for (word, context), n in pairs.items():
        p_word, p_context = total[word] / total.total(), total[context] ** 0.75 / of_contexts
        pmi = math.log(n / total.total() / (p_word * p_context))
        expected[word, context] = max(pmi, 0)
    counts = _from_text._cooccurrences(tokens, np.array(list(map(len, sentences))), 12)
    assert counts.sum() == pairs.total()
    np.testing.assert_allclose(_from_text._ppmi(counts).toarray(), expected, rtol=1e-12)


def test_copies_are_in_turn_and_swapped_words_keep_their_case(text):
    forms = ["She", "SHE", "she", "sHe", "him", "Her"] * 2
    words, partner, tokens, sizes = _from_text._read(
        [*text, *[forms] * 10], _from_text._swap_of(None), QUERY, False
    )
    first, swapped = _from_text._in_turn(words, [tokens, partner[tokens]], sizes)[-2:]
    assert first == forms
    assert swapped == ["He", "HE", "he", "sHe", "him", "His"] * 2


# Input and output


def test_a_file_a_packed_file_and_sentences_give_one_model(text, tmp_path):
    lines = [" ".join(sentence) + "." for sentence in text]
    plain, packed = tmp_path / "text.txt", tmp_path / "text.txt.gz"
    plain.write_text("\n".join(lines), encoding="utf-8")
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    params = {"algorithms": ["ppmi_svd"], "bias_strengths": [0, 0.5], "n_seeds": 1, **SMALL}
    models, table = train_reference_models(text, QUERY, **params)
    for source in (plain, str(packed), iter(lines)):
        # Nor do workers change anything.
        assert train_reference_models(source, QUERY, n_jobs=2, **params)[0] == models
    assert list(models) == table["model_name"].tolist() == [m.name for m in models.values()]
    assert list(models)[1] == "ppmi_svd, bias strength 0.5, seed 0"
    assert table.columns.tolist() == ["model_name", "algorithm", "bias_strength", "seed"]


SAME_SEED = """
import sys
sys.path.insert(0, sys.argv[1])
from test_from_text import QUERY, SMALL, planted_text
from wefe.silhouette import train_reference_models
models, _ = train_reference_models(planted_text(), QUERY, None, [sys.argv[2]], [0.5], 1, **SMALL)
print([model.vectors.sum(dtype=float).hex() for model in models.values()])
"""


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["ppmi_svd", "fasttext"])
def test_the_same_seed_gives_the_same_vectors_in_every_process(algorithm):
    if algorithm in FROM_GENSIM:
        pytest.importorskip("gensim")
    here = os.path.dirname(__file__)
    path = os.pathsep.join(filter(None, sys.path))
    printed = {
        subprocess.run(
            [sys.executable, "-c", SAME_SEED, here, algorithm],
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert len(printed) == 1
    assert "0x" in printed.pop()


def test_intervals_are_those_of_student_over_seeds():
    rng = np.random.default_rng(0)
    words = [word for part in (*QUERY.target_sets, *QUERY.attribute_sets) for word in part]
    rows = [(f"{a} {s} {i}", a, s, i) for a in "ab" for s in (0.0, 1.0) for i in range(4)]
    table = pd.DataFrame(rows, columns=["model_name", "algorithm", "bias_strength", "seed"])
    models = {
        name: WordEmbeddingModel((words, rng.standard_normal((12, 5))), name)
        for name in table["model_name"]
    }
    result = score_reference_models(["weat", "mac"], [QUERY], models, table)
    assert len(result) == 2 * 2 * 2
    some = measure("mac", [QUERY], [models[f"b 0.0 {i}"] for i in range(4)])["score"]
    row = result.set_index(["metric", "algorithm", "bias_strength"]).loc["MAC", "b", 0.0]
    low, high = t.interval(0.95, 3, some.mean(), some.std() / 2)
    found = row[["score", "score_lower", "score_upper", "score_sd", "n_seeds", "no_bias_value"]]
    assert found.tolist() == pytest.approx([some.mean(), low, high, some.std(), 4, 1])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"text": ["he went home"] * 10}, "at least 100,000 tokens; got 30"),
        ({"text": [[1, 2]] * 50_000}, "each word of"),
        ({"query": Query([["he"], ["girl"]], [["job"], ["home"]])}, r"20 times .*'girl' \(0\)"),
        ({"query": Query([["he", "him"], ["she"]], [["job"]])}, "check him"),
        ({"query": Query([["he"], ["she"]], [["job", "king"]])}, "check king"),
        ({"swap_pairs": [["her", "his"], ["him", "Her"]]}, "'her' has 'his' and 'him'"),
        ({"swap_pairs": [["she", "he", "they"]]}, "must be two words"),
        ({"algorithms": ["glove"]}, "'ppmi_svd', 'sgns', 'fasttext'; got str 'glove'"),
    ],
)
def test_what_is_refused(text, changes, message):
    arguments = {"text": text, "query": QUERY, "algorithms": ["ppmi_svd"], **changes}
    with pytest.raises((ValueError, TypeError), match=message):
        train_reference_models(**SMALL, **arguments)
