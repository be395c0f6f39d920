"""Word sets of published studies, as shipped or downloaded."""

from __future__ import annotations

import json
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

from wefe._checks import check_choice, check_positive_int
from wefe.datasets._download import fetch_file, shipped_word_sets

if TYPE_CHECKING:
    import pandas as pd


def load_weat() -> dict[str, list[str]]:
    """Load the word sets of the ten WEAT tests (:func:`load_weat_queries`).

    Source: Caliskan et al., Semantics derived automatically from language corpora, Science 2017.

    Returns
    -------
    dict of str to list of str
        32 sets, cased as published: `flowers`, `pleasant_5`, `male_terms` ... A number names the
        test of a variant; `unpleasant_5a`, also called `unpleasant_5`, is for tests 1 and 2,
        `unpleasant_5b` for tests 3 and 4.

    Examples
    --------
    >>> load_weat()["male_names"]
    ['John', 'Paul', 'Mike', 'Kevin', 'Steve', 'Greg', 'Jeff', 'Bill']
    """
    return shipped_word_sets("weat")


def load_rnsb_identity_terms() -> dict[str, list[str]]:
    """Load the identity terms of the RNSB paper, each of which stands for one group.

    Source: Sweeney and Najafian, A Transparent Framework for Evaluating Unintended Demographic Bias
    in Word Embeddings, ACL 2019.

    Returns
    -------
    dict of str to list of str
        `national_origin_terms` (15) and `religion_terms` (17, capitalised as published).

    Examples
    --------
    >>> load_rnsb_identity_terms()["national_origin_terms"][:3]
    ['swedish', 'irish', 'mexican']
    """
    return shipped_word_sets("rnsb")


def fetch_debias_multiclass() -> dict[str, Any]:
    """Return the word sets of Manzini et al., which ship with the package.

    Race is called ethnicity here; many models have 'judgmental', not 'judgemental' as published.
    Source: Manzini et al., Black is to Criminal as Caucasian is to Police, NAACL-HLT 2019.

    Returns
    -------
    dict
        As published, with `gender`, `ethnicity` or `religion` for `*`: `*_definitional_sets`,
        tuples of words, one column per group; `*_analogy_templates`, dict of group to stereotyped
        words; `*_eval_target`, tuples of words, for evaluation. As word sets for queries,
        definitional and stereotyped words:

        - gender: `male_terms`, `female_terms`; `male_roles`, `female_roles`;
        - ethnicity: `black_terms`, `white_terms`, `asian_terms`; `black_biased_words` and so on;
        - religion: `judaism_terms`, `christianity_terms`, `islam_terms`; `greed`, `conservative`,
          `terrorism`.

    Examples
    --------
    >>> fetch_debias_multiclass()["white_terms"]
    ['america', 'caucasian', 'europe', 'white']
    """
    return shipped_word_sets("debias_multiclass")


def fetch_debiaswe(*, offline: bool = False) -> dict[str, Any]:
    """Fetch the word sets of Bolukbasi et al.

    Source: Man is to Computer Programmer as Woman is to Homemaker?, NIPS 2016.

    Parameters
    ----------
    offline : bool, default=False
        Omit what the first call downloads (28 kB): `gender_specific`, `professions` and
        `profession_scores`.

    Returns
    -------
    dict
        - `definitional_pairs`: ten ``[female, male]`` pairs; `female_terms`, `male_terms`: their
          words (exchanged in earlier releases);
        - `equalize_pairs`: 52 pairs; most, not all, begin with the male word;
        - `gender_specific_seed`: 218 words; `gender_specific`: 1441 words learned from them;
        - `professions`: 320 names; `profession_scores`: ``[name, definitional, stereotypical]``
          from -1 (female) to 1 (male): 'actress' is female by definition, 'nurse' by stereotype.

    Examples
    --------
    >>> fetch_debiaswe(offline=True)["definitional_pairs"][:2]
    [['woman', 'man'], ['girl', 'boy']]
    """
    word_sets = shipped_word_sets("debiaswe")
    if not offline:
        scores = json.loads(_fetched("debiaswe/professions.json"))
        word_sets["gender_specific"] = json.loads(_fetched("debiaswe/gender_specific_full.json"))
        word_sets["professions"] = [name for name, _, _ in scores]
        word_sets["profession_scores"] = scores
    return word_sets


