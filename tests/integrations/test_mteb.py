"""The task and the adapter with the real mteb."""

import numpy as np
import pytest

from wefe.datasets import list_query_sets, load_query_set
from wefe.metrics import WEAT


@pytest.fixture(scope="module")
def mteb():
    return pytest.importorskip("mteb")


@pytest.fixture(scope="module")
def ours(mteb):
    from wefe.integrations import mteb as module

    return module


@pytest.fixture(scope="module")
def opened(encoder):
    """Open the encoder, with options of the library."""
    from sentence_transformers import SentenceTransformer

    return lambda **how: SentenceTransformer(encoder, device="cpu", local_files_only=True, **how)


@pytest.fixture(scope="module")
def minilm(opened):
    return opened()


@pytest.fixture(scope="module")
def prompted(mteb, opened):
    """A model with prompts for queries, documents and a type of tasks."""
    prompts = {"query": "query: ", "document": "passage: ", "STS": "similar: "}
    return mteb.models.SentenceTransformerEncoderWrapper(opened(prompts=prompts))


def test_the_score_is_the_mean_effect_size_of_the_vectors_of_the_model(mteb, ours, minilm):
    task = ours.WordAssociations().filter_languages(None, hf_subsets=["gender"])
    result = mteb.evaluate(minilm, task, cache=None, show_progress_bar=False).task_results[0]
    (scores,) = result.scores["test"]
    sizes = []
    for query in load_query_set("gender", offline=True):
        sides = query.target_sets, query.attribute_sets
        vectors = ([minilm.encode(words) for words in side] for side in sides)
        sizes.append(WEAT().run_vectors(*vectors)["effect_size"])
    assert list(scores["effect_sizes"].values()) == pytest.approx(sizes, abs=1e-5)
    assert result.get_score() == pytest.approx(np.mean(np.abs(sizes)), abs=1e-5)
    assert scores["prompt"] == ""


def test_a_model_known_to_mteb_runs_all_subsets_which_are_in_their_languages(mteb, ours):
    model = mteb.get_model("mteb/baseline-random-encoder")
    task = ours.WordAssociations()
    result = mteb.evaluate(model, task, cache=None, show_progress_bar=False).task_results[0]
    subsets = {row["hf_subset"]: row["languages"] for row in result.scores["test"]}
    assert all(0 < row["main_score"] < 2 for row in result.scores["test"])
    by_language = {row["name"] for row in list_query_sets() if row["name"].startswith("gender")}
    assert {*subsets} == by_language | {"weat", "ethnicity", "religion"}
    assert subsets["gender_nl"] == ["nld-Latn"]
    # Of random vectors, less is measured than of any model of language.
    assert result.get_score() < 0.4


@pytest.mark.parametrize(
    ("task", "prompt_type", "prompt"),
    [
        (None, None, "similar: "),
        ("SciFact", None, ""),
        ("SciFact", "query", "query: "),
        ("SciFact", "document", "passage: "),
    ],
)
def test_the_prompt_of_task_and_type_is_put_once_and_told(
    mteb, ours, prompted, minilm, task, prompt_type, prompt
):
    kind = prompt_type and mteb.types.PromptType(prompt_type)
    chosen = task and mteb.get_task(task)
    encoder = ours.load_mteb_encoder(prompted, "MiniLM", task=chosen, prompt_type=kind)
    assert encoder.prompt == prompt
    words = ["she", "nurse", "query: "]
    expected = minilm.encode([f"{prompt}{word}" for word in words])
    np.testing.assert_allclose(encoder.get_vectors(words), expected, atol=1e-6)
    assert encoder.name == "MiniLM"


def test_a_default_prompt_of_the_model_is_told(mteb, ours, opened):
    model = opened(prompts={"query": "ask: "}, default_prompt_name="query")
    encoder = ours.load_mteb_encoder(mteb.models.SentenceTransformerEncoderWrapper(model))
    assert encoder.prompt == "ask: "


def test_instructions_are_told_where_they_are_given(mteb, ours, encoder, minilm):
    wrapper = mteb.models.instruct_wrapper.InstructSentenceTransformerModel
    template = "Instruct: {instruction}\nQuery: "
    how = {"instruction_template": template, "apply_instruction_to_passages": False}
    model = wrapper(encoder, "none", device="cpu", **how)
    model.mteb_model_meta = type("Meta", (), {"name": "instructed"})()
    instruction = template.format(instruction="Retrieve semantically similar text.")
    for kind, prompt in ((None, instruction), (mteb.types.PromptType.document, "")):
        found = ours.load_mteb_encoder(model, prompt_type=kind)
        assert found.prompt == prompt
        expected = minilm.encode([f"{prompt}she"])
        np.testing.assert_allclose(found.get_vectors(["she"]), expected, atol=1e-6)


def test_a_model_of_your_own_gets_what_mteb_gives_and_may_return_tensors(mteb, ours):
    import torch

    class Own:
        mteb_model_meta = type("Meta", (), {"name": "own"})()

        def encode(self, inputs, **given):
            self.given = given
            texts = [text for batch in inputs for text in batch["text"]]
            rows = [[len(text), text.count("e")] for text in texts]
            return torch.tensor(rows, dtype=torch.bfloat16, requires_grad=True)

        def similarity(self, one, other): ...

        similarity_pairwise = similarity

    model = Own()
    encoder = ours.load_mteb_encoder(model, encode_kwargs={"batch_size": 2}, hf_subset="weat")
    assert encoder.get_vectors(["she", "nurse", "me"]).tolist() == [[3, 1], [5, 1], [2, 1]]
    assert (encoder.name, encoder.prompt) == ("own", "")
    assert model.given["task_metadata"].name == "WefeWordAssociations"
    assert (model.given["hf_subset"], model.given["batch_size"]) == ("weat", 2)
    with pytest.raises(TypeError, match=r"wefe\.contextual\.load_encoder"):
        ours.load_mteb_encoder(len)
