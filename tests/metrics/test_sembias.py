"""SemBias: the worked example, a second implementation, ties, lost words, and the questions."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wefe import WordEmbeddingModel
from wefe.datasets import load_sembias
from wefe.datasets._gn_glove import parse_sembias
from wefe.metrics import SemBiasResult, sembias

QUESTION = [["man", "woman"], ["boss", "home"], ["job", "tree"], ["pilot", "nurse"]]
OTHER = [["home", "kids"], ["boss", "job"], ["they", "folk"], ["man", "she"]]
KINDS = ("definition", "stereotype", "none")

seeds = st.integers(0, 2**32 - 1)


@pytest.fixture
def published(monkeypatch):
    """The published file, where it is beside the repository."""
    from pathlib import Path

    folder = Path(__file__).parents[2].parent / "shared" / "data"
    if not (folder / "gn_glove").is_dir():
        pytest.skip("no local mirror of the bulk files")
    monkeypatch.setenv("WEFE_DATA_DIR", str(folder))
    return folder / "gn_glove" / "SemBias"


def literal(vectors, question, direction):
    """Cosines of one question, number by number."""

    def minus(u, v):
        return [x - y for x, y in zip(u, v, strict=True)]

    def cos(u, v):
        return sum(x * y for x, y in zip(u, v, strict=True)) / math.sqrt(
            sum(x * x for x in u) * sum(x * x for x in v)
        )

    g = minus(vectors[direction[0]], vectors[direction[1]])
    return [cos(minus(vectors[a], vectors[b]), g) for a, b in question]


def shares_of(result):
    return tuple(getattr(result, kind) for kind in KINDS)


# Worked example


@pytest.mark.parametrize(
    ("normalize", "expected", "shares"),
    [
        (False, [0.992839, 0.951858, 0.519738, 0.985153], (1, 0, 0)),
        (True, [0.992135, 0.950153, 0.541850, 0.995654], (0, 1, 0)),
    ],
)
def test_toy_question_is_answered_otherwise_by_unit_vectors(normalize, expected, shares, toy_model):
    result = sembias(toy_model, [QUESTION], normalize=normalize)
    assert result.cosines[0] == pytest.approx(expected, abs=1e-6)
    assert shares_of(result) == shares
    assert result.n_used == result.n_questions == 1
    assert result.nan_reason is None
    assert repr(result) == (
        f"<SemBias: definition {shares[0]:.3f}, stereotype {shares[1]:.3f}, none 0.000; 1 of 1 "
        "questions>"
    )


# A second implementation, and theorems


@settings(max_examples=30, deadline=None)
@given(seeds)
def test_shares_agree_with_their_definition(seed):
    rng = np.random.default_rng(seed)
    words = ["he", "she", *(f"w{i}" for i in range(20))]
    model = WordEmbeddingModel((words, rng.normal(size=(22, 5))))
    questions = [
        np.array(words[2:])[rng.permutation(20)[:8]].reshape(4, 2).tolist() for _ in range(15)
    ]
    vectors = {word: model[word].tolist() for word in words}
    picked = dict.fromkeys(KINDS, 0)
    for question in questions:
        cosines = literal(vectors, question, ("he", "she"))
        picked[("definition", "none", "none", "stereotype")[cosines.index(max(cosines))]] += 1
    result = sembias(model, questions)
    assert shares_of(result) == pytest.approx([picked[kind] / 15 for kind in KINDS])
    assert sum(shares_of(result)) == pytest.approx(1)
    turned = sembias(
        model,
        [[pair[::-1] for pair in question] for question in questions],
        direction=("she", "he"),
    )
    assert shares_of(turned) == shares_of(result)
    longer = WordEmbeddingModel((words, 3 * model.vectors))
    assert shares_of(sembias(longer, questions)) == shares_of(result)


def test_intervals_are_those_of_wilson(toy_model):
    result = sembias(toy_model, [QUESTION] * 8 + [OTHER] * 2)
    # 8 of 10: as printed in tables of the score interval.
    assert result.definition == 0.8
    assert result.intervals["definition"] == pytest.approx((0.4902, 0.9433), abs=1e-4)
    # Not 6.9e-18, which is what is left of a difference.
    bounds = result.to_frame().set_index("kind")
    assert bounds.loc[bounds["share"] == 0, "lower"].tolist() == [0.0]


# Ties, lost words, identical vectors


def test_tied_pairs_share_the_question_in_any_order(toy_model):
    tied = [["man", "woman"], ["boss", "home"], ["job", "tree"], ["man", "woman"]]
    thrice = [["man", "woman"], ["man", "woman"], ["job", "tree"], ["man", "woman"]]
    result = sembias(toy_model, [tied, thrice, QUESTION])
    assert result.n_ties == 2
    assert shares_of(result) == pytest.approx(
        ((1 / 2 + 1 / 3 + 1) / 3, (1 / 2 + 1 / 3) / 3, (1 / 3) / 3)
    )


def test_questions_that_lost_a_word_are_left_out_and_counted(toy_model, caplog):
    lost = [["man", "xyzzy"], *QUESTION[1:]]
    result = sembias(toy_model, [QUESTION, lost], n_subset=1)
    assert (result.n_questions, result.n_used, result.n_lost) == (2, 1, 1)
    assert result.lost_words == ("xyzzy",)
    assert result.definition == 1
    assert np.isnan(result.cosines[1]).all()
    assert isinstance(result.subset, SemBiasResult)
    assert math.isnan(result.subset.definition)
    assert "every question lost a word" in result.subset.nan_reason
    assert "1 of 2 SemBias questions lost a word, as the model lacks 1: xyzzy" in caplog.text


def test_pair_of_identical_vectors_leaves_its_question_out(toy_model):
    same = [["man", "man"], *QUESTION[1:]]
    result = sembias(toy_model, [same, QUESTION])
    assert (result.n_used, result.n_undefined, result.n_lost) == (1, 1, 0)
    assert result.definition == 1


@pytest.mark.parametrize(
    ("direction", "reason"),
    [
        (("he", "xyzzy"), "toy lacks xyzzy, of the direction"),
        (("he", "he"), "have the same vector"),
    ],
)
def test_no_direction_is_nan_with_a_reason(direction, reason, toy_model):
    result = sembias(toy_model, [QUESTION], direction=direction)
    assert all(math.isnan(share) for share in shares_of(result))
    assert all(math.isnan(bound) for pair in result.intervals.values() for bound in pair)
    assert reason in result.nan_reason
    assert result.n_used == 0
    assert reason in repr(result)
    assert not result.by_question()["picked"].any()


def test_words_fall_back_on_lower_case_where_that_is_asked_for(toy_model):
    capitals = [[word.title() for word in pair] for pair in QUESTION]
    assert sembias(toy_model, [capitals]).n_used == 0
    result = sembias(
        toy_model, [capitals], direction=("He", "She"), preprocessors=[{}, {"lowercase": True}]
    )
    assert result.definition == 1


# Frames and questions


def test_frames_hold_shares_and_questions(toy_model):
    result = sembias(toy_model, [QUESTION, OTHER], n_subset=1)
    frame = result.to_frame()
    assert list(frame["part"]) == ["all"] * 3 + ["subset"] * 3
    assert tuple(frame["share"][:3]) == shares_of(result)
    assert (frame["lower"] <= frame["share"]).all()
    assert (frame["share"] <= frame["upper"]).all()
    pairs = result.by_question()
    assert list(pairs["pair"][:4]) == ["man:woman", "boss:home", "job:tree", "pilot:nurse"]
    assert pairs["picked"].sum() == 2
    assert pairs["picked"][0]
    assert len(sembias(toy_model, [QUESTION]).to_frame()) == 3


def test_shipped_questions_are_answered_by_the_packaged_model(packaged_model):
    result = sembias(packaged_model, "small")
    assert result.n_used == result.n_questions == len(load_sembias()) == 40
    assert result.subset is None
    # Of a model that knows words a direction of gender picks definitions.
    assert result.definition > 0.9
    vectors = {word: packaged_model[word].tolist() for q in load_sembias() for p in q for word in p}
    vectors |= {word: packaged_model[word].tolist() for word in ("he", "she")}
    for question, cosines in zip(load_sembias(), result.cosines, strict=True):
        assert cosines == pytest.approx(literal(vectors, question, ("he", "she")), abs=1e-9)


def test_shipped_questions_are_all_different_and_have_four_different_pairs():
    questions = load_sembias()
    assert len({str(question) for question in questions}) == 40
    for question in questions:
        assert len({word for pair in question for word in pair}) == 8
    questions[0][0][0] = "spoilt"
    assert load_sembias()[0][0][0] == "king"


def test_no_shipped_question_is_a_published_one(published):
    theirs = {str(question) for question in load_sembias("gn_glove")}
    assert len(theirs) == 440
    assert not theirs & {str(question) for question in load_sembias()}
    assert load_sembias(published) == load_sembias("gn_glove")


def test_published_questions_on_word2vec(published, word2vec):
    result = sembias(word2vec)
    # Words such as lid, sugar and puppy are not in this part of the vocabulary.
    assert (result.n_questions, result.n_used, result.n_lost) == (440, 10, 430)
    assert shares_of(result) == (0.9, 0.1, 0.0)
    assert result.subset.n_questions == 40
    words = [word for question in result.questions for pair in question for word in pair]
    vectors = {word: word2vec[word].tolist() for word in {*words, "he", "she"} if word in word2vec}
    assert set(result.lost_words) == set(words) - set(vectors)
    for question, cosines in zip(parse_sembias(published.read_text()), result.cosines, strict=True):
        if not np.isnan(cosines).any():
            assert cosines == pytest.approx(literal(vectors, question, ("he", "she")), abs=1e-6)


def test_published_subset_has_definitions_of_its_own(published):
    questions = load_sembias(published)
    others = {str(question[0]) for question in questions[:-40]}
    assert not others & {str(question[0]) for question in questions[-40:]}


def test_questions_of_a_file_are_checked(tmp_path, toy_model):
    path = tmp_path / "questions.txt"
    line = "\t".join(":".join(pair) for pair in QUESTION)
    path.write_text(f"{line}\n{line}\n", encoding="utf-8")
    assert load_sembias(path) == [QUESTION, QUESTION]
    assert sembias(toy_model, path).definition == 1
    assert sembias(toy_model, str(path), n_subset=1).subset.n_questions == 1
    for broken in ("man:woman\tboss:home\n", line.replace("pilot:nurse", "pilot"), line + ":x"):
        path.write_text(f"{line}\n{broken}\n", encoding="utf-8")
        with pytest.raises(ValueError, match=r"questions.txt: question 2 must have four pairs a:b"):
            load_sembias(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="is not UTF-8 text"):
        load_sembias(path)
    with pytest.raises(FileNotFoundError, match="Give a file, 'small' or 'gn_glove'"):
        load_sembias(tmp_path / "none.txt")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"questions": []}, ValueError, "questions is empty"),
        ({"questions": [QUESTION[:3]]}, ValueError, r"questions\[0\] must have four pairs"),
        ({"questions": [[["a"]] * 4]}, ValueError, r"questions\[0\] must have four pairs"),
        ({"questions": [[["a", 3]] * 4]}, TypeError, r"element 1 must be a string; got int 3"),
        ({"questions": 3}, TypeError, "questions must be a list"),
        ({"direction": ["he"]}, ValueError, "direction must be two words"),
        ({"direction": "he"}, TypeError, "direction must be a list"),
        ({"normalize": 1}, TypeError, "normalize must be True or False"),
        ({"confidence": 1}, ValueError, "confidence must be between 0 and 1"),
        ({"n_subset": 2}, ValueError, "n_subset must be an integer from 0 to 1"),
        ({"n_subset": True}, ValueError, "n_subset must be an integer from 0 to 1"),
    ],
)
def test_what_is_wrong_is_refused(options, error, message, toy_model):
    with pytest.raises(error, match=message):
        sembias(toy_model, **{"questions": [QUESTION], **options})
