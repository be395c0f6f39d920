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
# By what workers are counted: the table, and its columns by the names that users see.
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
    """Fetch the gender terms, names, adjectives and occupations of a study of a century [1]_.

    Terms, names and adjectives ship with the package; the occupations come from two census tables,
    which the first call downloads.

    Parameters
    ----------
    occupations_year : int or str, default=2015
        Census year of the occupations: 1850 to 1880 and 1900 to 2000 by decades, 2001 to 2015.
    top_n_race_occupations : int, default=10
        How many occupations to return for each ethnicity; all, when there are fewer.
    offline : bool, default=False
        If True, nothing is downloaded and the occupations are left out.

    Returns
    -------
    dict of str to list of str
        - `male_terms`, `female_terms`;
        - `names_asian`, `names_black`, `names_chinese`, `names_hispanic`, `names_russian`,
          `names_white`: surnames, in lower case;
        - `adjectives_appearance`, `adjectives_intelligence`, `adjectives_otherization`,
          `adjectives_sensitive`;
        - `words_christianity`, `words_islam`, `words_terrorism`;
        - `male_occupations`: those with at least as many men as women, `female_occupations`: the
          others, both in the order of the table;
        - `occupations_white`, `occupations_black`, `occupations_asian`, `occupations_hispanic`: the
          `top_n_race_occupations` occupations with the largest share of that group, the largest
          first, ties in the order of the table.

        Words that the published lists repeat (such as 'monstrous') are repeated here.

    Raises
    ------
    ValueError
        If `occupations_year` is not a census year, `top_n_race_occupations` is below 1, or a file
        found is not the one published.
    ConnectionError
        If the census tables are neither at hand nor to be downloaded.

    Notes
    -----
    Earlier releases sorted the shares in ascending order and so returned the occupations with
    the smallest share of each group. Results with those lists differ from results with these.

    The tables (627 kB) are cached. Without internet, the environment variable ``WEFE_DATA_DIR`` may
    name a folder that holds them under ``eds/``, named as published.

    References
    ----------
    .. [1] N. Garg, L. Schiebinger, D. Jurafsky and J. Zou. Word embeddings quantify 100 years of
       gender and ethnic stereotypes. PNAS 115(16):E3635-E3644, 2018.

    Examples
    --------
    >>> from wefe.datasets import fetch_eds
    >>> word_sets = fetch_eds(offline=True)
    >>> word_sets["adjectives_sensitive"][:3]
    ['inhibited', 'complacent', 'sensitive']
    >>> "male_occupations" in word_sets
    False
    >>> fetch_eds(occupations_year=1890)
    Traceback (most recent call last):
    ...
    ValueError: There is no census of 1890; the available years are 1850, 1860, ..., 2014, 2015.
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

    They are the statistics of the world that [1]_ compares embeddings with; see
    :func:`wefe.explore.correlate_with_statistic`.

    Parameters
    ----------
    year : int or str, default=2015
        Census year: 1850 to 1880 and 1900 to 2000 by decades, 2001 to 2015.
    by : {'gender', 'ethnicity'}, default='gender'
        Which shares.

    Returns
    -------
    pandas.DataFrame
        One row per occupation, in the order of the table, about a hundred; the index is named
        'occupation', and its entries are single words in lower case. Columns:

        - for 'gender': `female` and `male`; for 'ethnicity': `white`, `black`, `asian`,
          `hispanic`, `aian` (American Indians and Alaska Natives) and `multirace`. Shares of the
          workers of the occupation, in [0, 1], not percent; those of a row sum to 1;
        - `workers`: how many people the occupation has, estimated from the weighted sample of
          the census.

    Raises
    ------
    ValueError
        If `year` is not a census year, `by` is neither, or a file found is not the one published.
    ConnectionError
        If the census table is neither at hand nor to be downloaded.

    Notes
    -----
    The table has one row per *word*. Several words may stand for one group of the census, as
    'physician', 'surgeon' and 'doctor' do: their rows are equal, and they are not independent
    observations. Occupations of 2015 are those of the classification of 1950.

    The tables are those of :func:`fetch_eds`, where is said how they are cached and found offline.

    References
    ----------
    .. [1] N. Garg, L. Schiebinger, D. Jurafsky and J. Zou. Word embeddings quantify 100 years of
       gender and ethnic stereotypes. PNAS 115(16):E3635-E3644, 2018.

    Examples
    --------
    >>> from wefe.datasets import fetch_occupation_shares
    >>> shares = fetch_occupation_shares(2015)  # doctest: +SKIP
    >>> shares["female"].round(2)[["nurse", "pilot"]].to_dict()  # doctest: +SKIP
    {'nurse': 0.86, 'pilot': 0.06}
    >>> fetch_occupation_shares(2015, by="age")
    Traceback (most recent call last):
    ...
    ValueError: by must be one of 'gender', 'ethnicity'; got str 'age'.
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
