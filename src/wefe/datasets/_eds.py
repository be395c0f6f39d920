"""Word sets of Garg, Schiebinger, Jurafsky & Zou (PNAS 2018), EmbeddingDynamicStereotypes."""

from __future__ import annotations

import csv
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
# For each way to count workers: the table, and its columns by their public names.
_SHARES = {
    "gender": (GENDER_TABLE, {"female": "Female", "male": "Male"}),
    "ethnicity": (
        ETHNICITY_TABLE,
        {name: name for name in (*ETHNICITIES, "aian", "multirace")},
    ),
}


def fetch_eds(
    occupations_year: int | str = 2015,
    top_n_race_occupations: int = 10,
    *,
    offline: bool = False,
) -> dict[str, list[str]]:
    """Fetch the word sets of a study of gender and ethnic stereotypes in a century of texts.

    Words that the published lists repeat, such as 'monstrous', are repeated here. Source: Garg et
    al., Word embeddings quantify 100 years of gender and ethnic stereotypes, PNAS 2018.

    Parameters
    ----------
    occupations_year : int or str, default=2015
        Census year of the occupations: 1850 to 1880 and 1900 to 2000 by decades, 2001 to 2015.
    top_n_race_occupations : int, default=10
        Maximum number of occupations for each ethnicity.
    offline : bool, default=False
        Omit the occupations, which the first call downloads (two census tables, 627 kB).

    Returns
    -------
    dict of str to list of str
        - `male_terms`, `female_terms`; `words_*`: christianity, islam, terrorism;
        - `names_*`: surnames in lower case: asian, black, chinese, hispanic, russian, white;
        - `adjectives_*`: appearance, intelligence, otherization, sensitive;
        - `male_occupations`: at least as many men as women; `female_occupations`: the others;
        - `occupations_*`: white, black, asian, hispanic: those with the largest share of the group,
          largest first (earlier releases returned the *smallest* shares).

    Raises
    ------
    ValueError, ConnectionError
        If a parameter has a wrong value, or the download fails or differs from the published file.

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

    Compare them with embeddings by :func:`wefe.explore.correlate_with_statistic`. They come from
    the tables of :func:`fetch_eds`, in the classification of 1950. Rows are words, not groups of
    the census: 'physician', 'surgeon' and 'doctor' have equal rows, and are not independent.

    Parameters
    ----------
    year : int or str, default=2015
        As `occupations_year` of :func:`fetch_eds`.
    by : {'gender', 'ethnicity'}, default='gender'
        Which shares.

    Returns
    -------
    pandas.DataFrame
        About a hundred rows; the index 'occupation' holds single words in lower case. Columns are
        `female`, `male`, or `white`, `black`, `asian`, `hispanic`, `aian` (American Indians and
        Alaska Natives), `multirace`, whose shares sum to 1; and `workers`, their number.

    Raises
    ------
    ValueError, ConnectionError
        As in :func:`fetch_eds`.

    Examples
    --------
    >>> from wefe.datasets import fetch_occupation_shares, list_datasets
    >>> if {row["name"]: row["cached"] for row in list_datasets()}["eds"]:
    ...     assert fetch_occupation_shares(2015)["female"].round(2)["nurse"] == 0.86
    """
    import pandas as pd

    table, columns = _SHARES[check_choice("by", by, tuple(_SHARES))]
    rows = _census_rows(table, _census_year(year))
    return pd.DataFrame(
        {name: [float(row[column]) for row in rows] for name, column in columns.items()}
        | {"workers": [float(row["Total Weight"]) for row in rows]},
        index=pd.Index([row["Occupation"] for row in rows], name="occupation"),
    )


def _census_year(year: object) -> str:
    found = str(year).strip()
    years = [str(known) for known in CENSUS_YEARS]
    if found not in years:
        raise ValueError(
            f"There is no census of {year}; the available years are {', '.join(years)}."
        )
    return found


def _occupations(year: str, top_n: int) -> dict[str, list[str]]:
    by_gender = _census_rows(GENDER_TABLE, year)
    by_ethnicity = _census_rows(ETHNICITY_TABLE, year)
    more_men = [float(row["Male"]) >= float(row["Female"]) for row in by_gender]
    names = [row["Occupation"] for row in by_gender]
    return {
        "male_occupations": [name for name, male in zip(names, more_men, strict=True) if male],
        "female_occupations": [
            name for name, male in zip(names, more_men, strict=True) if not male
        ],
    } | {f"occupations_{group}": _largest(by_ethnicity, group, top_n) for group in ETHNICITIES}


def _largest(rows: list[dict[str, str]], group: str, top_n: int) -> list[str]:
    # `sorted` is stable: ties stay in the order of the table.
    ranked = sorted(rows, key=lambda row: -float(row[group]))
    return [row["Occupation"] for row in ranked[:top_n]]


def _census_rows(table: str, year: str) -> list[dict[str, str]]:
    with fetch_file(table).open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["Census year"] == year]
