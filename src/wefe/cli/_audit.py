"""`wefe audit`: may these scores be believed?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wefe._files import atomic_file
from wefe._visible import as_csv
from wefe.cli._measure import (
    Pooling,
    Side,
    check_for_encoders,
    open_encoders,
    open_model,
)
from wefe.cli._options import Lowercase, Offline, TrustPickle, VocabPrefix
from wefe.cli._output import Format, as_json, as_text

if TYPE_CHECKING:
    import pandas as pd

    from wefe.audit import DirectionAudit, QueryAudit
    from wefe.models import WordEmbeddingModel


def audit(
    model: Annotated[
        list[str],
        typer.Option(
            help="Whatever 'wefe measure --model' takes, 'demo' included. NAME=FILE gives it a "
            "name. Repeat for several."
        ),
    ] = [],  # noqa: B006 - typer reads the default, nobody changes it
    encoder: Annotated[
        list[str],
        typer.Option(
            help="A contextual or sentence encoder, as for 'wefe measure'. Repeat for several."
        ),
    ] = [],  # noqa: B006
    queries: Annotated[
        list[str],
        typer.Option(
            "--queries",
            "--query",
            help="A published query set ('wefe datasets' lists them) or a JSON file of queries. "
            "The target words are audited between two attribute sets, or if there is one only, its "
            "words between two target sets. Repeat for several.",
        ),
    ] = [],  # noqa: B006
    criterion: Annotated[
        list[str],
        typer.Option(
            help="Whose bias direction is audited: gender, ethnicity, religion, or a JSON file of "
            "a criterion, as for 'wefe debias'. Repeat for several."
        ),
    ] = [],  # noqa: B006
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
    format: Annotated[  # noqa: A002 - the option is called --format
        Format, typer.Option(help="csv has the biases of all words; json has everything.")
    ] = Format.table,
    p_value_test: Annotated[
        Side, typer.Option(help="Which splits count in the permutation test.")
    ] = Side.right,
    lowercase: Lowercase = True,
    vocab_prefix: VocabPrefix = "",
    offline: Offline = False,
    trust_pickle: TrustPickle = False,
    layer: Annotated[int, typer.Option(help="Layer of encoders, -1 for the last.")] = -1,
    pooling: Annotated[
        Pooling, typer.Option(help="Pooling of encoders, as for 'wefe measure'.")
    ] = Pooling.auto,
    template: Annotated[
        list[str],
        typer.Option(help="A sentence with a gap in which encoders see the words."),
    ] = [],  # noqa: B006
) -> None:
    """Say whether scores may be believed: individual biases, bias directions, metrics.

    For each query and model: how far the individual bias of each word goes, of what is attainable;
    how well it tells the target sets apart, beside the effect size and its p-value; and warnings
    where a score hides something. For each criterion: whether its pairs have a direction in
    common. After Schröder, Schulz, Hinder and Hammer (2024).

    Example: wefe audit --model demo --queries gender --criterion gender --offline --out audit.html
    """
    if not (requirements or queries or criterion):
        raise ValueError("say what to audit: --queries, --criterion or --requirements.")
    if (queries or criterion) and not (model or encoder):
        raise ValueError("--queries and --criterion need a --model, for example --model demo.")
    check_for_encoders(encoder, layer, pooling, template)
    if format is Format.csv and (criterion or requirements or not queries):
        raise ValueError("--format csv has the biases of words, so it takes --queries and no more.")
    if out is not None and not (queries or criterion):
        raise ValueError("--out has nothing to draw; it needs --queries or --criterion.")
    encoders = open_encoders(encoder, layer, pooling, template)
    of_queries, of_directions = _audits(
        model,
        encoders,
        queries,
        criterion,
        p_value_test,
        lowercase,
        vocab_prefix or None,
        offline,
        trust_pickle,
    )
    table = None
    if requirements:
        from wefe.audit import requirements_table

        table = requirements_table()
    if format is Format.csv:
        _print_csv(of_queries)
    elif format is Format.json:
        _print_json(of_queries, of_directions, table)
    else:
        _print(of_queries, of_directions)
        if table is not None:
            _print_requirements(table)
    if out is not None:
        _write_figures(of_queries, of_directions, out)


def _audits(
    models: list[str],
    encoders: list[WordEmbeddingModel],
    queries: list[str],
    criteria: list[str],
    side: Side,
    lowercase: bool,
    vocab_prefix: str | None,
    offline: bool,
    trust_pickle: bool,
) -> tuple[list[QueryAudit], list[DirectionAudit]]:
    import logging

    from wefe.audit import audit_direction, audit_query
    from wefe.audit._score import between_two_groups
    from wefe.datasets import load_criterion
    from wefe.datasets._opened import open_query_set
    from wefe.embeddings import UnanswerableError
    from wefe.models._load import words_of

    logger = logging.getLogger(__name__)
    preprocessors: list[dict[str, Any]] = [{}, {"lowercase": True}] if lowercase else [{}]
    asked = []
    for text in dict.fromkeys(queries):
        asked.append(open_query_set(text, offline, "--queries"))
        offline = offline or asked[-1].offline
    parts = [
        part
        for query_set in asked
        for query in query_set.queries
        for part in between_two_groups(query)
    ]
    if asked and not parts:
        raise ValueError(
            "no query has two target sets or two attribute sets to audit words between."
        )
    # The sets that define a direction ship with the package.
    known = [load_criterion(text, offline=True) for text in dict.fromkeys(criteria)]
    words = set(words_of(parts, vocab_prefix, preprocessors))
    for one in known:
        for part in one.definitional_sets:
            words.update((vocab_prefix or "") + word for word in part)
            words.update((vocab_prefix or "") + word.lower() for word in part)
    options = {"vocab_prefix": vocab_prefix, "words": words, "trust_pickle": trust_pickle}
    opened = [open_model(text, options) for text in models] + encoders
    of_queries, of_directions = [], []
    for each in opened:
        for query in parts:
            try:
                of_queries.append(
                    audit_query(query, each, alternative=side.value, preprocessors=preprocessors)
                )
            except UnanswerableError as error:
                logger.warning("%s", error)
        for one in known:
            try:
                of_directions.append(audit_direction(one, each, preprocessors=preprocessors))
            except ValueError as error:
                logger.warning("%s, %s: %s", one.name, each.name, error)
    if (parts or known) and not (of_queries or of_directions):
        raise ValueError("nothing can be audited with these models; see the messages above.")
    return of_queries, of_directions


def _print(of_queries: list[QueryAudit], of_directions: list[DirectionAudit]) -> None:
    import pandas as pd

    rows = []
    for one in of_queries:
        compared = one.comparison
        rows.append(
            {
                "query": one.query_name,
                "model": one.model_name,
                "attainable": one.attribute_difference,
                "largest bias": one.largest_bias,
                "of word": one.most_biased_word,
                "biased": f"{one.n_biased}/{len(one.all_biases)}",
                "effect size": None if compared is None else compared.effect_size,
                "p_value": None if compared is None else compared.p_value,
                "AUC": None if compared is None else compared.auc,
            }
        )
    if rows:
        table = pd.DataFrame(rows).dropna(axis="columns", how="all")
        print("Individual biases s(w, A, B) of the target words")
        print(as_text(table.infer_objects()))
        print(
            "attainable: mean attribute difference d, the largest possible |s|. biased: words with "
            f"|s| > {of_queries[0].epsilon:g} d. AUC: share of pairs of words in order, 0.5 by "
            "chance."
        )
        sides = {one.comparison.alternative for one in of_queries if one.comparison is not None}
        print(*(f"p value: {side} permutation test." for side in sides), end="\n\n")
    for one in of_queries:
        if one.warnings:
            print(f"{one.query_name}, {one.model_name}:")
            print("\n".join(f"- {warning}" for warning in one.warnings), end="\n\n")
    for direction in of_directions:
        ratio = direction.explained_variance_ratio[0]
        print(
            f"Bias direction of {direction.n_sets} defining sets in {direction.model_name}: "
            f"{ratio:.0%} of the variance; mean correlation of the sets "
            f"{direction.mean_correlation:.2f}"
        )
        print(as_text(direction.to_frame().drop(columns="words").reset_index()))
        print("\n".join(f"- {warning}" for warning in direction.warnings) or "no warnings")
        print()
    if of_directions:
        print(
            "cosine: of the set's own direction with the first component; without: with that of "
            "the other sets; agreement: with the common direction of the others, each counting "
            "alike; stability: cosine of the first component with that without the set; variance "
            "share: the part of its variance that is from this set."
        )


def _print_requirements(table: pd.DataFrame) -> None:
    print(as_text(table.drop(columns="why")))
    print(
        "comparable: the extremes do not depend on the groups, so that models can be compared. "
        "trustworthy: the\nscore means no bias only if no word is biased. no false alarm: and it "
        "does so whenever no word is.\n"
    )
    for name, why in table[["metric", "why"]].to_numpy(str):
        print(f"{name}: {why}")


def _print_csv(of_queries: list[QueryAudit]) -> None:
    import pandas as pd

    tables = [
        one.to_frame().assign(query_name=one.query_name, model_name=one.model_name)
        for one in of_queries
    ]
    print(as_csv(pd.concat(tables, ignore_index=True)), end="")


def _print_json(
    of_queries: list[QueryAudit], of_directions: list[DirectionAudit], table: Any
) -> None:
    import json

    content: dict[str, Any] = {
        "queries": [json.loads(one.to_json()) for one in of_queries],
        "directions": [json.loads(one.to_json()) for one in of_directions],
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
