"""The evaluator on a real model: its numbers, its keys, the model card, a training."""

import numpy as np
import pandas as pd
import pytest

from wefe.datasets import load_query_set
from wefe.metrics import WEAT

library = pytest.importorskip("sentence_transformers")

from wefe.integrations.sentence_transformers import BiasEvaluator  # noqa: E402

QUERIES = load_query_set("weat")[5:8]


@pytest.fixture
def model(encoder):
    opened = library.SentenceTransformer(encoder, device="cpu", local_files_only=True)
    # Without the card that came with it, one is generated.
    return library.SentenceTransformer(modules=list(opened), device="cpu")


def mean_effect_size(model, queries):
    """What the evaluator should find, word by word, from the vectors of the library itself."""
    sizes = []
    for query in queries:
        sides = (
            [model.encode(words, show_progress_bar=False) for words in side]
            for side in (query.target_sets, query.attribute_sets)
        )
        sizes.append(abs(WEAT().run_vectors(*sides)["effect_size"]))
    return np.mean(sizes)


def test_weights_of_each_call_are_measured(model):
    """Also where they are changed in a way that torch does not count."""
    evaluator, queries = BiasEvaluator({"one": QUERIES[:1]}), QUERIES[:1]
    before = evaluator(model)
    assert before == {"one_weat-es_distance": pytest.approx(mean_effect_size(model, queries))}
    weights = model[0].auto_model.get_input_embeddings().weight
    kept = weights.data.clone()
    weights.data += weights.data.roll(1, 0)
    changed = evaluator(model)
    key = evaluator.primary_metric
    assert changed[key] == pytest.approx(mean_effect_size(model, queries))
    assert abs(changed[key] - before[key]) > 0.05
    weights.data.copy_(kept)
    assert evaluator(model) == before


def test_keys_name_evaluator_set_and_metric_and_files_get_a_row_per_call(model, tmp_path):
    sets = {"one": QUERIES[:1], "two": QUERIES[1:]}
    evaluator = BiasEvaluator(sets, ["weat-es", "rnd"], "dev")
    model.train()
    for epoch in (1.0, 2.0):
        found = evaluator(model, tmp_path / "eval", epoch, 7)
    assert model.training
    keys = ["dev_one_weat-es_distance", "dev_one_rnd_distance"]
    keys += [key.replace("one", "two") for key in keys]
    assert list(found) == keys
    assert all(type(value) is float for value in found.values())
    assert evaluator.primary_metric == keys[0]
    assert not evaluator.greater_is_better
    table = pd.read_csv(tmp_path / "eval/bias_evaluation_dev_results.csv")
    assert list(table) == ["epoch", "steps", *keys]
    assert table["epoch"].tolist() == [1, 2]
    assert table[keys[3]].tolist() == pytest.approx([found[keys[3]]] * 2)


def test_a_p_value_is_adjusted_for_the_queries_of_its_set(model):
    asked = {"calculate_p_value": True, "p_value_method": "exact"}
    one, all_three = (
        BiasEvaluator(queries, metric_params=asked)(model)["queries_weat-es_p_value"]
        for queries in (QUERIES[:1], QUERIES)
    )
    # The first query has the smallest one, times three for three queries.
    assert all_three == pytest.approx(3 * one)
    assert 0 < one < 0.02


@pytest.mark.slow
def test_a_training_logs_the_bias_and_keeps_the_checkpoint_with_the_least(model, tmp_path):
    pytest.importorskip("accelerate")
    datasets = pytest.importorskip("datasets")
    evaluator = BiasEvaluator({"gender": QUERIES})
    key = f"eval_{evaluator.primary_metric}"
    pairs = {"anchor": ["she", "he"] * 8, "positive": ["nurse", "engineer"] * 8}
    pairs["score"] = [0.0, 1.0] * 8
    every_step = dict.fromkeys(("eval_strategy", "save_strategy"), "steps")
    arguments = library.SentenceTransformerTrainingArguments(
        **{**every_step, "eval_steps": 1, "save_steps": 1, "max_steps": 4, "seed": 1},
        output_dir=str(tmp_path / "run"),
        per_device_train_batch_size=4,
        learning_rate=1e-3,
        save_only_model=True,
        load_best_model_at_end=True,
        metric_for_best_model=key,
        greater_is_better=evaluator.greater_is_better,
        report_to=[],
        use_cpu=True,
    )
    trainer = library.SentenceTransformerTrainer(
        model, arguments, datasets.Dataset.from_dict(pairs), evaluator=evaluator
    )
    trainer.train()
    logged = [row[key] for row in trainer.state.log_history if key in row]
    assert len(logged) == len(set(logged)) == 4
    # What was loaded at the end is what was measured best.
    assert evaluator(model)[evaluator.primary_metric] == pytest.approx(min(logged), rel=1e-6)
    assert mean_effect_size(model, QUERIES) == pytest.approx(min(logged))
    model.save_pretrained(str(tmp_path / "model"))
    card = (tmp_path / "model/README.md").read_text("utf-8")
    assert "wefe.integrations.sentence_transformers.BiasEvaluator" in card
    assert f"{min(logged):.4f}" in card
    assert QUERIES[0].query_name in card


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("wheat",), ValueError, "'wheat'. Did you mean"),
        (([],), ValueError, "queries is empty"),
        ((["she"],), TypeError, "she"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_the_training(arguments, error, message):
    with pytest.raises(error, match=message):
        BiasEvaluator(*arguments)
