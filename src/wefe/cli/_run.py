"""`wefe init`, `wefe run` and `wefe report`: a study from its file to a report."""

from __future__ import annotations

import os
import sys
import textwrap
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from wefe._visible import visible
from wefe.cli import _options as opt
from wefe.cli._output import as_text

if TYPE_CHECKING:
    import pandas as pd

    from wefe.study import Study, StudyResults

# As shells report a program that Ctrl-C ended.
_INTERRUPTED = 130
# Of reasons and of words: enough to see what is wrong.
_MOST_REASONS = 3
_MOST_WORDS = 5
_LONGEST_REASON = 160


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


Export: TypeAlias = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="Write every table into this folder as well.")
]
ExportFormat: TypeAlias = Annotated[Tables, typer.Option(help="How these are written.")]


def init(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="The study file to write.")] = Path(
        "study.toml"
    ),
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
    study: Annotated[
        Path, typer.Argument(metavar="STUDY", help="The study file (TOML); 'wefe init' writes one.")
    ],
    results: opt.Results = None,
    report: Annotated[
        Path | None,
        typer.Option(help="Write the report as well: FILE.html, or FILE.md for pull requests."),
    ] = None,
    figures: opt.Figures = None,
    export: Export = None,
    export_format: ExportFormat = Tables.csv,
    n_jobs: opt.NJobs = 1,
    engine: Annotated[
        Engine, typer.Option(help="local, or dask: on a cluster (needs the extra 'dask').")
    ] = Engine.local,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Address of the Dask scheduler, tcp://host:8786. Default: a local one.",
        ),
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
    the next run tries again) or every score is NaN, 2 if the study file is wrong, 130 after Ctrl-C.

    Example: wefe run study.toml --n-jobs 2 --report report.html

    Example: wefe run study.toml --engine dask --scheduler tcp://cluster:8786
    """
    from wefe.study import Study

    if scheduler is not None and engine is not Engine.dask:
        raise ValueError("--scheduler is for --engine dask.")
    if n_jobs != 1 and engine is Engine.dask:
        raise ValueError(
            "--n-jobs is for --engine local; how many work for Dask is its own matter."
        )
    declared = Study.from_file(study)
    where = declared.results_path if results is None else results
    _check_outputs(report, export, export_format, figures)
    try:
        found = declared.run(
            results,
            n_jobs=n_jobs if engine is Engine.local else None,
            engine=engine.value,
            scheduler=scheduler,
            reopen=reopen,
        )
    except KeyboardInterrupt:
        print(f"\ninterrupted; {_so_far(declared, where)}", file=sys.stderr)
        # Workers are ended by now, and there is nothing left to be cleaned up.
        sys.stderr.flush()
        os._exit(_INTERRUPTED)
    print_results(found)
    seconds = f"{found.run['seconds']:.1f} s"
    print(f"\n{_count(len(found.plan.tasks), 'task')}, {_computed(found)} in {seconds}: {where}")
    write_outputs(found, report, export, export_format, figures)
    if not found.is_complete or found.to_frame()["score"].isna().all():
        raise typer.Exit(1)


def report(
    study: opt.StudyOrResults,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The file to write: .html, or .md for pull requests. Default: the study's name "
            "with .html."
        ),
    ] = None,
    results: opt.Results = None,
    name: opt.StudyName = None,
    figures: opt.Figures = None,
    export: Export = None,
    export_format: ExportFormat = Tables.csv,
) -> None:
    """Write the report of a study: one file that opens in any browser, without a network.

    Nothing is computed: what is missing is named.

    Example: wefe report study.toml --out report.html

    Example: wefe report results.db --out summary.md
    """
    out = study.with_suffix(".html") if out is None else out
    _check_outputs(out, export, export_format, figures)
    write_outputs(open_results(study, results, name), out, export, export_format, figures)


def verify(
    study: opt.StudyOrResults,
    results: opt.Results = None,
    name: opt.StudyName = None,
    n: Annotated[int, typer.Option("-n", help="How many results are computed again.")] = 20,
    tolerance: Annotated[
        float, typer.Option(help="Largest difference that counts as none.")
    ] = 1e-9,
    random_state: Annotated[
        int | None, typer.Option(help="Seed of the draw. Default: others each time.")
    ] = None,
    n_jobs: opt.NJobs = 1,
) -> None:
    """Compute a random sample of results again, and compare.

    The models must be where the study file says. The exit code is 0 if all numbers came out again,
    1 if not.

    Example: wefe verify results.db -n 50
    """
    from wefe.study import Study
    from wefe.study import verify as compute_again

    found = open_results(study, results, name)
    file = study if study.suffix == ".toml" else study.parent / str(found.run["study_file"])
    table = compute_again(
        *(Study.from_file(file), found, n),
        tolerance=tolerance,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    wrong = table[~table["passed"]]
    print(f"{len(table) - len(wrong)} of {_count(len(table), 'result')} came out again.")
    if len(wrong):
        print(as_text(wrong.drop(columns="passed").map(lambda cell: visible(str(cell)))))
        raise typer.Exit(1)


def open_results(path: Path, results: Path | None = None, name: str | None = None) -> StudyResults:
    """Return the results of a study file, or those in a results file; nothing is computed."""
    from wefe.study import Study, StudyResults

    if path.suffix == ".toml":
        if name is not None:
            raise ValueError(
                f"{path} declares one study; a name is for a results file that holds several."
            )
        study = Study.from_file(path)
        where = study.results_path if results is None else results
        if not where.is_file():
            raise FileNotFoundError(f"{where}: there are no results yet. Run: wefe run {path}")
        return study.results(where)
    if results is not None:
        raise ValueError(
            f"--results is for a study file (.toml), and {path} is none. Name one results file."
        )
    return StudyResults.from_file(path, name)


def _check_outputs(
    report: Path | None, export: Path | None, format: Tables, figures: Path | None
) -> None:
    """Refuse what could not be written, before long work is done."""
    from wefe._files import check_writable

    if figures is not None:
        from wefe.plotting._static import check_matplotlib

        check_matplotlib()

    if report is not None:
        if report.suffix not in (".html", ".md"):
            raise ValueError(f"{report}: a report is a .html or a .md file.")
        check_writable(report)
    if export is not None and export.exists() and not export.is_dir():
        raise NotADirectoryError(f"{export}: is a file; tables go into a folder.")
    if export is not None and format is Tables.parquet:
        from wefe.study._export import check_pyarrow

        check_pyarrow()


def write_outputs(
    results: StudyResults,
    report: Path | None,
    export: Path | None,
    format: Tables,
    figures: Path | None = None,
) -> None:
    """Write report, tables and figures, and say so."""
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
    if figures is not None:
        from wefe.report import write_figures

        print(f"{len(write_figures(results, figures))} figures: {figures}")


def print_results(results: StudyResults) -> None:
    """Print the ranks, and what could not be computed."""
    tidy = results.to_frame()
    # What failed is listed below.
    nan = tidy[tidy["score"].isna() & (tidy["status"] == "done")]
    ranking = results.rankings()
    if not ranking.empty:
        shown = ranking.astype("Int64") if (ranking.dropna() % 1 == 0).all(axis=None) else ranking
        name = visible(results.plan.name)
        print(f"{name}: ranks over all query sets (1: least bias measured)")
        print(as_text(shown, index=True))
        blank = [str(column) for column in ranking if ranking[column].isna().all()]
        _print_blank(results, tidy, nan[nan["metric"].isin(blank)])
    if len(nan):
        are = "is" if len(nan) == 1 else "are"
        print(
            f"\n{_count(len(nan), 'score')} {are} NaN; the report and the tables have all reasons. "
            "The most frequent:"
        )
        for reason, n in nan["nan_reason"].value_counts().head(_MOST_REASONS).items():
            print(f"- {n:,}: {visible(textwrap.shorten(str(reason), _LONGEST_REASON))}")
    for part in results.plan.query_sets:
        if part.left_out:
            names = "; ".join(f"{query} ({why})" for query, why in part.left_out)
            n = len(part.left_out)
            were = "query was" if n == 1 else "queries were"
            print(visible(f"{part.name}: {n} {were} not asked: {names}"))
    failures = results.failures()
    if len(failures):
        print("\nFailed:")
        for model, reason, n_tasks in failures.itertuples(index=False):
            print(visible(f"- {model} ({_count(n_tasks, 'task')}): {reason}"))


def _print_blank(results: StudyResults, tidy: pd.DataFrame, nan: pd.DataFrame) -> None:
    """Say which models lack words, where no model has a rank."""
    if nan.empty:
        return
    print("Blank: there is no query that every model answers.")
    asked = tidy[tidy["metric"].isin(nan["metric"]) & (tidy["status"] == "done")]
    lacking = list(dict.fromkeys(nan["model_name"]))
    for model in lacking:
        own = nan[nan["model_name"] == model]
        n_asked = int((asked["model_name"] == model).sum())
        why = visible(_what_lacks(results, own))
        print(f"- {visible(model)}: {len(own):,} of {_count(n_asked, 'score')} are NaN; {why}")
    others = [name for name in dict.fromkeys(asked["model_name"]) if name not in lacking]
    if others:
        out = "that model" if len(lacking) == 1 else "these models"
        print(f'Leave {out} out, or let [aggregation] missing = "models" do so.')
    else:
        print(
            "Are its words written in another way? vocab_prefix of [[models]] and preprocessors of "
            "[lookup] say how they are looked up."
        )


def _what_lacks(results: StudyResults, nan: pd.DataFrame) -> str:
    """Return some of the words that a model lacks; else why it has no scores."""
    lost: dict[str, None] = {}
    for row in nan.drop_duplicates(["query_set", "query_name"]).to_dict("records"):
        found = results.words(row["model_name"], row["query_set"], row["query_name"])
        for part in [] if found is None else found["sets"]:
            lost |= dict.fromkeys(part["lost"])
    if not lost:
        return str(nan["nan_reason"].iloc[0])
    more = ", ..." if len(lost) > _MOST_WORDS else ""
    return f"it lacks {_count(len(lost), 'word')}: {', '.join(list(lost)[:_MOST_WORDS])}{more}"


def _computed(results: StudyResults) -> str:
    """Return how many results are new, and of what."""
    n_computed = results.run["n_computed"]
    # Tasks of the same vectors share a result.
    new = {
        outcome.key: task.place["metric"] if task.kind == "score" else _KINDS[task.kind]
        for task, outcome in zip(results.plan.tasks, results.outcomes, strict=True)
        if outcome.finished is not None and outcome.finished >= results.run["started"]
    }
    kinds = list(new.values())
    # Of another run, in the same second or at the same time, as well.
    if not kinds or len(kinds) != n_computed:
        return f"{n_computed:,} computed"
    parts = ", ".join(f"{visible(kind)} {kinds.count(kind):,}" for kind in dict.fromkeys(kinds))
    return f"{n_computed:,} computed ({parts})"


_KINDS = {
    "interval": "intervals",
    "warnings": "audits of scores",
    "mitigation": "mitigations",
    "words": "look-up of words",
    "direction": "bias directions",
    "explore": "words on bias directions",
    "silhouette": "silhouettes",
    "quality": "quality",
}


def _so_far(study: Study, where: Path) -> str:
    """Return what an interrupted run leaves."""
    import sqlite3

    try:
        results = study.results(where)
    except (OSError, ValueError, sqlite3.Error):
        return "nothing was computed yet."
    n_done = sum(outcome.status == "done" for outcome in results.outcomes)
    return (
        f"{n_done:,} of {_count(len(results.outcomes), 'task')} are done and in {where}; the same "
        "command goes on from there."
    )


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"
