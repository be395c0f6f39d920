"""The datasets with downloaded parts, read from the local mirror."""

import json
from pathlib import Path

import pandas as pd
import pytest

from wefe import datasets
from wefe.datasets import _eds
from wefe.datasets._download import FILES, find_file
from wefe.datasets._eds import CENSUS_YEARS, ETHNICITIES
from wefe.study import Study

OCCUPATIONS = {
    "male_occupations",
    "female_occupations",
    "occupations_white",
    "occupations_black",
    "occupations_asian",
    "occupations_hispanic",
}


def census(mirror, table, year):
    frame = pd.read_csv(mirror / "eds" / f"occupation_percentages_{table}_occ1950.csv")
    return frame[frame["Census year"] == year]


def test_bingliu_has_the_published_words_in_their_order(mirror):
    lexicon = datasets.load_bingliu()
    positive, negative = lexicon["positive_words"], lexicon["negative_words"]
    assert (len(positive), len(negative)) == (2006, 4783)
    assert (len(set(positive)), len(set(negative))) == (2006, 4783)
    assert (positive[0], positive[-1]) == ("a+", "zippy")
    assert (negative[0], negative[-1]) == ("2-faced", "zombie")
    assert set(positive) & set(negative) == {"envious", "enviously", "enviousness"}


def test_bingliu_is_read_as_latin_1_without_comments(mirror):
    lexicon = datasets.load_bingliu()
    words = lexicon["positive_words"] + lexicon["negative_words"]
    assert [word for word in words if not word.isascii()] == ["naïve"]
    assert not any(word.startswith(";") or word != word.strip() for word in words)


def test_eds_adds_the_occupations_to_the_shipped_sets(mirror):
    word_sets = datasets.fetch_eds()
    shipped = datasets.fetch_eds(offline=True)
    assert set(word_sets) == set(shipped) | OCCUPATIONS
    assert len(word_sets) == 21
    assert {key: word_sets[key] for key in shipped} == shipped


def test_occupations_by_gender_follow_the_larger_share(mirror):
    word_sets = datasets.fetch_eds(occupations_year=1990)
    table = census(mirror, "gender", 1990)
    more_men = table["Male"] >= table["Female"]
    assert word_sets["male_occupations"] == table["Occupation"][more_men].tolist()
    assert word_sets["female_occupations"] == table["Occupation"][~more_men].tolist()


def test_an_occupation_with_as_many_men_as_women_counts_as_male(monkeypatch):
    # The census tables have no such case.
    rows = [{"Occupation": "clerk", "Male": "0.5", "Female": "0.5"}]
    rows[0] |= dict.fromkeys(ETHNICITIES, "0.25")
    monkeypatch.setattr(_eds, "_census_rows", lambda table, year: rows)
    word_sets = datasets.fetch_eds()
    assert word_sets["male_occupations"] == ["clerk"]
    assert word_sets["female_occupations"] == []


@pytest.mark.parametrize("year", [1850, 1900, 2000, 2015])
@pytest.mark.parametrize("top_n", [1, 10])
def test_occupations_by_ethnicity_have_the_largest_shares(mirror, year, top_n):
    word_sets = datasets.fetch_eds(year, top_n)
    table = census(mirror, "race", year)
    for group in ETHNICITIES:
        expected = table.nlargest(top_n, group, keep="first")["Occupation"].tolist()
        assert word_sets[f"occupations_{group}"] == expected


def test_occupations_of_2015_are_not_those_with_the_smallest_share(mirror):
    word_sets = datasets.fetch_eds()
    assert word_sets["occupations_white"][:2] == ["pilot", "veterinarian"]
    assert word_sets["occupations_hispanic"][0] == "plasterer"
    assert {"plasterer", "janitor", "porter"}.isdisjoint(word_sets["occupations_white"])


def test_more_occupations_than_there_are_means_all(mirror):
    table = census(mirror, "race", 2015)
    occupations = datasets.fetch_eds(top_n_race_occupations=10_000)["occupations_asian"]
    assert sorted(occupations) == sorted(table["Occupation"])


