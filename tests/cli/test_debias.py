"""`wefe debias` and `wefe datasets`, whose word lists it takes."""

import functools
import json

import pytest
from command_line import wefe

import wefe.debias as wefe_debias
from wefe import load
from wefe.datasets import load_weat_queries
from wefe.datasets._queries import open_query_set
from wefe.debias import list_debias_methods
from wefe.debias._compare import debias_method_name


def test_a_file_is_written_and_it_is_said_what_was_done(tmp_path, no_network):
    out = tmp_path / "out.bin"
    done = wefe("debias", "--model", "demo", "--out", out, environment=no_network)
    assert "minilm-words_gender_debiased, 10,441 of 10,569 vectors changed" in done.stdout
    assert "female and male wrt" in done.stdout
    assert "16 definitional words were equalized" in done.stdout
    # Without a network, words that ship stand in, and a warning says so.
    assert "WARNING: gender: only the 232 specific words that ship" in done.stderr
    model, before = load(out, hold="memory"), load("demo")
    assert list(model.vocab) == list(before.vocab)
    # Ignored, as the criterion says, and in no pair that is equalised.
    assert (model["actress"] == before["actress"]).all()
    assert (model["nurse"] != before["nurse"]).any()
    wefe("debias", "--model", "demo", "--out", tmp_path / "again.bin", "--offline")
    assert out.read_bytes() == (tmp_path / "again.bin").read_bytes()


@pytest.mark.slow
def test_debias_of_an_encoder_writes_a_folder_with_a_model_card(
    tmp_path, no_network, encoder, monkeypatch
):
    # All words of the packaged vectors would take long.
    quick = functools.partial(wefe_debias.debias_encoder, words=[*load("demo").vocab][:400])
    monkeypatch.setattr(wefe_debias, "debias_encoder", quick)
    call = ["debias", "--encoder", f"mini={encoder}", "--out", str(tmp_path / "new")]
    call += ["--method", "leace", "--offline"]
    done = wefe(*call, environment=no_network)
    assert "mini_gender_debiased; see its README.md for what was measured" in done.stdout
    assert "# mini_gender_debiased" in (tmp_path / "new" / "README.md").read_text("utf-8")
    done = wefe(*call, environment=no_network, expect=2)
    assert "is not empty; name a new folder" in done.stderr


def test_word_lists_and_parameters(tmp_path):
    (tmp_path / "ignore.txt").write_text("nurse\n\ndoctor\n")
    (tmp_path / "target.txt").write_text("nurse\nlibrarian\n")
    sets = {"definitional_sets": [["young", "old"], ["girl", "woman"]]}
    (tmp_path / "age.json").write_text(json.dumps(sets))
    done = wefe(
        *["debias", "--model", "demo", "--method", "MulticlassHardDebias"],
        *["--criterion", "age.json", "--out", "out.safetensors"],
        *["--ignore", "ignore.txt", "--target", "target.txt"],
        *["--param", 'pca_args={"n_components": 1}', "--param", "equalize_sets=[]"],
        *["--param", "criterion_name=years"],
        folder=tmp_path,
    )
    assert "minilm-words_years_debiased, 1 of 10,569 vectors changed" in done.stdout
    assert "WEAT" not in done.stdout  # the criterion names no stereotypes


def test_the_help_names_every_method():
    text = "".join(wefe("debias", "--help").stdout.split())
    assert all(debias_method_name(method) in text for method in list_debias_methods())


def test_datasets_are_listed_with_their_words(tmp_path):
    assert "rnsb_national_origin" in wefe("datasets").stdout
    assert {"query_sets", "datasets"} == set(
        json.loads(wefe("datasets", "--format", "json").stdout)
    )
    shown = wefe("datasets", "gender", "--offline").stdout
    assert "Career (8 words)\n  executive, management" in shown
    assert shown.count("Male terms (20 words)") == 1
    table = wefe("datasets", "gender", "--offline", "--format", "csv").stdout
    assert 'Career,8,"executive, ' in table
    own = tmp_path / "own.json"
    own.write_text(wefe("datasets", "weat", "--format", "json").stdout)
    assert [query.dict() for query in open_query_set(str(own)).queries] == [
        query.dict() for query in load_weat_queries()
    ]
