"""What is written is read back by the libraries that own the formats."""

import json
from importlib import resources

import pytest
from command_line import STUDY, wefe

from wefe import Query, measure
from wefe.datasets import load_query_set
from wefe.integrations.exports import (
    to_bibtex,
    to_eval_results,
    to_every_eval_ever,
    to_latex,
    to_model_index,
    write_cards,
)
from wefe.study import Study

SCALES = {
    "WEAT-ES": (0.0, -2.0, 2.0),
    "ECT": (1.0, -1.0, 1.0),
    "RND": (0.0, "-Infinity", "Infinity"),
}


@pytest.fixture(scope="module")
def scores(packaged_model):
    """Three metrics; one has no range, and one does not have 0 for no bias."""
    metrics, queries = ["weat-es", "ect", "rnd"], load_query_set("gender", offline=True)[:2]
    options = {"generate_subqueries": True, "progress": False}
    return measure(metrics, {"gender": queries}, [packaged_model], **options)


def test_model_index_is_what_huggingface_hub_makes_of_the_same_scores(scores, packaged_model):
    hub = pytest.importorskip("huggingface_hub")
    card_data = pytest.importorskip("huggingface_hub.repocard_data")
    index = to_model_index(scores)
    name, found = card_data.model_index_to_eval_results(index)
    assert (name, len(found)) == (packaged_model.name, len(scores))
    # Entries with metrics of one query in common, and none besides.
    assert len(index[0]["results"]) == scores["query_name"].nunique()
    card = hub.ModelCardData(model_name=name, eval_results=found)
    assert card.to_dict()["model-index"] == index
    by_place = {(each.dataset_config, each.metric_name): each for each in found}
    for row in scores.to_dict("records"):
        each = by_place[row["query_name"], row["metric"]]
        assert each.metric_value == row["score"]
        bounds = tuple(each.metric_args[key] for key in ("no_bias_value", "scale_min", "scale_max"))
        assert bounds == SCALES[row["metric"]]
        assert each.metric_args["bias"] == abs(row["score"] - bounds[0])


def test_a_card_with_scores_is_read_by_huggingface_hub(results, tmp_path):
    hub = pytest.importorskip("huggingface_hub")
    names = write_cards(results, tmp_path)
    assert names == ["minilm-words.yaml", "minilm-words-hard-debias-gender.yaml"]
    text = (tmp_path / names[1]).read_text(encoding="utf-8")
    assert "&id" not in text  # of YAML's references, which few people can read
    card = hub.ModelCard(f"---\nlicense: mit\n{text}---\n# A model\n")
    model = "minilm-words (hard-debias, gender)"
    assert card.data.to_dict()["model-index"] == to_model_index(results, model)


def test_eval_results_are_read_by_huggingface_hub(scores):
    hub = pytest.importorskip("huggingface_hub", minversion="1.3")
    entries = to_eval_results(scores, "you/bias")
    parsed = hub.parse_eval_result_entries(entries)
    assert hub.eval_result_entries_to_yaml(parsed) == entries
    assert [each.task_id for each in parsed] == ["gender-weat-es", "gender-ect", "gender-rnd"]
    ect = scores.loc[scores["metric"] == "ECT", "score"]
    assert parsed[1].value == pytest.approx((1 - ect).mean())
    assert "ECT: no bias is 1, the range is -1 to 1" in parsed[1].notes
    assert "RND: no bias is 0, the range is -inf to inf" in parsed[2].notes


@pytest.mark.parametrize("of", ["measure", "study"])
def test_records_follow_the_schema_of_every_eval_ever(of, scores, results):
    jsonschema = pytest.importorskip("jsonschema")
    pytest.importorskip("every_eval_ever")
    schema = json.loads(
        (resources.files("every_eval_ever") / "schemas/eval.schema.json").read_text()
    )
    table, model = (scores, None) if of == "measure" else (results, "minilm-words")
    record = to_every_eval_ever(table, model)
    assert record["schema_version"] == schema["version"]
    jsonschema.validate(json.loads(json.dumps(record, allow_nan=False)), schema)
    del record["evaluation_results"][0]["metric_config"]["max_score"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(record, schema)


def test_records_have_distances_and_the_scale_they_come_from(scores):
    record = to_every_eval_ever(scores)
    assert len(record["evaluation_results"]) == len(scores)
    for each, row in zip(record["evaluation_results"], scores.to_dict("records"), strict=True):
        config, details = each["metric_config"], each["score_details"]
        no_bias, low, high = SCALES[row["metric"]]
        assert details["score"] == pytest.approx(abs(row["score"] - no_bias))
        assert float(details["details"]["score"]) == row["score"]
        assert config["lower_is_better"] is True
        if high != "Infinity":
            high = max(abs(low - no_bias), abs(high - no_bias))
        assert config["max_score"] == high
        assert float(config["additional_details"]["no_bias_value"]) == no_bias


def test_scores_that_are_nan_are_left_out_and_named(toy_model, toy_query, caplog):
    lost = Query([["she", "woman"], ["he", "man"]], [["home", "xyzzy"], ["boss", "job"]])
    table = measure("weat-es", [toy_query, lost], [toy_model], progress=False)
    (entry,) = to_model_index(table)[0]["results"]
    assert entry["dataset"]["config"] == toy_query.query_name
    assert "'Attribute set 0' lost 50% of its words" in caplog.text
    assert len(to_every_eval_ever(table)["evaluation_results"]) == 1


def test_latex_and_bibtex_are_those_of_the_command(tmp_path, scores):
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    study = Study.from_file(tmp_path / "study.toml").run(":memory:", progress=False)
    (query,) = study.plan.query_sets[0].queries
    (tmp_path / "Own.json").write_text(query.to_json(), encoding="utf-8")
    call = "measure --model demo --queries Own.json --format latex --bibtex a.bib"
    done = wefe(*call.split(), folder=tmp_path)
    assert to_latex(study).strip() == done.stdout.strip()
    assert to_bibtex(study) == (tmp_path / "a.bib").read_text(encoding="utf-8")
    assert to_latex(scores).count(r"\begin{table}") == 3


def test_the_command_writes_a_file_for_each_model(tmp_path):
    pytest.importorskip("yaml")
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    run = ["run", "study.toml", "--export", "cards", "--export-format"]
    assert "1 model: cards" in wefe(*run, "model-index", folder=tmp_path).stdout
    wefe("report", "study.toml", *run[2:], "every-eval-ever", folder=tmp_path)
    assert {path.name for path in (tmp_path / "cards").iterdir()} == {"demo.yaml", "demo.json"}
    record = json.loads((tmp_path / "cards/demo.json").read_text(encoding="utf-8"))
    assert (record["model_info"]["id"], len(record["evaluation_results"])) == ("demo", 1)


@pytest.mark.parametrize(
    ("export", "options", "message"),
    [
        (to_model_index, {}, "'minilm-words', 'minilm-words"),
        (to_model_index, {"model": "x"}, "got str 'x'"),
    ],
)
def test_wrong_input_is_refused(results, export, options, message):
    with pytest.raises(ValueError, match=message):
        export(results, **options)
    with pytest.raises(TypeError, match=r"wefe\.measure"):
        to_model_index(results.to_frame()[["score"]])