def test_the_census_year_may_be_a_string(mirror):
    assert datasets.fetch_eds("1930") == datasets.fetch_eds(1930)


@pytest.mark.parametrize("year", [1890, "2016", 2015.5, None, "", "recent"])
@pytest.mark.parametrize("offline", [True, False])
def test_unknown_census_year_lists_those_available(year, offline):
    with pytest.raises(ValueError, match=r"available years are 1850, .*1880, 1900, .*2015\."):
        datasets.fetch_eds(occupations_year=year, offline=offline)


@pytest.mark.parametrize("top_n", [0, -1])
def test_number_of_occupations_must_be_positive(top_n):
    with pytest.raises(ValueError, match="at least 1"):
        datasets.fetch_eds(top_n_race_occupations=top_n, offline=True)


@pytest.mark.parametrize("table", ["gender", "race"])
def test_the_years_named_are_those_of_the_census_tables(mirror, table):
    frame = pd.read_csv(mirror / "eds" / f"occupation_percentages_{table}_occ1950.csv")
    assert set(frame["Census year"]) == set(CENSUS_YEARS)


def test_debiaswe_adds_the_bulk_lists(mirror):
    word_sets = datasets.fetch_debiaswe()
    gender_specific, professions = word_sets["gender_specific"], word_sets["professions"]
    assert (len(gender_specific), len(set(gender_specific))) == (1441, 1441)
    assert gender_specific[:4] == ["he", "his", "He", "her"]
    assert "fiancée" in gender_specific
    assert (len(professions), professions[0], professions[-1]) == (320, "accountant", "writer")
    shipped = datasets.fetch_debiaswe(offline=True)
    assert {key: word_sets[key] for key in shipped} == shipped


def test_profession_scores_are_definitional_then_stereotypical(mirror):
    word_sets = datasets.fetch_debiaswe()
    scores = {name: values for name, *values in word_sets["profession_scores"]}
    assert list(scores) == word_sets["professions"]
    assert scores["actress"] == [-1.0, 0.0]
    assert scores["nurse"] == [-0.1, -0.9]


def test_gn_glove_lists_are_aligned_pairs(mirror):
    word_sets = datasets.fetch_gn_glove()
    male, female = word_sets["male_terms"], word_sets["female_terms"]
    pairs = list(zip(male, female, strict=True))
    assert len(pairs) == 222
    assert pairs[:2] == [("countryman", "countrywoman"), ("fraternal", "sororal")]
    assert pairs[-1] == ("heros", "heroines")


def test_sembias_questions_keep_the_order_of_their_labels(mirror):
    word_sets = datasets.fetch_gn_glove()
    questions = word_sets["sembias"]
    assert word_sets["sembias_labels"] == ["definition", "none", "none", "stereotype"]
    assert len(questions) == 440
    assert {len(question) for question in questions} == {4}
    assert {len(pair) for question in questions for pair in question} == {2}
    assert questions[0] == [
        ["priest", "nun"],
        ["dog", "bitch"],
        ["book", "magazine"],
        ["doctor", "nurse"],
    ]
    definitions, _, _, stereotypes = zip(*questions, strict=True)
    assert len({tuple(pair) for pair in definitions}) == 22
    assert len({tuple(pair) for pair in stereotypes}) == 20
    subset = {tuple(pair) for pair in definitions[-40:]}
    assert subset.isdisjoint(tuple(pair) for pair in definitions[:400])


def test_changing_a_fetched_result_does_not_change_the_next_one(mirror):
    for fetch in (
        datasets.load_bingliu,
        datasets.fetch_eds,
        datasets.fetch_debiaswe,
        datasets.fetch_gn_glove,
    ):
        before = json.dumps(fetch())
        for words in fetch().values():
            words.clear()
        assert json.dumps(fetch()) == before


