"""The JSON files of the package, and the loaders that need nothing else."""

import json
import re
import subprocess
import sys
from importlib import resources

import pytest

from wefe import datasets
from wefe.datasets._download import read_shipped

DATA = resources.files("wefe.datasets") / "data"

# Key, number of words, the first and the last one, as listed with the published stimuli.
WEAT = """
flowers 25 aster zinnia
insects 25 ant weevil
pleasant_5 25 caress vacation
unpleasant_5 25 abuse prison
unpleasant_5a 25 abuse prison
unpleasant_5b 25 abuse vomit
instruments 25 bagpipe violin
weapons 25 arrow whip
european_american_names_5 32 Adam Rachel
african_american_names_5 32 Alonzo Yvette
european_american_names_7 18 Brad Sarah
african_american_names_7 18 Darnell Tanisha
pleasant_9 8 joy happy
unpleasant_9 8 agony failure
male_names 8 John Bill
female_names 8 Amy Donna
career 8 executive career
family 8 home relatives
math 8 math addition
arts 8 poetry sculpture
male_terms 8 male son
female_terms 8 female daughter
science 8 science astronomy
arts_2 8 poetry drama
male_terms_2 8 brother him
female_terms_2 8 sister her
mental_disease 6 sad depressed
physical_disease 6 sick cancer
temporary 7 impermanent occasional
permanent 7 stable forever
young_people_names 8 Tiffany Bill
old_people_names 8 Ethel Edgar
"""
SHIPPED_LOADERS = {
    "weat": datasets.load_weat,
    "rnsb": datasets.load_rnsb_identity_terms,
    "eds": lambda: datasets.fetch_eds(offline=True),
    "debiaswe": lambda: datasets.fetch_debiaswe(offline=True),
    "debias_multiclass": datasets.fetch_debias_multiclass,
}


def test_weat_has_the_published_sets():
    sets = datasets.load_weat()
    rows = [f"{key} {len(words)} {words[0]} {words[-1]}" for key, words in sets.items()]
    assert sorted(rows) == sorted(WEAT.strip().split("\n"))


def test_multiclass_word_sets_come_from_columns_and_templates():
    word_sets = datasets.fetch_debias_multiclass()
    expected = {
        "male_terms": "he his son father male boy uncle",
        "white_terms": "america caucasian europe white",
        "asian_biased_words": "doctor engineer laborer teacher",
        "islam_terms": "imam islam mosque muslim quran",
        "conservative": "judgemental conservative familial",
    }
    assert {key: " ".join(word_sets[key]) for key in expected} == expected


@pytest.mark.parametrize("name", SHIPPED_LOADERS)
def test_changing_a_result_does_not_change_the_next_one(name):
    load = SHIPPED_LOADERS[name]
    before, changed = json.dumps(load()), load()
    for value in changed.values():
        for inner in value.values() if isinstance(value, dict) else [value]:
            inner.clear()
    changed.clear()
    assert json.dumps(load()) == before


@pytest.mark.parametrize("name", [*SHIPPED_LOADERS, "sembias"])
def test_shipped_words_are_clean(name):
    words = re.findall(r'"([^"]*)"', json.dumps(read_shipped(name)["word_sets"]))
    assert words
    assert all(word and " " not in word for word in words)


def test_shipped_words_equal_the_published_files(mirror):
    renamed = {
        "male_terms": "male_pairs",
        "female_terms": "female_pairs",
        "adjectives_intelligence": "adjectives_intelligencegeneral",
    }
    for key, words in datasets.fetch_eds(offline=True).items():
        assert (mirror / "eds" / f"{renamed.get(key, key)}.txt").read_text().split() == words
    debiaswe = datasets.fetch_debiaswe(offline=True)
    for key in ("definitional_pairs", "equalize_pairs", "gender_specific_seed"):
        assert json.loads((mirror / "debiaswe" / f"{key}.json").read_text()) == debiaswe[key]
    multiclass = datasets.fetch_debias_multiclass()
    for file, criterion in ("gender",) * 2, ("race", "ethnicity"), ("religion",) * 2:
        published = json.loads((mirror / "multiclass" / f"{file}_attributes_optm.json").read_text())
        (templates,) = published["analogy_templates"].values()
        assert published["definite_sets"] == multiclass[f"{criterion}_definitional_sets"]
        assert published["eval_targets"] == multiclass[f"{criterion}_eval_target"]
        assert templates == multiclass[f"{criterion}_analogy_templates"]


def test_import_and_shipped_words_need_no_heavy_library():
    code = (
        "import sys, wefe.datasets as d; d.load_weat(); d.fetch_eds(offline=True); "
        "assert not {'pooch', 'requests', 'pandas'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
