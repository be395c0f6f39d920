"""`wefe datasets`: what there is to ask."""

from __future__ import annotations

from typing import Annotated

import typer

from wefe._visible import as_csv
from wefe.cli._output import Format, as_json, as_text


def datasets(
    format: Annotated[  # noqa: A002 - the option is called --format
        Format, typer.Option(help="csv and json keep full texts, with sources and addresses.")
    ] = Format.table,
) -> None:
    """List the published query sets, criteria and word sets.

    'shipped' ones are part of the package; 'fetched' ones are downloaded when first used, checked
    and kept, or read from the folder that WEFE_DATA_DIR names.
    """
    import pandas as pd

    from wefe.datasets import list_criteria, list_datasets, list_query_sets

    query_sets = pd.DataFrame(list_query_sets())
    word_sets = pd.DataFrame(list_datasets())
    if format is Format.json:
        print(as_json({"query_sets": query_sets, "datasets": word_sets}))
        return
    if format is Format.csv:
        both = [query_sets.assign(kind="query set"), word_sets.assign(kind="dataset")]
        print(as_csv(pd.concat(both, ignore_index=True)), end="")
        return
    print("Query sets, for 'wefe measure --queries NAME' and load_query_set(NAME)\n")
    print(as_text(query_sets[["name", "what", "queries", "queries_offline", "source"]]))
    print("\nCriteria, for 'wefe debias --criterion NAME' and load_criterion(NAME)\n")
    print(", ".join(list_criteria()))
    print("\nWord sets, by the functions of wefe.datasets\n")
    print(as_text(word_sets[["function", "what", "word_sets", "delivery"]]))
