"""Tables of the datasets and query sets."""

from typing import Any

from wefe.datasets._download import FILES, at_hand
from wefe.datasets._queries import QUERY_SETS, datasets_to_fetch, list_queries_left_out
from wefe.datasets._shipped import read_shipped


def list_datasets() -> list[dict[str, Any]]:
    """List the datasets, without downloading anything.

    Returns
    -------
    list of dict
        - `name`; `function`: the function of :mod:`wefe.datasets` that returns or describes it;
        - `what`: one line of description; `word_sets`: their number, downloads included;
        - `delivery`: 'shipped', 'fetched' or 'partly fetched'; `download_bytes`: 0 for none;
        - `cached`: whether the download is present and verified, or None without a download;
        - `source`, `url`: the publication.

    Examples
    --------
    >>> [(row["name"], row["word_sets"], row["delivery"]) for row in list_datasets()[:2]]
    [('weat', 32, 'shipped'), ('rnsb', 2, 'shipped')]
    """
    rows = []
    for name, row in read_shipped("catalogue/datasets").items():
        # Datasets that ship, in whole or in part, have their citation in their JSON file.
        ships, files = "citation" not in row, row.get("files", ())
        source = read_shipped(name)["source"] if ships else row
        rows.append(
            {
                "name": name,
                "function": row["function"],
                "what": row["what"],
                "word_sets": row["word_sets"],
                "delivery": _delivery(some_ships=ships, some_fetched=bool(files)),
                "download_bytes": sum(FILES[file].size for file in files),
                "cached": at_hand(files) if files else None,
                "source": source["citation"],
                "url": source["url"],
            }
        )
    return rows


def list_query_sets() -> list[dict[str, Any]]:
    """List the query sets of :func:`load_query_set`, without downloading anything.

    Returns
    -------
    list of dict
        One per query set: `name`, `what`, `delivery`, `cached` and `source` as in
        :func:`list_datasets`; `queries` and `queries_offline`, their numbers with and without a
        download; and `paired_targets`, whether words i of the target sets belong together, as RIPA
        and direct bias require.

    Examples
    --------
    >>> [(row["name"], row["queries"], row["queries_offline"]) for row in list_query_sets()[:2]]
    [('weat', 10, 10), ('gender', 7, 6)]
    """
    rows, datasets = [], read_shipped("catalogue/datasets")
    for name, row in QUERY_SETS.items():
        left_out, total = len(list_queries_left_out(name)), len(row["recipes"])
        files = [file for dataset in datasets_to_fetch(name) for file in datasets[dataset]["files"]]
        rows.append(
            {
                "name": name,
                "what": row["what"],
                "queries": total,
                "queries_offline": total - left_out,
                "delivery": _delivery(some_ships=left_out < total, some_fetched=bool(left_out)),
                "cached": at_hand(files) if files else None,
                "paired_targets": row.get("paired_targets", False),
                "source": row["source"],
            }
        )
    return rows


def _delivery(*, some_ships: bool, some_fetched: bool) -> str:
    if not some_fetched:
        return "shipped"
    return "partly fetched" if some_ships else "fetched"
