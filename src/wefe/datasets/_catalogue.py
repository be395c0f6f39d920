"""Tables of what there is: datasets and query sets."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from wefe.datasets._download import FILES, at_hand
from wefe.datasets._queries import QUERY_SETS, list_queries_left_out, references_to_fetch
from wefe.datasets._shipped import read_shipped


@dataclass(frozen=True)
class _Dataset:
    function: str
    what: str
    word_sets: int
    files: Sequence[str] = ()
    citation: str = ""
    url: str = ""


# The citation of a dataset that ships, in whole or in part, stands in its JSON file.
_DATASETS = {name: _Dataset(**row) for name, row in read_shipped("catalogue/datasets").items()}


def list_datasets() -> list[dict[str, Any]]:
    """List the datasets, for a table; no download is started.

    Returns
    -------
    list of dict
        One per dataset, with the keys

        - `name`, and `function`: the function of :mod:`wefe.datasets` that returns it, or tells
          what there is;
        - `what`: a line of description;
        - `word_sets`: number of entries when everything is at hand;
        - `delivery`: 'shipped', 'fetched' or 'partly fetched';
        - `download_bytes`: size of the download, 0 for none;
        - `cached`: whether the download is at hand and verified, in ``WEFE_DATA_DIR`` or the
          cache; None when there is nothing to download;
        - `source`, `url`: where the words were published.

    Examples
    --------
    >>> from wefe.datasets import list_datasets
    >>> for row in list_datasets():
    ...     print(row["name"], row["word_sets"], row["delivery"])
    weat 32 shipped
    rnsb 2 shipped
    bingliu 2 fetched
    eds 21 partly fetched
    debiaswe 8 partly fetched
    debias_multiclass 25 shipped
    gn_glove 4 fetched
    languages 7 shipped
    holistic_bias 66 fetched
    """
    rows = []
    for name, dataset in _DATASETS.items():
        ships = not dataset.citation
        source = (
            read_shipped(name)["source"]
            if ships
            else {"citation": dataset.citation, "url": dataset.url}
        )
        rows.append(
            {
                "name": name,
                "function": dataset.function,
                "what": dataset.what,
                "word_sets": dataset.word_sets,
                "delivery": _delivery(some_ships=ships, some_fetched=bool(dataset.files)),
                "download_bytes": sum(FILES[file].size for file in dataset.files),
                "cached": at_hand(dataset.files) if dataset.files else None,
                "source": source["citation"],
                "url": source["url"],
            }
        )
    return rows


def list_query_sets() -> list[dict[str, Any]]:
    """List the query sets that :func:`load_query_set` knows; no download is started.

    Returns
    -------
    list of dict
        One per query set, with the keys

        - `name`, and `what`: a line of description;
        - `queries`: number of queries, `queries_offline`: those that need no download;
        - `delivery`: 'shipped', 'fetched' or 'partly fetched';
        - `cached`: whether the download is at hand and verified; None when there is nothing to
          download;
        - `paired_targets`: whether word i of one target set goes with word i of the other, as
          RIPA and direct bias need it;
        - `source`: the study it comes from.

    Examples
    --------
    >>> from wefe.datasets import list_query_sets
    >>> for row in list_query_sets():
    ...     print(row["name"], row["queries"], row["queries_offline"])
    weat 10 10
    gender 7 6
    ethnicity 9 3
    religion 9 6
    case_study 25 15
    rnsb_national_origin 1 0
    rnsb_religion 1 0
    age 4 0
    disability 1 0
    sexual_orientation 4 0
    socioeconomic_class 4 0
    nationality 1 0
    political_views 1 0
    body_type 12 0
    invented_words 1 0
    gender_es 3 3
    gender_fr 3 3
    gender_de 3 3
    gender_it 3 3
    gender_nl 3 3
    gender_sv 3 3
    gender_pt 3 3
    """
    rows = []
    for name, query_set in QUERY_SETS.items():
        left_out, total = len(list_queries_left_out(name)), len(query_set.recipes)
        datasets = dict.fromkeys(part.split("/")[0] for part in references_to_fetch(name))
        files = tuple(file for dataset in datasets for file in _DATASETS[dataset].files)
        rows.append(
            {
                "name": name,
                "what": query_set.what,
                "queries": total,
                "queries_offline": total - left_out,
                "delivery": _delivery(some_ships=left_out < total, some_fetched=bool(left_out)),
                "cached": at_hand(files) if files else None,
                "paired_targets": query_set.paired_targets,
                "source": query_set.source,
            }
        )
    return rows


def _delivery(*, some_ships: bool, some_fetched: bool) -> str:
    if not some_fetched:
        return "shipped"
    return "partly fetched" if some_ships else "fetched"
