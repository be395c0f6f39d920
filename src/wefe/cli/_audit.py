"""`wefe audit` and `wefe silhouette`: check how reliable scores are."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from wefe._files import write_text
from wefe._output import Format, tell, write
from wefe._visible import as_csv, plain, visible
from wefe.audit import DirectionAudit, QueryAudit, audit_direction, audit_query
from wefe.audit._query import between_two_groups
from wefe.cli import _options as opt
from wefe.datasets import load_criterion
from wefe.datasets._queries import open_query_set
from wefe.query import Query

_ABOUT_BIASES = (
    "attainable: mean attribute difference d, the largest possible |s|. biased: words with |s| > "
    "0.1 d. AUC: share of word pairs in which the word of the first set has the larger bias; 0.5 "
    "by chance.\np value: two-sided permutation test."
)
_ABOUT_DIRECTIONS = (
    "cosine: of the set's own direction with the first component. agreement: the same, with the "
    "common direction of the other sets, weighted equally. stability: cosine between the first "
    "components with and without the set. variance share: part of the variance along the first "
    "component that comes from the set."
)


@opt.command
def audit(
    *,
    models: opt.Models,
    queries: list[str] = [],
    criterion: list[str] = [],
    format: Format = "table",
    lowercase: bool = True,
    offline: bool = False,
) -> None:
    """Check how reliable scores are.

    For each query and model, prints the largest bias of a single word (as a share of the largest
    possible bias), how well biases separate the two target sets (with effect size and p-value), and
    warnings about what a score hides. The bias of a word is its association with one attribute set
    rather than the other. For a query with a single attribute set, its words are compared between
    the two target sets. For each criterion, checks whether the definitional pairs share a
    direction. The method is by Schröder, Schulz, Hinder and Hammer (2024).

    Example: wefe audit --model demo --queries gender --criterion gender --offline

    Parameters
    ----------
    criterion : NAME
        Audit the bias direction of gender, ethnicity, religion, or a JSON file as in 'wefe debias'.
        Repeat for several.
    format
        csv contains the biases of all words; json contains everything.
    """
    if not queries and not criterion:
        raise ValueError("there is nothing to audit: give --queries or --criterion.")
    if format == "csv" and criterion:
        raise ValueError("--format csv contains the biases of words: use it with --queries only.")
    declared, parts = models.declared(), _parts(queries, offline)
    # The sets that define a direction ship with the package.
    known = [load_criterion(text, offline=True) for text in dict.fromkeys(criterion)]
    forms = opt.preprocessors(lowercase)
    # Models are read for the words of queries, in all their forms.
    pairs = [Query(one.definitional_sets, []) for one in known]
    opened, failures = opt.open_models(declared, [*parts, *pairs])
    how: dict[str, Any] = {"p_value_test_type": "two-sided", "preprocessors": forms}
    of_queries = [partial(audit_query, part, **how) for part in parts]
    of_directions = [partial(audit_direction, one, preprocessors=forms) for one in known]
    audited, _ = opt.tried(opened, of_queries)
    directions, _ = opt.tried(opened, of_directions)
    if not audited and not directions:
        raise ValueError("no audit is possible with these models; see the messages above.")
    if format == "json":
        content = plain({"queries": audited, "directions": directions})
        print(json.dumps(content, indent=2, ensure_ascii=False))
    else:
        write(format, [*_tables(audited, directions)], {"words": _words_of(audited)})
    if format == "table":
        _print_notes(audited, directions)
    opt.end(failures)


def _parts(names: list[str], offline: bool) -> list[Query]:
    """Return the parts of queries to audit, each between two groups."""
    opened = [open_query_set(name, offline, "--queries").queries for name in dict.fromkeys(names)]
    parts = [part for query in itertools.chain(*opened) for part in between_two_groups(query)]
    if names and not parts:
        raise ValueError(
            "an audit needs a query with two target sets or two attribute sets, and none was given."
        )
    return parts


def _tables(
    audited: list[QueryAudit], directions: list[DirectionAudit]
) -> Iterator[tuple[str, pd.DataFrame]]:
    rows = pd.DataFrame(map(_row, audited)).dropna(axis="columns", how="all")
    if len(rows):
        yield "Individual biases s(w, A, B) of the target words", rows.infer_objects()
    for direction in directions:
        ratio = direction.explained_variance_ratio[0]
        title = (
            f"Bias direction of {direction.n_sets} defining sets in {direction.model_name}: "
            f"{ratio:.0%} of the variance; mean correlation of the sets "
            f"{direction.mean_correlation:.2f}"
        )
        yield title, direction.to_frame().drop(columns="words").reset_index()


def _row(audit: QueryAudit) -> dict[str, Any]:
    compared = audit.comparison
    return {
        "query": audit.query_name,
        "model": audit.model_name,
        "attainable": audit.attribute_difference,
        "largest bias": audit.largest_bias,
        "of word": audit.most_biased_word,
        "biased": f"{audit.n_biased}/{len(audit.all_biases)}",
        "effect size": getattr(compared, "effect_size", None),
        "p_value": getattr(compared, "p_value", None),
        "AUC": getattr(compared, "auc", None),
    }


def _print_notes(queries: list[QueryAudit], directions: list[DirectionAudit]) -> None:
    for text, applies in ((_ABOUT_BIASES, queries), (_ABOUT_DIRECTIONS, directions)):
        if applies:
            tell(text)
    audited: list[Any] = [*queries, *directions]
    warned = [each for each in audited if each.warnings]
    for each in warned:
        name = getattr(each, "query_name", "bias direction")
        heading = f"\n{visible(name)}, {visible(each.model_name)}:"
        tell("\n- ".join([heading, *map(str, each.warnings)]))
    text = f"\n{len(warned)} of {len(audited)} audits found warnings."
    tell(text, "yellow" if warned else "green")


def _words_of(found: list[QueryAudit]) -> pd.DataFrame:
    tables = [
        one.to_frame().assign(query_name=one.query_name, model_name=one.model_name) for one in found
    ]
    return pd.concat([pd.DataFrame(), *tables], ignore_index=True)


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
    means no difference, and less means the wrong order. It needs models with the names 'unbiased'
    and 'biased'. Look at both: a score that hardly ever
    changes is robust but not informative. WEAT is measured by its effect size.

    Metrics that take one list of attributes, such as ECT, get all of a query as one list. Words
    that one model lacks are left out for all. Only the words of the queries are read from files.

    Writes robustness.csv (one row per silhouette), silhouettes.html (all curves) and results.db
    (everything) to OUT.

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
    seed : N >= 0
        Seed of the random orders, which are the same for all metrics and models.
    format
        Format of the printed table of silhouettes.
    """
    from wefe.plotting import plot_silhouettes

    # Both names of WEAT stand for the effect size, also in --param.
    in_full = partial(re.sub, r"(?i)^weat(?=\.|$)", "weat-es")
    metrics = opt.known_metrics([*map(in_full, metric)])
    given = opt.parse_params([*map(in_full, param)], metrics)
    asked = dict.fromkeys(queries)
    shared = {"vary": vary, "n_runs": runs, "step": step, "join": True}
    declared = {
        "name": "Silhouettes",
        "random_state": seed,
        "offline": offline,
        "models": models.declared(),
        "queries": [{"name": name, **opt.declared_queries(name)} for name in asked],
        "silhouettes": [
            {"metric": name, "params": given.get(name, {}), "query_set": query_set, **shared}
            for query_set, name in itertools.product(asked, metrics)
        ],
        "lookup": {"preprocessors": opt.preprocessors(lowercase), "lost_vocabulary_threshold": 1.0},
    }
    results = opt.run_in(out, declared, n_jobs)
    failures = opt.failures_of(results)
    found = results.silhouette_study()
    lost = pd.DataFrame([*failures.items()], columns=["model", "nan_reason"])
    table = pd.concat([found.to_frame(), lost], ignore_index=True) if failures else found.to_frame()
    page = plot_silhouettes(found).to_html(include_plotlyjs=True)
    write_text(out / "robustness.csv", as_csv(table))
    write_text(out / "silhouettes.html", page)
    stars = "; *: best in the row" * (len(found.robustness) > 1)
    shown = ((f"{title}{stars}", cells.reset_index()) for title, cells in found._tables())
    write(format, shown, {"silhouettes": table})
    if format == "table":
        files = "results.db, robustness.csv, silhouettes.html"
        print(*found.notes, f"Written to {out}: {files}", sep="\n")
    opt.end(failures)