def load_bingliu() -> dict[str, list[str]]:
    """Load the opinion lexicon of Hu and Liu; the first call downloads it (73 kB).

    Order and misspellings are as published. 'envious', 'enviously' and 'enviousness' are in both
    lists. Source: M. Hu and B. Liu, Mining and Summarizing Customer Reviews, KDD 2004.

    Returns
    -------
    dict of str to list of str
        `positive_words` (2006) and `negative_words` (4783).

    Examples
    --------
    >>> load_bingliu()["positive_words"][:2]  # doctest: +SKIP
    ['a+', 'abound']
    """
    words = {}
    for kind in ("positive", "negative"):
        lines = map(str.strip, _fetched(f"bingliu/{kind}-words.txt", "latin-1").splitlines())
        words[f"{kind}_words"] = [line for line in lines if line and not line.startswith(";")]
    return words


def fetch_bsa() -> dict[str, list[str]]:
    """Fetch the word lists of Bias Silhouette Analysis; the first call downloads them.

    They combine lists of earlier studies. Names are capitalised, and 19 surnames are in both lists
    of ethnicity, as published. Source: M. Spliethöver and H. Wachsmuth, Bias Silhouette Analysis:
    Towards Assessing the Quality of Bias Metrics for Word Embedding Models, IJCAI 2021.

    Returns
    -------
    dict of str to list of str
        Groups, for example `male` and `female` (39 words each), then concepts, for example
        `male_professions` (224), `female_professions` (66), `positive` (2006), `negative` (4783).

    Examples
    --------
    >>> len(fetch_bsa()["female"])  # doctest: +SKIP
    39
    """
    lexicon = json.loads(_fetched("bsa/social-bias-lexicon.json"))
    groups = chain(*(each.items() for each in lexicon["target_sets"].values()))
    return {name: each["set"] for name, each in [*groups, *lexicon["attribute_sets"].items()]}


def fetch_gn_glove() -> dict[str, Any]:
    """Fetch the paired gender words and SemBias questions of GN-GloVe (a download of 30 kB).

    Source: Zhao et al., Learning Gender-Neutral Word Embeddings, EMNLP 2018, pages 4847-4853.

    Returns
    -------
    dict
        - `male_terms`, `female_terms`: 222 words each, in pairs; words with several counterparts
          are repeated;
        - `sembias`: 440 questions of four pairs, male word first. GN-GloVe was not trained on the
          definition pairs of the last 40 questions;
        - `sembias_labels`: ``["definition", "none", "none", "stereotype"]``.

    Examples
    --------
    >>> fetch_gn_glove()["sembias"][0][0]  # doctest: +SKIP
    ['priest', 'nun']
    """
    return {
        "male_terms": _fetched("gn_glove/male_word_file.txt").split(),
        "female_terms": _fetched("gn_glove/female_word_file.txt").split(),
        "sembias": [
            [pair.split(":") for pair in line.split()]
            for line in filter(None, _fetched("gn_glove/SemBias").splitlines())
        ],
        # The order of the pairs on every line; the file does not say so.
        "sembias_labels": ["definition", "none", "none", "stereotype"],
    }


def load_sembias() -> list[list[list[str]]]:
    """Load 40 questions for :func:`wefe.metrics.sembias`.

    :func:`fetch_gn_glove` has the 440 published ones.

    Returns
    -------
    list of list of [str, str]
        Each question: a definition pair, two neutral pairs, a stereotype pair; male word first.

    Examples
    --------
    >>> load_sembias()[0]
    [['king', 'queen'], ['bread', 'butter'], ['soap', 'towel'], ['engineer', 'librarian']]
    """
    return shipped_word_sets("sembias")["questions"]  # type: ignore[no-any-return]


def fetch_holistic_bias(
    *, several_words: bool = False, dispreferred: bool = False
) -> dict[str, list[str]]:
    """Fetch the descriptors of people of HolisticBias, version 1.1; the first call downloads them.

    It raises ConnectionError if that fails, ValueError if the file differs from the published one.
    Licence: CC BY-SA 4.0. Source: Smith et al., "I'm sorry to hear that": Finding New Biases in
    Language Models with a Holistic Descriptor Dataset, EMNLP 2022.

    Parameters
    ----------
    several_words : bool, default=False
        Keep descriptors such as 'hard-of-hearing', which only encoders can embed.
    dispreferred : bool, default=False
        Keep terms that the people described dislike, according to a survey of the authors.

    Returns
    -------
    dict of str to list of str
        'axis_group' -> its descriptors, for example 'age_old' or 'body_type_thin'. 'nonce_all' has
        invented words, a control. Groups without a word are left out.

    Examples
    --------
    >>> fetch_holistic_bias()["age_young"]  # doctest: +SKIP
    ['young', 'younger']
    """
    sets: dict[str, dict[str, None]] = {}
    for axis, groups in json.loads(_fetched("holistic_bias/descriptors.json")).items():
        for group, entries in groups.items():
            for entry in entries:
                known = {"descriptor": entry} if isinstance(entry, str) else entry
                liked = dispreferred or known.get("preference") != "dispreferred"
                if liked and (several_words or not {*known["descriptor"]} & {" ", "-"}):
                    sets.setdefault(f"{axis}_{group}", {})[known["descriptor"]] = None
    return {name: list(words) for name, words in sets.items()}


