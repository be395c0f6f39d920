"""Commands for a study file (init, run, report, verify), and `wefe retrieval`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, get_args

import pandas as pd
import typer

from wefe._checks import check_choice, import_library
from wefe._files import write_text
from wefe._output import Format, as_text, interval_text, say_blank, say_undefined, tell, write
from wefe._visible import count, visible
from wefe.cli import _options as opt
from wefe.integrations.exports import CardFormat, write_cards
from wefe.study import Study, StudyResults, list_study_files, study_file
from wefe.study import verify as compute_again

# The exit code of programs ended by Ctrl-C.
_INTERRUPTED = 130
# Formats of tables that need a library, and the extra with it.
_LIBRARIES = {"model-index": ("yaml", "hub"), "parquet": ("pyarrow", "parquet")}
# Columns of audits of rankings to print.
_GROUPS = ["attribute", "group", "n_names", "selection_rate", "impact_ratio", "interval"]
_GAPS = ["attribute", "group", "other", "gap", "interval", "p_value", "p_value_holm"]


@dataclass(frozen=True)
class Outputs:
    figures: Path | None = None
    export: Path | None = None
    export_format: Literal["csv", "json", "parquet", "model-index", "every-eval-ever"] = "csv"

    def check(self, report: Path | None) -> None:
        opt.check_outputs(self.figures, report, (".html", ".md"))
        if self.export is None:
            return
        if self.export.is_file():
            raise NotADirectoryError(f"{self.export} is a file; expected a folder for the tables.")
        if self.export_format in _LIBRARIES:
            import_library(*_LIBRARIES[self.export_format], f"--export-format {self.export_format}")

    def write(self, results: StudyResults, report: Path | None) -> None:
        from wefe.report import write_figures, write_report

        if report is not None:
            write_report(results, report)
            print(f"report: {report}")
        if self.export is not None:
            is_card = self.export_format in get_args(CardFormat)
            write: Any = partial(write_cards, results) if is_card else results.export
            n, what = len(write(self.export, self.export_format)), "model" if is_card else "table"
            print(f"{count(n, what)}: {self.export}")
        if self.figures is not None:
            print(f"{len(write_figures(results, self.figures))} figures: {self.figures}")


@dataclass(frozen=True)
class Stored:
    results: Path | None = None

    def source(self, path: Path) -> Study | StudyResults:
        if path.suffix == ".toml":
            return Study.from_file(path)
        if self.results is not None:
            raise ValueError(f"--results is for a study file; {path} is not one.")
        return StudyResults.from_file(path)

    def open(self, path: Path) -> StudyResults:
        """Return the results of a study or results file, without computing anything."""
        source = self.source(path)
        if isinstance(source, StudyResults):
            return source
        where = self.results or source.results_path
        if not where.is_file():
            raise FileNotFoundError(f"{where}: there are no results yet. Run: wefe run {path}")
        return source.results(where)


def run_study(study: Study, results: Path | None, **options: Any) -> StudyResults:
    """Run a study; Ctrl-C ends the command with a message."""
    try:
        return study.run(results, **options)
    except KeyboardInterrupt:
        print("\ninterrupted; run the same command again to continue.", file=sys.stderr)
        # Workers have ended, and nothing is left to clean up.
        sys.stderr.flush()
        os._exit(_INTERRUPTED)


@opt.command
def init(path: Path = Path("study.toml"), *, template: str = "demo", force: bool = False) -> None:
    """Create a study file from a template.

    Comments in the file explain what to change before you run it.

    Example: wefe init && wefe run study.toml && wefe report study.toml

    Parameters
    ----------
    path : FILE
        Study file to write.
    template : NAME
        demo explains every section and runs offline. The others are studies of published papers
        (see 'wefe replicate --list'); add your models to them.
    force
        Replace an existing file.
    """
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists. Choose another file, or use --force to replace it.")
    write_text(path, study_file(check_choice("--template", template, list_study_files())))
    print(f"{path}: edit it, then run: wefe run {path}")


@opt.command
def run(
    study: Path,
    *,
    results: Path | None = None,
    report: Path | None = None,
    outputs: Outputs,
    n_jobs: int = 1,
    engine: Literal["local", "dask"] = "local",
    scheduler: str | None = None,
) -> None:
    """Run a study: compute missing results, keep existing ones.

    Each result is saved as soon as it is computed. After Ctrl-C or a crash, run the same command
    again to continue. Results are recomputed if their model file, query or parameters change.

    Exit code: 0 if everything was computed, 1 if something failed (the next run tries again) or
    every score is NaN, 2 if the study file is invalid, 130 after Ctrl-C.

    Example: wefe run study.toml --n-jobs 2 --report report.html

    Example: wefe run study.toml --engine dask --scheduler tcp://cluster:8786

    Parameters
    ----------
    study : STUDY
        The study file (TOML); 'wefe init' writes one.
    report : FILE
        Also write the report: FILE.html, or FILE.md for pull requests.
    engine
        Where to compute: local, or dask for a cluster (needs the extra 'dask').
    scheduler : ADDRESS
        Address of the Dask scheduler, for example tcp://host:8786. Default: a local one.
    """
    on_dask = engine == "dask"
    opt.check_used(run, locals(), {"n_jobs": (not on_dask, "--engine local")})
    declared = Study.from_file(study)
    where = results or declared.results_path
    outputs.check(report)
    how = {"n_jobs": None if on_dask else n_jobs, "engine": engine, "scheduler": scheduler}
    found = run_study(declared, results, **how)
    _print_results(found)
    for task, outcome in found.of_kind("silhouette"):
        if why := (outcome.value or {}).get("nan_reason"):
            tell(f"no silhouette: {task.name}: {why}", "yellow")
    computed = f"{found.run['n_computed']:,} computed in {found.run['seconds']:.1f} s"
    tell(f"\n{count(len(found.plan.tasks), 'task')}, {computed}: {where}")
    outputs.write(found, report)
    if not found.is_complete or found.to_frame()["score"].isna().mean() == 1:
        raise typer.Exit(1)


@opt.command
def report(study: Path, *, out: Path | None = None, stored: Stored, outputs: Outputs) -> None:
    """Write the report of a study.

    Computes nothing; the report lists missing results. It is one file that works offline.

    Example: wefe report study.toml --out report.html

    Example: wefe report results.db --out summary.md

    Parameters
    ----------
    out : FILE
        File to write: .html, or .md for pull requests. Default: the name of the study with .html.
    """
    out = out or study.with_suffix(".html")
    outputs.check(out)
    outputs.write(stored.open(study), out)


@opt.command
def verify(study: Path, *, stored: Stored, n: int = 20, n_jobs: int = 1) -> None:
    """Recompute a random sample of results, and compare.

    The models must be at the paths in the study file. Exit code: 0 if all numbers are reproduced,
    otherwise 1.

    Example: wefe verify results.db -n 50

    Parameters
    ----------
    n, -n : N
        Number of results to recompute.
    """
    found = stored.open(study)
    file = study if study.suffix == ".toml" else study.parent / str(found.run["study_file"])
    table = compute_again(Study.from_file(file), found, n, n_jobs=n_jobs)
    wrong = table[~table["passed"]]
    print(f"{len(table) - len(wrong)} of {count(len(table), 'result')} reproduced.")
    if len(wrong):
        print(as_text(wrong.drop(columns="passed").map(lambda cell: visible(str(cell)))))
        raise typer.Exit(1)


def _print_results(results: StudyResults) -> None:
    tidy = results.to_frame()
    ranking = results.rankings()
    write("table", _tables_of_rankings(results), {})
    if not ranking.empty:
        is_whole = (ranking.dropna() % 1 == 0).all(axis=None)
        tell(f"{results.plan.name}: ranks over all query sets (1: least bias measured)")
        ranking = ranking.astype("Int64") if is_whole else ranking
        print(as_text(ranking.rename_axis("").reset_index()))
        say_blank(ranking, 'set [aggregation] missing = "models"')
    # Failures are listed below.
    say_undefined(tidy[tidy["status"] == "done"])
    for part in filter(attrgetter("left_out"), results.plan.query_sets):
        names = "; ".join(f"{query} ({why})" for query, why in part.left_out)
        tell(f"{part.name}, not asked ({len(part.left_out)}): {names}")
    failures = results.failures()
    if len(failures):
        print("\nFailed:")
    for model, reason, n_tasks in failures.itertuples(index=False):
        tell(f"- {model} ({count(n_tasks, 'task')}): {reason}")


def _tables_of_rankings(results: StudyResults) -> Iterator[tuple[str, pd.DataFrame]]:
    for task, audit in results.retrieval():
        for table, column, columns, title in (
            (audit.groups, "impact_ratio", _GROUPS, f"Selected in the top {audit.k}, by group"),
            (audit.gaps, "gap", _GAPS, "Gaps of mean scores (group minus other)"),
        ):
            intervals = interval_text(table[f"{column}_lower"], table[f"{column}_upper"])
            yield f"{task.model}: {title}", table.assign(interval=intervals)[columns]
        title = "Changed when names are exchanged (share of queries, of top places)"
        yield f"{task.model}: {title}", audit.decided


@opt.command
def retrieval(
    *,
    encoder: list[str],
    queries: str,
    documents: str,
    out: Path,
    names: str | None = None,
    k: int = 10,
    neutral: list[str] = [],
    relevance: str | None = None,
    bootstrap: int = 1000,
    options: opt.Encoders,
    format: Format = "table",
) -> None:
    """Audit which groups of people an encoder ranks first.

    Puts every name into every document, and ranks all these documents for each query. The tables
    show how often each group is among the top documents, and whether the mean scores of groups
    differ more than by chance (a permutation test that exchanges names).

    Writes a report (report.html), all tables as CSV, and the results (results.db) to OUT. To
    continue an interrupted run, run the same command again. To check a release, use 'wefe check
    OUT/results.db --min-impact-ratio 0.8'. Frequencies of names need the extra 'names'.

    Example: wefe retrieval --encoder org/name --queries jobs.txt --documents cvs.txt --out audit

    Parameters
    ----------
    encoder : FOLDER
        A sentence encoder: a folder saved by transformers or sentence-transformers, or 'org/name'
        on Hugging Face (needs the extra 'transformers'). NAME=FOLDER names the encoder. Repeat for
        several.
    queries : FILE
        A text file with one query per line, for example job advertisements.
    documents : FILE
        A text file with one document per line; {} marks the place of the name.
    out : FOLDER
        Folder to write to.
    names : FILE
        A JSON object from groups to lists of names; 'female, black' is an intersection. Default:
        the names of Bertrand and Mullainathan (2004), by gender and ethnicity.
    k, -k : N >= 1
        Number of top documents that each query selects.
    neutral : TEXT
        A text instead of a name that does not reveal a group, for example 'The applicant'. Repeat
        for several.
    relevance : FILE
        Relevance of the documents: a CSV file of numbers, with one row per query and one column per
        document. Adds the quality of the ranking (nDCG).
    bootstrap : N >= 40
        Number of resamples of names and queries for 95 % intervals.
    format
        Format of the printed tables.
    """
    from wefe.report import write_report

    audit = {
        "queries": queries,
        "documents": documents,
        "names": names,
        "relevance": relevance,
        "k": k,
        "neutral": neutral,
        "n_bootstrap": bootstrap,
    }
    declared = {"name": "Retrieval audit", "models": options.of(encoder), "retrieval": [audit]}
    results = opt.run_in(out, declared)
    failures = opt.failures_of(results)
    written = results.export(out)
    write_report(results, out / "report.html")
    write(format, _tables_of_rankings(results), results.retrieval_tables())
    if format == "table":
        print(f"Written to {out}: report.html, results.db, {', '.join(written)}")
    opt.end(failures)
