"""Word similarity and analogies before and after."""

import importlib.util
import math

import numpy as np
import pytest

from wefe import WordEmbeddingModel
from wefe.debias._changes import check_quality, quality_rows
from wefe.debias._residual import CommonWords
from wefe.quality import evaluate, load_benchmark


def rows_of(before, *after, quality="auto", n_sample=1000, seed=0):
    data_sets = check_quality(quality)
    rng = np.random.default_rng(seed)
    return quality_rows(CommonWords([before, *after]), data_sets, n_sample, rng)


def shortened(model, dim, name="short"):
    return WordEmbeddingModel.from_arrays(list(model.vocab), np.array(model.vectors[:, :dim]), name)


def test_without_gensim_the_rows_are_nan_and_say_what_is_needed(packaged_model, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "gensim" else find(name)
    )
    rows = rows_of(packaged_model, packaged_model.copy("same"))
    assert [row.subject for row in rows] == ["WordSim-353", "SimLex-999", "Google analogies"]
    for row in rows:
        assert math.isnan(row.before)
        assert math.isnan(row.after)
        assert 'pip install "wefe[gensim]"' in row.note


def test_what_is_no_data_set_is_refused(tmp_path):
    with pytest.raises(ValueError, match="quality must be one of 'auto'"):
        check_quality("all")
    with pytest.raises(FileNotFoundError, match="Did you mean 'wordsim353'"):
        check_quality(["wordsim"])
    with pytest.raises(TypeError, match="must be a name or a path; got int 3"):
        check_quality([3])
    with pytest.raises(FileNotFoundError, match=r"missing\.tsv"):
        check_quality([tmp_path / "missing.tsv"])
    (tmp_path / "animals.tsv").write_text("cat\tmammal\nowl\tbird\n")
    with pytest.raises(ValueError, match="the kind of animals must be one of"):
        check_quality([tmp_path / "animals.tsv"])
    assert check_quality(None) == check_quality([]) == []


def test_scores_are_those_of_the_quality_of_models(packaged_model, tmp_path):
    pytest.importorskip("gensim")
    analogies = load_benchmark("google-analogies")
    file = tmp_path / "questions.txt"
    some = analogies.items[::60]
    file.write_text(": all\n" + "\n".join(" ".join(words) for *words, _ in some) + "\n")
    sources = ["wordsim353", "simlex999", file]
    rows = rows_of(packaged_model, packaged_model.copy("same"), quality=sources, n_sample=None)
    assert [row.subject for row in rows] == ["WordSim-353", "SimLex-999", "questions"]
    for row, source in zip(rows, sources, strict=True):
        expected = evaluate(packaged_model, source)
        assert row.before == row.after == pytest.approx(expected.score, abs=1e-6)
        assert row.n == expected.n_used
        assert f"{expected.n_items - row.n} of {expected.n_items} questions left out" in row.note
    assert [row.change_se for row in rows] == [0, 0, 0]


def test_similarity_is_that_of_a_loop_over_pairs(packaged_model, tmp_path):
    stats = pytest.importorskip("scipy.stats")
    pytest.importorskip("gensim")
    rng = np.random.default_rng(0)
    words = [word for word in packaged_model.vocab if word.islower()]
    pairs = [(*rng.choice(words, 2, replace=False), rng.integers(10)) for _ in range(60)]
    file = tmp_path / "pairs.tsv"
    lines = ["# Word 1\tWord 2\tHuman", *(f"{a}\t{b}\t{score}" for a, b, score in pairs)]
    file.write_text("\n".join([*lines, "xyzzy\tplugh\t3"]) + "\n")
    after = shortened(packaged_model, 20)
    (row,) = rows_of(packaged_model, after, quality=[file])
    for model, score in ((packaged_model, row.before), (after, row.after)):
        cosines = [
            model[a] @ model[b] / np.linalg.norm(model[a]) / np.linalg.norm(model[b])
            for a, b, _ in pairs
        ]
        assert score == pytest.approx(stats.spearmanr(cosines, [p[2] for p in pairs])[0], abs=1e-6)
    assert (row.measure, row.subject, row.n) == ("word similarity", "pairs", 60)
    assert row.note == "1 of 61 questions left out because a model lacks a word"
    # The usual approximation for independent ranks.
    assert row.before_se == pytest.approx(1 / math.sqrt(59), rel=0.4)


