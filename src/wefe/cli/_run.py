"""`wefe init`, `wefe run` and `wefe report`: a study from its file to a report."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wefe.cli._output import as_text

if TYPE_CHECKING:
    from wefe.study import StudyResults

# As shells report a program that Ctrl-C ended.
_INTERRUPTED = 130


class Template(StrEnum):
    """The study files that ship with the package."""

    demo = "demo"
    case_study = "case_study"


class Engine(StrEnum):
    """Where tasks are run."""

    local = "local"
    dask = "dask"


class Tables(StrEnum):
    """How tables are written."""

    csv = "csv"
    json = "json"
    parquet = "parquet"


def init(
    path: Annotated[Path, typer.Argument(help="The study file to write.")] = Path("study.toml"),
    template: Annotated[
        Template,
        typer.Option(
            help="demo explains every section and runs offline. case_study is that of the WEFE "
            "paper (25 queries, four metrics), in which the models are to be filled in."
        ),
    ] = Template.demo,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Write a study file with comments, to be changed and run.

    Example: wefe init && wefe run study.toml && wefe report study.toml
    """
    from wefe._files import atomic_file
    from wefe.study import study_file

    if path.exists() and not force:
        raise FileExistsError(f"{path} exists; name another file, or --force to replace it.")
    with atomic_file(path) as file:
        file.write(study_file(template.value).encode())
    print(f"{path}: change it as you like, then: wefe run {path}")


def run(
    study: Annotated[Path, typer.Argument(help="The study file (TOML); 'wefe init' writes one.")],
    results: Annotated[
        Path | None,
        typer.Option(help="The results file. Default: beside the study file, ending in .db."),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(help="Write the report as well: FILE.html, or FILE.md for pull requests."),
    ] = None,
    export: Annotated[
        Path | None, typer.Option(help="Write every table into this folder as well.")
    ] = None,
    export_format: Annotated[Tables, typer.Option(help="How these are written.")] = Tables.csv,
    n_jobs: Annotated[
        int,
        typer.Option(
            help="Processes, each of which has one model open at a time; -1 is one for each core."
        ),
    ] = 1,
    engine: Annotated[
        Engine, typer.Option(help="local, or dask: on a cluster (needs wefe[dask]).")
    ] = Engine.local,
    scheduler: Annotated[
        str | None,
        typer.Option(help="Address of the Dask scheduler, tcp://host:8786. Default: a local one."),
    ] = None,
    reopen: Annotated[
        bool,
        typer.Option(
            "--reopen", help="Open every model, also where no file has changed by size and time."
        ),
    ] = False,
) -> None:
    """Run a study: what is missing is computed, what is there is kept.

    Results go into one file, each as soon as it is there: after Ctrl-C, a kill or a crash the same
    command goes on. What has changed since (a model file, a query, a parameter) is computed anew.

    The exit code is 0 if everything was computed, 1 if something failed (the others are there, and
    the next run tries again), 2 if the study file is wrong, 130 after Ctrl-C.

    Example: wefe run study.toml --n-jobs 2 --report report.html

    Example: wefe run study.toml --engine dask --scheduler tcp://cluster:8786
    """
    from wefe.study import Study

    declared = Study.from_file(study)
    _check_outputs(report, export)
    try:
        found = declared.run(
            results,
            n_jobs=n_jobs,
            engine=engine.value,
            scheduler=scheduler,
            reopen=reopen,
        )
    except KeyboardInterrupt:
        print(
            f"\ninterrupted; what was finished is in {results or declared.results_path}, and the "
            "same command goes on from there.",
            file=sys.stderr,
        )
        # Workers are ended by now, and there is nothing left to be cleaned up.
        sys.stderr.flush()
        os._exit(_INTERRUPTED)
    print_results(found)
    n_computed, n_tasks = found.run["n_computed"], len(found.plan.tasks)
    print(
        f"\n{n_tasks:,} tasks, {n_computed:,} computed in {found.run['seconds']:.1f} s: "
        f"{results or declared.results_path}"
    )
    write_outputs(found, report, export, export_format)
    if not found.is_complete:
        raise typer.Exit(1)


def report(
    study: Annotated[
        Path, typer.Argument(help="The study file, or the results file that it was run into.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="The file to write: .html, or .md for pull requests. Default: the study's name "
            "with .html."
        ),
    ] = None,
    results: Annotated[
        Path | None, typer.Option(help="The results file, where the study file names another.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the study, where a results file holds several.")
    ] = None,
    export: Annotated[
        Path | None, typer.Option(help="Write every table into this folder as well.")
    ] = None,
    export_format: Annotated[Tables, typer.Option(help="How these are written.")] = Tables.csv,
) -> None:
    """Write the report of a study: one file that opens in any browser, without a network.

    Nothing is computed: what is missing is named.

    Example: wefe report study.toml --out report.html

    Example: wefe report results.db --out summary.md
    """
    out = study.with_suffix(".html") if out is None else out
    _check_outputs(out, export)
    write_outputs(open_results(study, results, name), out, export, export_format)


def open_results(path: Path, results: Path | None = None, name: str | None = None) -> StudyResults:
    """Return the results of a study file, or those in a results file; nothing is computed."""
    from wefe.study import Study, StudyResults

    if path.suffix == ".toml":
        study = Study.from_file(path)
        where = study.results_path if results is None else results
        if not where.is_file():
            raise FileNotFoundError(f"{where}: there are no results yet. Run: wefe run {path}")
        return study.results(where)
    return StudyResults.from_file(path if results is None else results, name)


def _check_outputs(report: Path | None, export: Path | None) -> None:
    """Refuse what could not be written, before long work is done."""
    from wefe._files import check_writable

    if report is not None:
        if report.suffix not in (".html", ".md"):
            raise ValueError(f"{report}: a report is a .html or a .md file.")
        check_writable(report)
    if export is not None and export.exists() and not export.is_dir():
        raise NotADirectoryError(f"{export}: is a file; tables go into a folder.")


def write_outputs(
    results: StudyResults,
    report: Path | None,
    export: Path | None,
    format: Tables,  # noqa: A002
) -> None:
    """Write report and tables, and say so."""
    from wefe._files import atomic_file

    if report is not None:
        if report.suffix == ".md":
            with atomic_file(report) as file:
                file.write(results.to_markdown().encode())
        else:
            results.to_html(report)
        print(f"report: {report}")
    if export is not None:
        names = results.export(export, format.value)
        print(f"{len(names)} tables: {export}")


def print_results(results: StudyResults) -> None:
    """Print the ranks, and what could not be computed."""
    ranking = results.rankings()
    if not ranking.empty:
        shown = ranking.astype("Int64") if (ranking.dropna() % 1 == 0).all(axis=None) else ranking
        print(f"{results.plan.name}: ranks over all query sets (1: least bias measured)")
        print(as_text(shown, index=True))
        if ranking.isna().all().any():
            print(
                "Blank: no query was answered by all models. Leave out the model that lacks words, "
                'or let [aggregation] missing = "models" do so.'
            )
    n_nan = int(results.to_frame()["score"].isna().sum())
    if n_nan:
        print(f"\n{n_nan} scores are NaN; the report and the tables have the reasons.")
    for part in results.plan.query_sets:
        if part.left_out:
            names = "; ".join(f"{query} ({why})" for query, why in part.left_out)
            print(f"{part.name}: {len(part.left_out)} queries were not asked: {names}")
    failures = results.failures()
    if len(failures):
        print("\nFailed:")
        for model, reason, n_tasks in failures.itertuples(index=False):
            print(f"- {model} ({n_tasks} tasks): {reason}")
