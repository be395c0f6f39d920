"""`wefe silhouette`: how far metrics and word lists can be trusted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wefe._checks import check_choice
from wefe._files import atomic_file
from wefe._visible import as_csv
from wefe.cli import _options as opt
from wefe.cli._inputs import (
    check_for_encoders,
    open_models,
    open_queries,
    preprocessors,
    split_name,
)
from wefe.cli._options import check_metrics, parse_params
from wefe.cli._output import Format, write
from wefe.metrics._registry import as_metric
from wefe.models._load import words_of

if TYPE_CHECKING:
    import pandas as pd

    from wefe.datasets._opened import OpenedQueries
    from wefe.query import Query
    from wefe.silhouette import SilhouetteStudy
    from wefe.silhouette._silhouette import Vary

_ACCURACY = ["metric", "bias_type", "list_type", "accuracy"]


class Varied(StrEnum):
    """Which word lists grow."""

    targets = "targets"
    attributes = "attributes"
    both = "both"


def silhouette(
    queries: opt.Queries,
    out: Annotated[
        Path,
        typer.Option(
            metavar="FOLDER",
            help="The folder to write to. Started again with the same folder, the command goes on "
            "where it ended.",
        ),
    ],
    model: opt.Models = [],
    encoder: opt.Encoders = [],
    metric: opt.Metrics = ["weat"],
    vary: Annotated[
        Varied,
        typer.Option(
            help="Which lists grow: the social groups (targets), the concepts (attributes), or "
            "first the ones and then the others."
        ),
    ] = Varied.both,
    runs: Annotated[
        int,
        typer.Option(
            min=1,
            help="Random orders in which the words come in. From 80 on, scores hardly change; 10 "
            "give a first impression.",
        ),
    ] = 100,
    step: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Words added in a step, all growing lists together. Default: 2 group words, 6 "
            "concept words.",
        ),
    ] = None,
    unbiased: Annotated[
        str,
        typer.Option(
            help="Name of the model that is taken for free of the bias. With --biased, the "
            "accuracy of each metric is computed. Models called 'unbiased' and 'biased' need "
            "neither option."
        ),
    ] = "",
    biased: Annotated[
        str, typer.Option(help="Name of the model that is taken for as biased as can be.")
    ] = "",
    seed: Annotated[
        int, typer.Option(min=0, help="Draws the orders: the same for every metric and model.")
    ] = 0,
    n_jobs: opt.NJobs = 1,
    param: opt.Params = [],
    lowercase: opt.Lowercase = True,
    vocab_prefix: opt.VocabPrefix = "",
    offline: opt.Offline = False,
    trust_pickle: opt.TrustPickle = False,
    layer: opt.Layer = -1,
    pooling: opt.PoolingOption = opt.Pooling.auto,
    template: opt.Templates = [],
    format: Annotated[
        Format, typer.Option(help="How the table of silhouettes is printed.")
    ] = Format.table,
) -> None:
    """Tell how far metrics and word lists can be trusted (Bias Silhouette Analysis).

    Each query is measured with ever more of its words, in many random orders. Robustness, 0 to 1,
    says how little a score depends on which words are there. Accuracy, 0 to 1, says how clearly a
    metric tells a biased reference model from an unbiased one; 0.5 is no difference, less is the
    wrong way round. A metric that hardly moves on its scale is robust, and says nothing: look at
    both.

    Writes robustness.csv (one row per silhouette), accuracy.csv, silhouettes.html (all curves) and
    a JSON file per silhouette, and prints the tables. Words that one model lacks are left out for
    all. Of a text or binary file only the words of the queries are read.

    Example: wefe silhouette --queries gender --offline --metric weat --metric ect
    --model unbiased.bin --model biased.bin --out report
    """
    asked_metrics = check_metrics(metric, of_texts=False)
    names = list(dict.fromkeys(_plain(name) for name in asked_metrics))
    forms = preprocessors(lowercase)
    params: dict[str, dict[str, Any]] = {name: {"preprocessors": forms} for name in names}
    both = ["weat", "weat-es"] if "weat" in names else []
    for name, own in parse_params(param, list(dict.fromkeys([*asked_metrics, *both]))).items():
        params[_plain(name)].update(own)
    if n_jobs == 0:
        raise ValueError("--n-jobs must be a number of processes, or -1 for one per core; got 0.")
    check_for_encoders(model, encoder, layer, pooling, template)
    every = [*model, *encoder]
    _check_names([split_name(text)[0] for text in every], every, unbiased, biased)
    asked = open_queries(queries, offline)
    opened, failures = open_models(
        *(model, encoder, layer, pooling, template),
        vocab_prefix=vocab_prefix or None,
        # A query knows its words, so of a file that must be parsed only those are.
        words=words_of([q for each in asked for q in each.queries], vocab_prefix or None, forms),
        trust_pickle=trust_pickle,
    )
    for name, reason in failures.items():
        raise ValueError(f"{name}: {reason}")
    _check_names([each.name for each in opened], every, unbiased, biased)
    lists: tuple[Vary, ...] = ("targets", "attributes")
    study = _study_sets(
        asked,
        names,
        params,
        models=opened,
        vary=lists if vary is Varied.both else vary.value,
        n_runs=runs,
        step=step,
        random_state=seed,
        n_jobs=n_jobs,
        unbiased=unbiased or None,
        biased=biased or None,
        directory=out / "silhouettes",
    )
    _report(study, out)
    write(format, _tables(study), {"silhouettes": study.to_frame()})
    if format is Format.table:
        for note in study.notes:
            print(note)
        print(f"Written to {out}: robustness.csv, accuracy.csv, silhouettes.html")


def _tables(study: SilhouetteStudy) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield robustness and accuracy: a row per word list and model, a column per metric."""
    best = "; *: best of the row" if len(study.metrics) > 1 else ""
    for title, cells in study._tables():
        cells.index.names = [
            str(each or "").replace("bias_type", "query") for each in cells.index.names
        ]
        yield f"{title}{best}", cells.rename_axis(columns=None).reset_index()


