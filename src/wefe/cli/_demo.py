"""`wefe demo`, `replicate`, `datasets` and `convert`: what the library has and does."""

from __future__ import annotations

import itertools
import json
import logging
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from wefe._output import Format, as_text, tell, write
from wefe.aggregation import aggregate
from wefe.cli import _options as opt
from wefe.cli._measure import tables_of_models
from wefe.datasets import list_criteria, list_datasets, list_query_sets, load_query_set
from wefe.datasets._queries import open_query_set
from wefe.metrics import WEAT
from wefe.models import convert as convert_model
from wefe.query import Query
from wefe.ranking import create_ranking
from wefe.replication import list_replications
from wefe.replication import replicate as run
from wefe.replication._replication import packaged_models
from wefe.running import measure


@opt.command
def demo() -> None:
    """Measure and rank the packaged vectors; no files needed.

    Runs the ten published association tests (WEAT) with exact p-values on packaged word vectors.
    Then ranks these vectors by several metrics, together with two versions with fewer dimensions
    and a shuffled control.
    """
    logging.getLogger("wefe").setLevel(logging.ERROR)
    lookup: dict[str, Any] = {"preprocessors": opt.preprocessors(True)}
    models = packaged_models(64, 16)
    tell(
        f"1. Ten association tests (Caliskan et al. 2017) on {models[0].name} ({len(models[0]):,} "
        f"words, {models[0].dim} dimensions)\n"
    )
    exact = WEAT(return_effect_size=True, calculate_p_value=True, p_value_method="exact")
    tidy = measure(exact, load_query_set("weat"), models[:1], metric_params=lookup)
    tidy = tidy.rename(columns={"query_name": "test", "score": "effect_size"})
    print(as_text(tidy[["test", "effect_size", "p_value", "words_used", "words_lost"]]))
    tell(
        "\nThe effect size is in standard deviations, from -2 to 2. Above 0, the first target set "
        "is closer to the first attribute set than the second target set is. The p-value comes "
        "from the exact permutation test, one-sided as in the paper; 'wefe measure' tests both "
        "sides, and adjusts p-values for the number of tests.\n"
    )
    queries = load_query_set("gender", offline=True)
    print(f"2. Which of four models? {len(queries)} gender queries (Badilla et al. 2020)\n")
    params: dict[str, dict[str, Any]] = {
        "weat-es": {},
        "rnd": {"normalize": True},
        "ect": {},
        "mac": {},
        "rnsb": {"holdout": False},
    }
    scores = pd.concat(
        measure(name, queries, models, "gender", lookup | own, generate_subqueries=True)
        for name, own in params.items()
    )
    totals = aggregate(scores, "bias_avg")
    shown = scores.rename(columns={"query_set": "queries"})
    write("table", tables_of_models(shown, totals, create_ranking(totals, "min")), {})
    tell(
        "The control has the same vectors, assigned to other words at random, so its scores are "
        "chance. ECT measures whether two groups rank words alike, so chance scores badly on it. "
        "Metrics need not agree: compare several, and their p-values, before you choose a "
        "model.\n\nNext: wefe measure --model FILE --queries gender --metric weat-es; wefe explore "
        "nurse --model FILE for the neighbours of a word; or wefe --help."
    )


@opt.command
def replicate(
    name: str = "",
    *,
    models: opt.Models,
    list_: bool = False,
    out: Path | None = None,
    n_jobs: int = 1,
) -> None:
    """Recompute a paper's tables and figures for your models.

    Prints the tables, and compares your values with the printed ones. They agree, differ (with the
    reason, if known) or cannot be compared. To compare a model, name it as in the paper
    (GloVe=FILE). Without models, the command uses packaged vectors and a shuffled control, to show
    you the output.

    Example: wefe replicate --list

    Example: wefe replicate weat --model GloVe=glove.840B.300d.txt

    Parameters
    ----------
    name : NAME
        The replication; see --list. 'wefe init --template NAME' writes its study file.
    list_
        List the replications, the original models, and where to find them.
    out : FOLDER
        Folder for the report (report.html), tables and results. To continue an interrupted run, run
        the same command again. Default: replicate-NAME.
    """
    if list_ or not name:
        _print_list()
        return
    folder = out or Path(f"replicate-{name}")
    entries = models.entries()
    named = {each["name"] or Path(next(iter(each.values()))).stem: each for each in entries}
    if len(named) < len(entries):
        raise ValueError("two models have the same name. Give each its own: --model NAME=FILE.")
    found = run(name, named or None, folder=folder, n_jobs=n_jobs)
    tell(f"{found.paper['title']} ({found.paper['reference']})", "bold")
    tell("".join(f"Note: {note}\n" for note in found.notes))
    write("table", [(title, table.reset_index()) for title, table in found.tables.items()], {})
    counted = ", ".join(f"{verdict} {n}" for verdict, n in found.verdicts().items())
    tell(f"Printed values: {counted}.")
    differs = found.comparison.query("verdict == 'differs'")
    if len(differs):
        print(as_text(differs[["item", "score", "model", "printed", "value", "reason"]]))
    tell(f"\n{', '.join(found.write(folder))}: {folder}")


def _print_list() -> None:
    for name, paper in list_replications().iterrows():
        tell(f"{name}: {paper['title']}", "bold")
        tell(f"  {paper['reference']}\n  Shows {paper['shows']}.")
        for model, where in paper["models"].items():
            tell(f"  Original model {model}: {where}")
    tell("\nNext, in a minute: wefe replicate NAME, or with --model NAME_OF_MODEL=FILE.")


@opt.command
def datasets(name: str | None = None, *, format: Format = "table", offline: bool = False) -> None:
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
    sides = itertools.chain(*map(attrgetter("_sides"), queries))
    sets = dict.fromkeys(itertools.chain(*sides))
    if format == "table":
        for name, words in sets:
            tell(f"{name} ({len(words)} words)", "bold")
            tell(f"  {', '.join(words)}\n")
        print("Queries", *(query.query_name for query in queries), sep="\n  ")
        return
    frame = pd.DataFrame([*sets], columns=["name", "words"])
    frame.insert(1, "n_words", frame["words"].str.len())
    frame["words"] = frame["words"].str.join(", ")
    write(format, [("Word sets", frame)], {"words": frame})


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
