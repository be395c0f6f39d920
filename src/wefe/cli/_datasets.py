"""`wefe datasets` and `wefe convert`: list published word lists, and make vectors open at once."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pandas as pd

from wefe._output import Format, say, tell, write
from wefe.cli import _options as opt
from wefe.datasets import list_criteria, list_datasets, list_query_sets
from wefe.datasets._opened import open_query_set
from wefe.models import convert as convert_model
from wefe.query import Query


@opt.command
def datasets(
    name: str | None = None,
    *,
    format: Format = "table",
    offline: bool = False,
) -> None:
    """List published query sets, criteria and word sets.

    With the name of a query set, show its words.

    Data marked 'shipped' are part of the package. Data marked 'fetched' are downloaded on first
    use, verified and cached, or read from the folder in the environment variable WEFE_DATA_DIR.

    Parameters
    ----------
    name : QUERY_SET
        The query set to show. Default: list everything.
    format
        csv and json contain the full texts, with sources and addresses. For a query set, json is a
        file that you can edit and give to --queries.
    """
    if name is not None:
        _show(open_query_set(name, offline, "QUERY_SET").queries, format)
        return
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


def _show(queries: list[Query], format: Format) -> None:
    if format == "json":
        print(json.dumps([query.dict() for query in queries], indent=1))
        return
    # A name may stand for other words in another query.
    sets = dict.fromkeys(itertools.chain(*map(_sets, queries)))
    if format == "table":
        for name, words in sets:
            say(f"{name} ({len(words)} words)", "bold")
            tell(f"  {', '.join(words)}\n")
        print("Queries", *(query.query_name for query in queries), sep="\n  ")
        return
    frame = pd.DataFrame([*sets], columns=["name", "words"])
    frame.insert(1, "n_words", frame["words"].str.len())
    frame["words"] = frame["words"].str.join(", ")
    write(format, [("Word sets", frame)], {"words": frame})


def _sets(query: Query) -> Iterator[tuple[str, tuple[str, ...]]]:
    names = [*query.target_sets_names, *query.attribute_sets_names]
    return zip(names, map(tuple, query.target_sets + query.attribute_sets), strict=True)


@opt.command
def convert(
    source: str,
    path: Path,
    *,
    dtype: Literal["float32", "float16", "int8"] = "float32",
    limit: int | None = None,
    lowercase: bool = False,
    only_prefix: str = "",
    skip_damaged: bool = False,
    trust_pickle: bool = False,
) -> None:
    """Write vectors to a file that opens in milliseconds.

    Reads IN once, with little memory, and writes a safetensors file. OUT appears only when it is
    complete.

    Example: wefe convert glove.840B.300d.zip glove.safetensors --dtype float16

    Parameters
    ----------
    source : IN
        Anything that 'wefe measure --model' accepts.
    path : OUT
        File to write, ending in .safetensors.
    dtype
        float16 takes half the space of float32, int8 a quarter (one scale per word).
    limit : N
        Keep only the first N words; most files begin with frequent words.
    lowercase
        Convert words to lower case. If words become equal, keep the first.
    only_prefix : PREFIX
        Keep only words with this prefix, for example '/c/en/' for the English words of ConceptNet.
    skip_damaged
        Skip damaged lines, and report their number.
    """
    model = convert_model(
        source,
        path,
        dtype,
        limit=limit,
        lowercase="first" if lowercase else None,
        keep=(lambda word: word.startswith(only_prefix)) if only_prefix else None,
        on_error="skip" if skip_damaged else "raise",
        trust_pickle=trust_pickle,
    )
    print(
        f"{path}: {len(model):,} words of {model.dim} dims, {dtype}, "
        f"{path.stat().st_size / 1e6:,.1f} MB"
    )
