"""Word sets of Garg, Schiebinger, Jurafsky & Zou (PNAS 2018), EmbeddingDynamicStereotypes."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Literal

from wefe._checks import check_choice
from wefe.datasets._download import fetch_file
from wefe.datasets._shipped import shipped_word_sets

if TYPE_CHECKING:
    import pandas as pd

GENDER_TABLE = "eds/occupation_percentages_gender_occ1950.csv"
ETHNICITY_TABLE = "eds/occupation_percentages_race_occ1950.csv"

CENSUS_YEARS = (*range(1850, 1881, 10), *range(1900, 2001, 10), *range(2001, 2016))
ETHNICITIES = ("white", "black", "asian", "hispanic")
# For each way to count workers: the table and its columns.
_SHARES = {
    "gender": (GENDER_TABLE, ("Female", "Male")),
    "ethnicity": (ETHNICITY_TABLE, (*ETHNICITIES, "aian", "multirace")),
}


def fetch_eds(
    occupations_year: int | str = 2015,
    top_n_race_occupations: int = 10,
    *,
    offline: bool = False,
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
    year = _census_year(occupations_year)
    top_n = operator.index(top_n_race_occupations)
    if top_n < 1:
        raise ValueError(f"top_n_race_occupations must be at least 1; got {top_n}.")
    word_sets: dict[str, list[str]] = shipped_word_sets("eds")
    if not offline:
        word_sets |= _occupations(year, top_n)
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
    >>> from wefe.datasets import fetch_occupation_shares, list_datasets
    >>> if {row["name"]: row["cached"] for row in list_datasets()}["eds"]:
    ...     assert fetch_occupation_shares(2015)["female"].round(2)["nurse"] == 0.86
    """
    table, columns = _SHARES[check_choice("by", by, tuple(_SHARES))]
    rows = _census(table, _census_year(year)).rename_axis("occupation")
    shares = rows[[*columns, "Total Weight"]].rename(columns=str.lower)
    return shares.rename(columns={"total weight": "workers"})


def _census_year(year: object) -> int:
    years: dict[str, int] = {str(known): known for known in CENSUS_YEARS}
    if str(year).strip() not in years:
        raise ValueError(
            f"There is no census of {year}; the available years are {', '.join(years)}."
        )
    return years[str(year).strip()]


def _occupations(year: int, top_n: int) -> dict[str, list[str]]:
    by_gender, by_ethnicity = _census(GENDER_TABLE, year), _census(ETHNICITY_TABLE, year)
    more_men = by_gender["Male"] >= by_gender["Female"]
    sets = {
        "male_occupations": by_gender.index[more_men],
        "female_occupations": by_gender.index[~more_men],
    }
    for group in ETHNICITIES:
        # Ties stay in the order of the table.
        ranked = by_ethnicity.sort_values(group, ascending=False, kind="stable")
        sets[f"occupations_{group}"] = ranked.index[:top_n]
    return {name: names.tolist() for name, names in sets.items()}


def _census(table: str, year: int) -> pd.DataFrame:
    import pandas as pd

    rows = pd.read_csv(fetch_file(table))
    return rows[rows["Census year"] == year].set_index("Occupation")