def _plain(metric: str) -> str:
    """Return the name that the library knows; there is no other silhouette of WEAT."""
    return "weat" if metric == "weat-es" else metric


def _check_names(
    names: Sequence[str | None], texts: Sequence[str], unbiased: str, biased: str
) -> None:
    """Refuse names of models that do not fit, before loading and measuring as far as known."""
    for position, (name, text) in enumerate(zip(names, texts, strict=True)):
        same_name = name is not None and name in names[:position]
        if same_name or text in texts[:position]:
            called = f"two models are called {name!r}" if same_name else f"{text!r} is there twice"
            raise ValueError(
                f"--model: {called}. Give each a name of its own, as NAME=FILE: "
                "--model first=FILE --model second=FILE."
            )
    if not unbiased and not biased:
        return
    if not unbiased or not biased or unbiased == biased:
        raise ValueError(
            "accuracy compares two reference models; name both, unbiased and biased. Got "
            f"--unbiased {unbiased!r}, --biased {biased!r}."
        )
    known = [name for name in names if name is not None]
    if len(known) == len(names):
        check_choice("--unbiased", unbiased, known)
        check_choice("--biased", biased, known)


def _study_sets(
    asked: Sequence[OpenedQueries],
    names: Sequence[str],
    params: dict[str, dict[str, Any]],
    **options: Any,
) -> SilhouetteStudy:
    """Ask query sets that have the same defaults together, and put the studies together."""
    from wefe.silhouette import silhouette_study
    from wefe.silhouette._study import NothingMeasuredError, _check_queries

    in_order = list(_check_queries([query for each in asked for query in each.queries]))
    groups: list[tuple[dict[str, dict[str, Any]], list[Query]]] = []
    known: set[str] = set()
    for query_set in asked:
        own = {
            name: {
                **given,
                **as_metric(name).params_for_unpaired(given, query_set.name, query_set.paired),
            }
            for name, given in params.items()
        }
        new = [query for query in query_set.queries if query.query_name not in known]
        known.update(query.query_name for query in new)
        for settings, queries in groups:
            if settings == own:
                queries += new
                break
        else:
            groups += [(own, new)] if new else []
    studies: list[SilhouetteStudy] = []
    failures: list[NothingMeasuredError] = []
    for settings, queries in groups:
        try:
            studies.append(silhouette_study(names, queries, metric_params=settings, **options))
        except NothingMeasuredError as error:
            # Another group may have something.
            failures.append(error)
            studies.append(error.study)
    if len(failures) == len(studies):
        raise failures[0]
    found = {key: one for study in studies for key, one in study.silhouettes.items()}
    return replace(
        studies[0],
        silhouettes={
            key: one for query in in_order for key, one in found.items() if key[1] == query
        },
        bias_types=tuple(in_order),
        notes=tuple(dict.fromkeys(note for study in studies for note in study.notes)),
    )


def _report(study: SilhouetteStudy, folder: Path) -> None:
    table = study.to_frame()
    # It is there even if it has no rows: that of an earlier call would be taken for this one's.
    known = table[table["accuracy"].notna()]
    _write_table(table.drop(columns="accuracy"), folder / "robustness.csv")
    _write_table(known[_ACCURACY].drop_duplicates(_ACCURACY[:3]), folder / "accuracy.csv")
    with atomic_file(folder / "silhouettes.html") as file:
        file.write(study.plot().to_html(include_plotlyjs=True).encode())


def _write_table(table: pd.DataFrame, path: Path) -> None:
    with atomic_file(path) as file:
        file.write(as_csv(table).encode())
