"""`wefe audit`: may these scores be believed?"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pandas as pd
import typer

import wefe.audit as audits
from wefe._files import atomic_file
from wefe._plain import plain
from wefe._visible import visible
from wefe.cli import _options as opt
from wefe.cli._inputs import check_for_encoders, end, open_models, open_queries, preprocessors
from wefe.cli._output import Format, as_json, say, write
from wefe.datasets import load_criterion
from wefe.embeddings import UnanswerableError
from wefe.models._load import words_of

if TYPE_CHECKING:
    from wefe.audit import DirectionAudit, QueryAudit
    from wefe.datasets import Criterion
    from wefe.models import WordEmbeddingModel
    from wefe.query import Query

logger = logging.getLogger(__name__)


def audit(
    model: opt.Models = [],
    encoder: opt.Encoders = [],
    queries: opt.Queries = [],
    criterion: Annotated[
        list[str],
        typer.Option(
            help="Whose bias direction is audited: gender, ethnicity, religion, or a JSON file of "
            "a criterion, as for 'wefe debias'. Repeat for several."
        ),
    ] = [],
    requirements: Annotated[
        bool,
        typer.Option(
            "--requirements",
            help="Print which metrics are comparable between models, and of which 0 means that "
            "no word is biased. Needs no model.",
        ),
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Write the figures to this HTML file, too.")
    ] = None,
    format: Annotated[
        Format, typer.Option(help="csv has the biases of all words; json has everything.")
    ] = Format.table,
    p_value_test: opt.SideOption = opt.Side.right,
    lowercase: opt.Lowercase = True,
    vocab_prefix: opt.VocabPrefix = "",
    offline: opt.Offline = False,
    trust_pickle: opt.TrustPickle = False,
    layer: opt.Layer = -1,
    pooling: opt.PoolingOption = opt.Pooling.auto,
    template: opt.Templates = [],
) -> None:
    """Say whether scores may be believed: individual biases, bias directions, metrics.

    For each query and model: how far the individual bias of each word goes, of what is attainable;
    how well it tells the target sets apart, beside the effect size and its p-value; and warnings
    where a score hides something. The target words of a query are audited between two attribute
    sets, or if there is one only, its words between two target sets. For each criterion: whether
    its pairs have a direction in common. After Schröder, Schulz, Hinder and Hammer (2024).

    Example: wefe audit --model demo --queries gender --criterion gender --offline --out audit.html
    """
    if not (requirements or queries or criterion):
        raise ValueError("say what to audit: --queries, --criterion or --requirements.")
    if format is Format.csv and (criterion or requirements or not queries):
        raise ValueError("--format csv has the biases of words, so it takes --queries and no more.")
    if out is not None and not (queries or criterion):
        raise ValueError("--out has nothing to draw; it needs --queries or --criterion.")
    of_queries: list[QueryAudit] = []
    of_directions: list[DirectionAudit] = []
    failures: dict[str, str] = {}
    if queries or criterion:
        check_for_encoders(model, encoder, layer, pooling, template)
        parts = _parts(queries, offline)
        # The sets that define a direction ship with the package.
        known = [load_criterion(text, offline=True) for text in dict.fromkeys(criterion)]
        forms = preprocessors(lowercase)
        opened, failures = open_models(
            *(model, encoder, layer, pooling, template),
            vocab_prefix=vocab_prefix or None,
            words=_words(parts, known, vocab_prefix, forms),
            trust_pickle=trust_pickle,
        )
        for each in opened:
            of_queries += _audits_of_queries(each, parts, p_value_test, forms)
            of_directions += _audits_of_directions(each, known, forms)
        if not (of_queries or of_directions):
            raise ValueError("nothing can be audited with these models; see the messages above.")
    table = audits.requirements_table() if requirements else None
    if format is Format.json:
        _print_json(of_queries, of_directions, table)
    else:
        write(format, _tables(of_queries, of_directions, table), {"words": _words_of(of_queries)})
    if format is Format.table:
        _print_notes(of_queries, of_directions, table)
    if out is not None:
        _write_figures(of_queries, of_directions, out)
    end(failures)


def _parts(names: list[str], offline: bool) -> list[Query]:
    """Return what is audited of the queries: each between two groups."""
    from wefe.audit._score import between_two_groups

    asked = open_queries(names, offline)
    queries = [query for query_set in asked for query in query_set.queries]
    parts = [part for query in queries for part in between_two_groups(query)]
    if asked and not parts:
        raise ValueError(
            "no query has two target sets or two attribute sets to audit words between."
        )
    return parts


def _words(
    parts: list[Query], criteria: list[Criterion], prefix: str, forms: list[dict[str, Any]]
) -> set[str]:
    """Return the words that are looked up: of a file that must be parsed, only those are read."""
    words = set(words_of(parts, prefix or None, forms))
    sets = [part for one in criteria for part in one.definitional_sets]
    return words | {
        prefix + form for part in sets for word in part for form in (word, word.lower())
    }


def _audits_of_queries(
    model: WordEmbeddingModel, parts: list[Query], side: opt.Side, forms: list[dict[str, Any]]
) -> Iterator[QueryAudit]:
    for query in parts:
        try:
            yield audits.audit_query(query, model, alternative=side.value, preprocessors=forms)
        except UnanswerableError as error:
            logger.warning("%s", error)


def _audits_of_directions(
    model: WordEmbeddingModel, criteria: list[Criterion], forms: list[dict[str, Any]]
) -> Iterator[DirectionAudit]:
    for one in criteria:
        try:
            yield audits.audit_direction(one, model, preprocessors=forms)
        except ValueError as error:
            logger.warning("%s, %s: %s", one.name, model.name, error)


def _tables(
    of_queries: list[QueryAudit], of_directions: list[DirectionAudit], table: pd.DataFrame | None
) -> Iterator[tuple[str, pd.DataFrame]]:
    if of_queries:
        title = "Individual biases s(w, A, B) of the target words"
        rows = pd.DataFrame(map(_row, of_queries)).dropna(axis="columns", how="all")
        yield title, rows.infer_objects()
    for direction in of_directions:
        ratio = direction.explained_variance_ratio[0]
        title = (
            f"Bias direction of {direction.n_sets} defining sets in {direction.model_name}: "
            f"{ratio:.0%} of the variance; mean correlation of the sets "
            f"{direction.mean_correlation:.2f}"
        )
        yield title, direction.to_frame().drop(columns="words").reset_index()
    if table is not None:
        yield (
            "Which metrics are comparable, and which scores mean no bias",
            table.drop(columns="why"),
        )


def _row(audit: QueryAudit) -> dict[str, Any]:
    compared = audit.comparison
    return {
        "query": audit.query_name,
        "model": audit.model_name,
        "attainable": audit.attribute_difference,
        "largest bias": audit.largest_bias,
        "of word": audit.most_biased_word,
        "biased": f"{audit.n_biased}/{len(audit.all_biases)}",
        "effect size": None if compared is None else compared.effect_size,
        "p_value": None if compared is None else compared.p_value,
        "AUC": None if compared is None else compared.auc,
    }


def _print_notes(
    of_queries: list[QueryAudit], of_directions: list[DirectionAudit], table: pd.DataFrame | None
) -> None:
    """Print what the columns mean, and the warnings."""
    if of_queries:
        print(
            "attainable: mean attribute difference d, the largest possible |s|. biased: words with "
            f"|s| > {of_queries[0].epsilon:g} d. AUC: share of pairs of words in order, 0.5 by "
            "chance."
        )
        sides = {one.comparison.alternative for one in of_queries if one.comparison is not None}
        print(*(f"p value: {side} permutation test." for side in sides))
    if of_directions:
        print(
            "cosine: of the set's own direction with the first component; without: with that of "
            "the other sets; agreement: with the common direction of the others, each counting "
            "alike; stability: cosine of the first component with that without the set; variance "
            "share: the part of its variance that is from this set."
        )
    warned = 0
    done: list[QueryAudit | DirectionAudit] = [*of_queries, *of_directions]
    for one in done:
        if one.warnings:
            warned += 1
            print(f"\n{_name(one)}, {visible(one.model_name)}:")
            print("\n".join(f"- {warning}" for warning in one.warnings))
    if done:
        say(f"\n{warned} of {len(done)} audits found warnings.", "yellow" if warned else "green")
    if table is not None:
        print(
            "comparable: the extremes do not depend on the groups, so that models can be compared. "
            "trustworthy: the\nscore means no bias only if no word is biased. no false alarm: and "
            "it does so whenever no word is.\n"
        )
        for name, why in table[["metric", "why"]].to_numpy(str):
            print(f"{name}: {why}")


def _name(audit: QueryAudit | DirectionAudit) -> str:
    return visible(getattr(audit, "query_name", "bias direction"))


def _words_of(of_queries: list[QueryAudit]) -> pd.DataFrame:
    tables = [
        one.to_frame().assign(query_name=one.query_name, model_name=one.model_name)
        for one in of_queries
    ]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def _print_json(
    of_queries: list[QueryAudit], of_directions: list[DirectionAudit], table: pd.DataFrame | None
) -> None:
    content: dict[str, Any] = {
        "queries": [plain(one) for one in of_queries],
        "directions": [plain(one) for one in of_directions],
    }
    if table is not None:
        content.update(json.loads(as_json({"requirements": table})))
    print(json.dumps(content, indent=2, ensure_ascii=False))


def _write_figures(
    of_queries: list[QueryAudit], of_directions: list[DirectionAudit], path: Path
) -> None:
    """Write one page of figures, which needs no network."""
    figures = [one.plot() for one in of_queries] + [one.plot() for one in of_directions]
    parts = [
        figure.to_html(full_html=False, include_plotlyjs=position == 0)
        for position, figure in enumerate(figures)
    ]
    page = (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>wefe audit</title>'
        f"<body>{''.join(parts)}</body></html>"
    )
    with atomic_file(path) as file:
        file.write(page.encode())
    print(f"Written to {path}.", file=sys.stderr)