def test_no_list_of_the_package_is_a_fetched_one(mirror):
    data = Path(datasets.__file__).parent / "data"
    # One list per line in these files.
    shipped = [
        line for file in data.glob("*.json") for line in file.read_text("ascii").splitlines()
    ]
    eds, debiaswe = datasets.fetch_eds(), datasets.fetch_debiaswe()
    gn_glove = datasets.fetch_gn_glove()
    for words in (
        *datasets.load_bingliu().values(),
        eds["male_occupations"],
        debiaswe["gender_specific"],
        debiaswe["professions"],
        gn_glove["male_terms"],
        gn_glove["female_terms"],
    ):
        # The lists of gender words, being about the same thing, share many.
        carried = max(sum(f'"{word}"' in line for word in set(words)) for line in shipped)
        assert carried < 0.6 * len(set(words))


def test_every_bulk_file_has_the_size_and_checksum_registered(mirror):
    for name, file in FILES.items():
        assert find_file(name) == mirror / name
        assert (mirror / name).stat().st_size == file.size
        assert file.url.startswith("https://raw.githubusercontent.com/")
        assert file.url.endswith(name.rpartition("/")[2])


def test_bsa_has_the_published_lists(mirror):
    lists = datasets.fetch_bsa()
    sizes = {"male": 39, "female": 39, "european_american": 82, "african_american": 80}
    sizes |= {"male_professions": 224, "female_professions": 66, "positive": 2006}
    assert {name: len(lists[name]) for name in sizes} == sizes
    assert {"Mary", "Victoria"} <= set(lists["female"])
    lexicon = datasets.load_bingliu()["negative_words"]
    # Its copy was read in another encoding.
    assert set(lexicon) - set(lists["negative"]) == {"naïve"}
    assert len(lists) == 26


def test_holistic_bias_keeps_single_words_that_nobody_dislikes(mirror):
    groups = datasets.fetch_holistic_bias()
    assert len(groups) == 66
    assert groups["age_old"][:4] == ["octogenarian", "nonagenarian", "centenarian", "older"]
    assert groups["ability_neurological"] == ["autistic"]
    assert not any(" " in word or "-" in word for words in groups.values() for word in words)
    phrases = datasets.fetch_holistic_bias(several_words=True)
    assert "hard-of-hearing" in phrases["ability_auditory"]
    everything = datasets.fetch_holistic_bias(several_words=True, dispreferred=True)
    published = json.loads((mirror / "holistic_bias" / "descriptors.json").read_text("utf-8"))
    n_published = sum(len(words) for axis in published.values() for words in axis.values())
    n_repeated = n_published - sum(map(len, everything.values()))
    assert 0 <= n_repeated <= 3
    assert "dainty" in everything["body_type_thin"]
    assert "dainty" not in phrases["body_type_thin"]


def test_encoders_are_asked_about_descriptors_of_several_words(mirror):
    encoder = {"encoder": str(mirror)}  # planned, not opened
    declared = {"queries": [{"set": "age"}], "metrics": [{"metric": "weat-es"}], "name": "Age"}
    for models, several in ([encoder], True), ([encoder, {"source": "demo"}], False):
        asked = Study(declared | {"models": models}).plan.query_sets[0].queries[0]
        assert any("-" in word for word in asked.target_sets[1]) == several


def test_queries_about_people_are_made_of_holistic_bias(mirror):
    old = datasets.load_query_set("age")
    assert [query.template for query in old] == [(2, 2), (2, 1), (2, 1), (2, 1)]
    assert old[0].query_name == "Young and Old wrt Pleasant and Unpleasant"
    (views,) = datasets.load_query_set("political_views")
    assert views.template == (18, 2)
    assert views.target_sets[0] == ["liberal"]
    bodies = datasets.load_query_set("body_type")
    assert {query.target_sets_names[0] for query in bodies} == {
        "Thin",
        "Attractive",
        "Small stature",
    }
    (control,) = datasets.load_query_set("invented_words")
    assert control.target_sets[0] == ["blicket"]


def test_queries_about_people_need_a_download():
    for name in ("age", "disability", "sexual_orientation", "socioeconomic_class"):
        assert datasets.load_query_set(name, offline=True) == []
        assert len(datasets.list_queries_left_out(name)) in (1, 4)
