"""SemBias: the worked example, a second implementation, ties, lost words, and the questions."""

import numpy as np
import pytest

from wefe import WordEmbeddingModel
from wefe.datasets import load_sembias
from wefe.embeddings import UnanswerableError
from wefe.metrics import sembias

QUESTION = [["man", "woman"], ["boss", "home"], ["job", "tree"], ["pilot", "nurse"]]
OTHER = [["home", "kids"], ["boss", "job"], ["they", "folk"], ["man", "she"]]
LOST = [["man", "xyzzy"], *QUESTION[1:]]
KINDS = ("definition", "stereotype", "none")


def cosines_of(literal, model, question):
    g = literal.difference(*(model[word].tolist() for word in ("he", "she")))
    pairs = ([model[word].tolist() for word in pair] for pair in question)
    return [literal.cosine(literal.difference(*pair), g) for pair in pairs]


def shares_of(table, part="all"):
    own = table[table["part"] == part]
    assert tuple(own["kind"]) == KINDS
    return tuple(own["share"])


# Worked example


# Cosines of differences 0.992839, 0.951858, 0.519738 and 0.985153; of unit vectors 0.992135,
# 0.950153, 0.541850 and 0.995654.
@pytest.mark.parametrize(("normalize", "shares"), [(False, (1, 0, 0)), (True, (0, 1, 0))])
def test_toy_question_is_answered_otherwise_by_unit_vectors(normalize, shares, toy_model):
    result = sembias(toy_model, [QUESTION], normalize=normalize)
    assert shares_of(result) == shares
    assert (result[["n_used", "n_questions"]] == 1).all(axis=None)


# A second implementation


@pytest.mark.parametrize("seed", range(10))
def test_shares_agree_with_their_definition(seed, literal):
    rng = np.random.default_rng(seed)
    words = ["he", "she", *(f"w{i}" for i in range(20))]
    model = WordEmbeddingModel((words, rng.normal(size=(22, 5))))
    questions = [rng.permutation(words[2:])[:8].reshape(4, 2).tolist() for _ in range(15)]
    picked = [np.argmax(cosines_of(literal, model, question)) for question in questions]
    kinds = [("definition", "none", "none", "stereotype")[number] for number in picked]
    shares = shares_of(sembias(model, questions))
    assert shares == pytest.approx([kinds.count(kind) / 15 for kind in KINDS])
    longer = WordEmbeddingModel((words, 3 * model.vectors))
    assert shares_of(sembias(longer, questions)) == shares


# Ties, lost words, identical vectors


def test_tied_pairs_share_the_question_in_any_order(toy_model):
    tied = [*QUESTION[:3], QUESTION[0]]
    thrice = [QUESTION[0], QUESTION[0], QUESTION[2], QUESTION[0]]
    result = sembias(toy_model, [tied, thrice, QUESTION])
    assert (result["n_ties"] == 2).all()
    expected = np.array([1 / 2 + 1 / 3 + 1, 1 / 2 + 1 / 3, 1 / 3]) / 3
    assert shares_of(result) == pytest.approx(expected)


def test_questions_that_lost_a_word_are_left_out_and_counted(toy_model):
    same = [["man", "man"], *QUESTION[1:]]
    result = sembias(toy_model, [QUESTION, same, LOST], n_subset=1)
    counts = result.drop_duplicates("part").set_index("part")
    counts = counts[["n_questions", "n_used", "n_lost"]]
    assert counts.to_numpy().tolist() == [[3, 1, 1], [1, 0, 1]]
    assert shares_of(result) == (1, 0, 0)
    assert np.isnan(shares_of(result, "subset")).all()


def test_no_direction_is_an_error_with_a_reason(toy_model):
    toy_model.update("she", toy_model["he"])
    with pytest.raises(UnanswerableError, match="have the same vector"):
        sembias(toy_model, [QUESTION])
    with pytest.raises(UnanswerableError, match="drawn lacks he or she"):
        sembias(WordEmbeddingModel((["he"], np.eye(1)), "drawn"), [QUESTION])


# Questions


def test_shipped_questions_are_answered_by_the_packaged_model(packaged_model):
    questions = load_sembias()
    result = sembias(packaged_model, questions)
    assert result["n_used"].tolist() == result["n_questions"].tolist() == [40] * 3
    # Of a model that knows words a direction of gender picks definitions.
    assert shares_of(result)[0] > 0.9
    assert {len({word for pair in question for word in pair}) for question in questions} == {8}
    assert len({str(question) for question in questions}) == 40
    questions[0][0][0] = "spoilt"
    assert load_sembias()[0][0][0] == "king"