def grid():
    """Vectors in which analogies hold exactly, and one that breaks one of them."""
    words = ["man", "woman", "king", "queen", "boy", "girl", "far"]
    royal, young, female = np.eye(6)[:3]
    rest = np.eye(6)[3]
    vectors = [rest, rest + female, rest + royal, rest + royal + female]
    vectors += [rest + young, rest + young + female, np.eye(6)[5]]
    return words, np.array(vectors)


def test_analogies_are_solved_where_they_hold(tmp_path):
    pytest.importorskip("gensim")
    words, vectors = grid()
    file = tmp_path / "questions.txt"
    questions = ["man woman king queen", "Man Woman Boy Girl", "king queen boy girl"]
    file.write_text("\n".join([": family", *questions, "man woman uncle aunt"]) + "\n")
    broken = vectors.copy()
    broken[words.index("queen")] = -vectors[words.index("far")]
    before, after = (
        WordEmbeddingModel.from_arrays(words, part, name)
        for part, name in ((vectors, "before"), (broken, "after"))
    )
    (row,) = rows_of(before, after, quality=[file])
    assert (row.measure, row.subject, row.n) == ("analogy accuracy", "questions", 3)
    assert row.before == 1
    assert row.after == pytest.approx(2 / 3)
    assert row.note == "1 of 4 questions left out because a model lacks a word"
    # Differences -1, 0, 0: their deviation is 1 / sqrt(3).
    assert row.change_se == pytest.approx(1 / 3)


def test_a_rotation_keeps_every_score(packaged_model):
    pytest.importorskip("gensim")
    rotation, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(packaged_model.dim,) * 2))
    turned = WordEmbeddingModel.from_arrays(
        list(packaged_model.vocab), packaged_model.vectors @ rotation, "turned"
    )
    for row in rows_of(packaged_model, turned, n_sample=200):
        assert row.after == pytest.approx(row.before, abs=1e-4 if "sim" in row.measure else 0.01)


def test_all_models_answer_the_same_questions(packaged_model):
    pytest.importorskip("gensim")
    words = list(packaged_model.vocab)
    half = WordEmbeddingModel.from_arrays(words[::2], packaged_model.vectors[::2], "half")
    whole_first = rows_of(packaged_model, half, quality=["wordsim353", "simlex999"])
    half_first = rows_of(half, packaged_model, quality=["wordsim353", "simlex999"])
    for one, other in zip(whole_first, half_first, strict=True):
        assert one.before == one.after == other.before == other.after
        assert one.n == other.n < 300


def test_few_known_words_are_nan_with_the_count():
    pytest.importorskip("gensim")
    model = WordEmbeddingModel.from_arrays(["tiger", "cat"], np.eye(2), "tiny")
    similarity, _, analogies = rows_of(model, model.copy("same"))
    assert math.isnan(similarity.after)
    # 'tiger' and 'cat', and 'tiger' and 'tiger'.
    assert similarity.n == 2
    assert "351 of 353 questions left out" in similarity.note
    assert "at least 3 are needed" in similarity.note
    assert math.isnan(analogies.after)
    assert "19544 of 19544 questions left out because a model lacks a word" in analogies.note


def test_questions_are_a_seeded_sample(packaged_model):
    pytest.importorskip("gensim")
    after = shortened(packaged_model, 30)
    first, again, other = (
        rows_of(packaged_model, after, n_sample=100, seed=seed)[2] for seed in (0, 0, 1)
    )
    assert first.n == 100
    assert "a sample of 100 of them was asked" in first.note
    assert (first.before, first.after) == (again.before, again.after)
    assert (first.before, first.after) != (other.before, other.after)


def test_a_vocabulary_prefix_is_taken_off(packaged_model):
    pytest.importorskip("gensim")
    prefixed = WordEmbeddingModel.from_arrays(
        [f"/c/en/{word}" for word in packaged_model.vocab],
        packaged_model.vectors,
        "prefixed",
        "/c/en/",
    )
    plain = rows_of(packaged_model, packaged_model.copy("same"), n_sample=50)
    same = rows_of(prefixed, prefixed.copy("same"), n_sample=50)
    assert [(row.before, row.n) for row in same] == [(row.before, row.n) for row in plain]