def _fetched(name: str, encoding: str = "utf-8") -> str:
    return fetch_file(name).read_text(encoding)


ETHNICITIES = ("white", "black", "asian", "hispanic")
# For each way to count workers: the file of the table, and its columns.
TABLES = {
    "gender": "eds/occupation_percentages_gender_occ1950.csv",
    "ethnicity": "eds/occupation_percentages_race_occ1950.csv",
}
_SHARES = {"gender": ("Female", "Male"), "ethnicity": (*ETHNICITIES, "aian", "multirace")}


def fetch_eds(
    occupations_year: int | str = 2015, top_n_race_occupations: int = 10, *, offline: bool = False
) -> dict[str, list[str]]:
    """Fetch the word sets of a study of gender and ethnic stereotypes in a century of texts.

    Some words are repeated, as published. Source: Garg et al., Word embeddings quantify 100 years
    of gender and ethnic stereotypes, PNAS 2018.

    Parameters
    ----------
    occupations_year : int or str, default=2015
        Census year of the occupations: 1850 to 1880 and 1900 to 2000 by decades, 2001 to 2015.
    top_n_race_occupations : int, default=10
        Maximum number of occupations for each ethnicity.
    offline : bool, default=False
        Omit the occupations, which the first call downloads (two census tables, 627 kB). It raises
        ConnectionError if that fails, ValueError if a file differs from the published one.

    Returns
    -------
    dict of str to list of str
        - `male_terms`, `female_terms`; `words_*`: christianity, islam, terrorism;
        - `names_*`: surnames in lower case: asian, black, chinese, hispanic, russian, white;
        - `adjectives_*`: appearance, intelligence, otherization, sensitive;
        - `male_occupations`: at least as many men as women; `female_occupations`: the others;
        - `occupations_*`: white, black, asian, hispanic: the largest shares of the group, largest
          first (earlier releases returned the *smallest*).

    Examples
    --------
    >>> fetch_eds(offline=True)["adjectives_sensitive"][:3]
    ['inhibited', 'complacent', 'sensitive']
    """
    top_n = check_positive_int("top_n_race_occupations", top_n_race_occupations)
    word_sets: dict[str, list[str]] = shipped_word_sets("eds")
    if offline:
        return word_sets
    by_gender, by_ethnicity = (_census(by, occupations_year) for by in TABLES)
    more_men = by_gender["Male"] >= by_gender["Female"]
    word_sets["male_occupations"] = by_gender.index[more_men].tolist()
    word_sets["female_occupations"] = by_gender.index[~more_men].tolist()
    for group in ETHNICITIES:
        # Ties stay in the order of the table.
        ranked = by_ethnicity.sort_values(group, ascending=False, kind="stable")
        word_sets[f"occupations_{group}"] = ranked.index[:top_n].tolist()
    return word_sets


def fetch_occupation_shares(
    year: int | str = 2015, by: Literal["gender", "ethnicity"] = "gender"
) -> pd.DataFrame:
    """Fetch the shares of women and men, or of ethnicities, in occupations of the United States.

    :func:`wefe.explore.correlate_with_statistic` compares them with embeddings. Source and download
    are those of :func:`fetch_eds`, in the classification of 1950. Rows are words, not groups of the
    census: 'physician', 'surgeon' and 'doctor' have equal rows, and are not independent.

    Parameters
    ----------
    year : int or str, default=2015
        As `occupations_year` of :func:`fetch_eds`.
    by : {'gender', 'ethnicity'}, default='gender'
        Which shares.

    Returns
    -------
    pandas.DataFrame
        Rows by 'occupation', a word in lower case. Columns `female`, `male`, or `white`, `black`,
        `asian`, `hispanic`, `aian` (American Indians and Alaska Natives), `multirace`, which sum to
        1; and `workers`, their number.

    Examples
    --------
    >>> fetch_occupation_shares(2015)["female"].round(2)["nurse"]  # doctest: +SKIP
    0.86
    """
    rows = _census(check_choice("by", by, tuple(_SHARES)), year).rename_axis("occupation")
    shares = rows[[*_SHARES[by], "Total Weight"]].rename(columns=str.lower)
    return shares.rename(columns={"total weight": "workers"})


def _census(by: str, year: int | str) -> pd.DataFrame:
    import pandas as pd

    rows = pd.read_csv(fetch_file(TABLES[by]), dtype={"Census year": str}).set_index("Occupation")
    chosen = check_choice("year", str(year), sorted(rows["Census year"].unique()))
    return pd.DataFrame(rows[rows["Census year"] == chosen])
