"""`wefe silhouette`: check how much scores depend on the choice of words."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from wefe._files import atomic_file
from wefe._output import Format, write
from wefe._visible import as_csv
from wefe.cli import _options as opt
from wefe.datasets._opened import OpenedQueries
from wefe.metrics._registry import as_metric
from wefe.models._load import words_of
from wefe.query import Query
from wefe.silhouette import SilhouetteStudy, silhouette_study
from wefe.silhouette._study import NothingMeasuredError

_ACCURACY = ["metric", "bias_type", "list_type", "accuracy"]


@opt.command
def silhouette(
    *,
    queries: list[str],
    out: Path,
    models: opt.Models,
    metric: list[str] = ["weat"],
    vary: Literal["targets", "attributes", "both"] = "both",
    runs: int = 100,
    step: int | None = None,
    unbiased: str | None = None,
    biased: str | None = None,
    seed: int = 0,
    n_jobs: int = 1,
    param: list[str] = [],
    lowercase: bool = True,
    offline: bool = False,
    format: Format = "table",
) -> None:
    """Check how much scores depend on the choice of words.

    Bias Silhouette Analysis measures each query with more and more of its words, in many random
    orders. Robustness (0 to 1) is high if a score depends little on the words used. Accuracy (0
    to 1) is high if a metric clearly separates a biased reference model from an unbiased one; 0.5
    means no difference, and less means the wrong order. Look at both: a score that hardly ever
    changes is robust but not informative. WEAT is measured by its effect size.

    Writes robustness.csv (one row per silhouette), accuracy.csv, silhouettes.html (all curves) and
    a JSON file per silhouette to OUT. Words that one model lacks are left out for all. Only the
    words of the queries are read from text and binary files.

    Example: wefe silhouette --queries gender --offline --metric weat --metric ect
    --model unbiased.bin --model biased.bin --out report

    Parameters
    ----------
    out : FOLDER
        Folder to write to. To continue an interrupted run, run the same command again.
    vary
        Which word lists grow: the social groups (targets), the concepts (attributes), or one after
        the other (both).
    runs : N >= 1
        Number of random orders. Results hardly change above 80; use 10 for a first impression.
    step : N >= 1
        Number of words added per step, over all growing lists. Default: 2 for targets, 6 for
        attributes.
    unbiased : NAME
        Name of the unbiased reference model, to compute accuracy together with --biased. Models
        named 'unbiased' and 'biased' need neither option.
    biased : NAME
        Name of the fully biased reference model.
    seed : N >= 0
        Seed of the random orders, which are the same for all metrics and models.
    format
        Format of the printed table of silhouettes.
    """
    metrics = opt.check_metrics(metric, of_texts=False)
    forms = opt.preprocessors(lowercase)
    params = {_plain(name): {"preprocessors": forms} for name in metrics}
    if "weat" in params:
        metrics += ["weat", "weat-es"]
    for name, own in opt.parse_params(param, metrics).items():
        params[_plain(name)] |= own
    declared, asked = models.declared(), opt.open_queries(queries, offline)
    every = itertools.chain(*(each.queries for each in asked))
    words = words_of(every, models.vocab_prefix, forms)
    opened, failures = opt.open_models([*opt.by_name(declared).values()], words)
    study = _study_sets(
        asked,
        params,
        models=opened,
        vary=("targets", "attributes") if vary == "both" else vary,
        n_runs=runs,
        step=step,
        random_state=seed,
        n_jobs=n_jobs,
        unbiased=unbiased,
        biased=biased,
        directory=out / "silhouettes",
    )
    lost = pd.DataFrame({"model": list(failures), "nan_reason": list(failures.values())})
    table = pd.concat([study.to_frame(), lost][: 1 + bool(failures)], ignore_index=True)
    # Written even without rows, so that the file of an earlier call is not taken for this one's.
    known = table[table["accuracy"].notna()][_ACCURACY].drop_duplicates(_ACCURACY[:3])
    files = {
        "robustness.csv": as_csv(table.drop(columns="accuracy")),
        "accuracy.csv": as_csv(known),
        "silhouettes.html": study.plot().to_html(include_plotlyjs=True),
    }
    for name, text in files.items():
        with atomic_file(out / name) as file:
            file.write(text.encode())
    write(format, _tables(study), {"silhouettes": table})
    if format == "table":
        print(*study.notes, f"Written to {out}: {', '.join(files)}", sep="\n")
    opt.end(failures)


def _tables(study: SilhouetteStudy) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield robustness and accuracy: one row per word list and model, one column per metric."""
    best = "; *: best in the row" if len(study.metrics) > 1 else ""
    for title, cells in study._tables():
        cells.index.names = [
            str(each or "").replace("bias_type", "query") for each in cells.index.names
        ]
        yield f"{title}{best}", cells.rename_axis(columns=None).reset_index()


def _plain(metric: str) -> str:
    """Return the name for the library, where silhouettes of weat always use its effect size."""
    return "weat" if metric == "weat-es" else metric


def _study_sets(
    asked: Sequence[OpenedQueries], params: Mapping[str, Mapping[str, Any]], **options: Any
) -> SilhouetteStudy:
    """Study each query set with its own defaults, and join the studies."""
    studies: list[SilhouetteStudy] = []
    known: set[str] = set()
    for each in asked:
        new = {query.query_name: query for query in each.queries if query.query_name not in known}
        known.update(new)
        own = {
            name: {**given, **as_metric(name).params_for_unpaired(given, each.name, each.paired)}
            for name, given in params.items()
        }
        # Another query set may be measurable.
        studies += [_study(own, new, **options)] if new else []
    joined = replace(
        studies[0],
        silhouettes=dict(itertools.chain(*(study.silhouettes.items() for study in studies))),
        bias_types=tuple(itertools.chain(*(study.bias_types for study in studies))),
        notes=tuple(dict.fromkeys(itertools.chain(*(study.notes for study in studies)))),
    )
    if not joined.silhouettes:
        raise NothingMeasuredError(joined)
    return joined


def _study(
    params: Mapping[str, Mapping[str, Any]], queries: Mapping[str, Query], **options: Any
) -> SilhouetteStudy:
    """Return a study, without silhouettes if nothing can be measured."""
    try:
        return silhouette_study([*params], queries, metric_params=params, **options)
    except NothingMeasuredError as error:
        return error.study
