"""`wefe datasets`: list the published query sets, criteria and word sets."""

from __future__ import annotations

import pandas as pd

from wefe._output import Format, write
from wefe.cli import _options as opt


@opt.command
def datasets(
    *,
    format: Format = "table",
) -> None:
    """List the published query sets, criteria and word sets.

    Data marked 'shipped' are part of the package. Data marked 'fetched' are downloaded on first
    use, verified and cached, or read from the folder in the environment variable WEFE_DATA_DIR.

    Parameters
    ----------
    format
        csv and json contain the full texts, with sources and addresses.
    """
    from wefe.datasets import list_criteria, list_datasets, list_query_sets

    query_sets = pd.DataFrame(list_query_sets())
    word_sets = pd.DataFrame(list_datasets())
    both = [query_sets.assign(kind="query set"), word_sets.assign(kind="dataset")]
    criteria = pd.DataFrame({"name": list_criteria()})
    shown = {
        "Query sets, for 'wefe measure --queries NAME' and load_query_set(NAME)": query_sets[
            ["name", "queries", "queries_offline", "what", "source"]
        ],
        "Criteria, for 'wefe debias --criterion NAME' and load_criterion(NAME)": criteria,
        "Word sets, by the functions of wefe.datasets": word_sets[
            ["function", "word_sets", "delivery", "what"]
        ],
    }
    if format == "csv":
        write(format, [], {"both": pd.concat(both, ignore_index=True)})
    else:
        write(format, shown.items(), {"query_sets": query_sets, "datasets": word_sets})
