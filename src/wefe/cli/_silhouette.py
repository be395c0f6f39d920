"""`wefe silhouette`: check how much scores depend on the choice of words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from wefe._files import atomic_file
from wefe._output import Format, write
from wefe._visible import as_csv
from wefe.cli import _options as opt
from wefe.cli._inputs import end, open_models, open_queries, preprocessors
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
    unbiased: str = "",
    biased: str = "",
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
    asked_metrics = opt.check_metrics(metric, of_texts=False)
    forms = preprocessors(lowercase)
    params: dict[str, dict[str, Any]] = {
        _plain(name): {"preprocessors": forms} for name in asked_metrics
    }
    both = ["weat", "weat-es"] if "weat" in params else []
    for name, own in opt.parse_params(param, [*asked_metrics, *both]).items():
        params[_plain(name)].update(own)
    declared, asked = models.declared(), open_queries(queries, offline)
    words = words_of(
        [query for each in asked for query in each.queries], models.vocab_prefix or None, forms
    )
    opened, failures = open_models([*opt.by_name(declared).values()], words)
    study = _study_sets(
        asked,
        params,
        models=opened,
        vary=("targets", "attributes") if vary == "both" else vary,
        n_runs=runs,
        step=step,
        random_state=seed,
        n_jobs=n_jobs,
        unbiased=unbiased or None,
        biased=biased or None,
        directory=out / "silhouettes",
    )
    lost = pd.DataFrame({"model": list(failures), "nan_reason": list(failures.values())})
    tables = [study.to_frame(), lost] if failures else [study.to_frame()]
    table = pd.concat(tables, ignore_index=True)
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
    end(failures)


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
    failures: list[NothingMeasuredError] = []
    queries: dict[str, Query] = {}
    for each in asked:
        new = [query for query in each.queries if query.query_name not in queries]
        queries |= {query.query_name: query for query in new}
        own = {
            name: {**given, **as_metric(name).params_for_unpaired(given, each.name, each.paired)}
            for name, given in params.items()
        }
        try:
            studies += [silhouette_study([*own], new, metric_params=own, **options)] if new else []
        except NothingMeasuredError as error:
            # Another query set may be measurable.
            failures.append(error)
            studies.append(error.study)
    if len(failures) == len(studies):
        raise failures[0]
    return replace(
        studies[0],
        silhouettes={key: one for study in studies for key, one in study.silhouettes.items()},
        bias_types=tuple(queries),
        notes=tuple(dict.fromkeys(note for study in studies for note in study.notes)),
    )
