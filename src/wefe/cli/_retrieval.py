"""`wefe retrieval`: measure how encoders rank documents that differ only in a name."""

from __future__ import annotations

from pathlib import Path

from wefe._output import Format, write
from wefe.cli import _options as opt
from wefe.cli._run import tables_of_rankings
from wefe.study import Study


@opt.command
def retrieval(
    *,
    encoder: list[str],
    queries: Path,
    documents: Path,
    out: Path,
    names: Path | None = None,
    k: int = 10,
    neutral: list[str] = [],
    relevance: Path | None = None,
    bootstrap: int = 1000,
    seed: int = 0,
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
    seed : N >= 0
        Seed of the resamples.
    format
        Format of the printed tables.
    """
    from wefe.report import write_html

    files = {"queries": queries, "documents": documents, "names": names, "relevance": relevance}
    audit = {
        **{key: str(path) for key, path in files.items() if path is not None},
        "name": documents.stem,
        "k": k,
        "neutral": neutral,
        "n_bootstrap": bootstrap,
    }
    declared = {"random_state": seed, "models": options.of(encoder), "retrieval": [audit]}
    study = Study({"name": "Retrieval audit", **declared})
    study.plan  # noqa: B018 - checks all input before the folder is made
    out.mkdir(parents=True, exist_ok=True)
    results = study.run(out / "results.db")
    failures = opt.failures_of(results)
    written = results.export(out)
    write_html(results, out / "report.html")
    write(format, tables_of_rankings(results), results.retrieval_tables())
    if format == "table":
        print(f"Written to {out}: report.html, results.db, {', '.join(written)}")
    opt.end(failures)
