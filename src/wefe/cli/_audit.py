"""`wefe audit`: check how reliable scores are."""

from __future__ import annotations

import itertools
import json
import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pandas as pd

import wefe.audit as audits
from wefe._files import atomic_file
from wefe._output import Format, say, tell, write
from wefe._plain import plain
from wefe._visible import visible
from wefe.audit import DirectionAudit, QueryAudit
from wefe.audit._score import between_two_groups
from wefe.cli import _options as opt
from wefe.datasets import Criterion, load_criterion
from wefe.models._load import words_of
from wefe.query import Query

logger = logging.getLogger(__name__)

_Audit = TypeVar("_Audit")


class _Found(NamedTuple):
    queries: list[QueryAudit]
    directions: list[DirectionAudit]


_ABOUT_BIASES = (
    "attainable: mean attribute difference d, the largest possible |s|. biased: words with |s| > "
    "{:g} d. AUC: share of word pairs in which the word of the first set has the larger bias; 0.5 "
    "by chance."
)
_ABOUT_DIRECTIONS = (
    "cosine: of the set's own direction with the first component. without: the same, with the "
    "first component of the other sets. agreement: the same, with the common direction of the "
    "other sets, weighted equally. stability: cosine between the first components with and without "
    "the set. variance share: part of the variance along the first component that comes from the "
    "set."
)
_ABOUT_REQUIREMENTS = (
    "comparable: the smallest and largest scores do not depend on the groups, so you can compare "
    "models. trustworthy: if the score means no bias, no word is biased. no false alarm: if no "
    "word is biased, the score means no bias.\n"
)


@opt.command
def audit(
    *,
    models: opt.Models,
    queries: list[str] = [],
    criterion: list[str] = [],
    requirements: bool = False,
    out: Path | None = None,
    format: Format = "table",
    p_value_test: opt.Side = "right-sided",
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

    Example: wefe audit --model demo --queries gender --criterion gender --offline --out audit.html

    Parameters
    ----------
    criterion : NAME
        Audit the bias direction of gender, ethnicity, religion, or a JSON file as in 'wefe debias'.
        Repeat for several.
    requirements
        List which metrics are comparable between models, and for which a score of 0 means that no
        word is biased. Needs no model.
    out : FILE
        Also write the figures to this HTML file.
    format
        csv contains the biases of all words; json contains everything.
    """
    asked = [*queries, *criterion]
    if not asked and not requirements:
        raise ValueError(
            "there is nothing to audit: give --queries, --criterion or --requirements."
        )
    if format == "csv" and (criterion or requirements):
        raise ValueError("--format csv contains the biases of words: use it with --queries only.")
    where = "--queries or --criterion; otherwise there is nothing to draw"
    opt.check_used(audit, locals(), {"out": (asked, where)})
    declared, parts = models.declared() if asked else [], _parts(queries, offline)
    # The sets that define a direction ship with the package.
    known = [load_criterion(text, offline=True) for text in dict.fromkeys(criterion)]
    forms = opt.preprocessors(lowercase)
    words = _words(parts, known, models.vocab_prefix, forms)
    opened, failures = opt.open_models(declared, words)
    of_query = partial(audits.audit_query, p_value_test_type=p_value_test, preprocessors=forms)
    of_direction = partial(audits.audit_direction, preprocessors=forms)
    found = _Found(_tried(of_query, parts, opened), _tried(of_direction, known, opened))
    if asked and not any(found):
        raise ValueError("no audit is possible with these models; see the messages above.")
    tables = {"requirements": audits.requirements_table()} if requirements else {}
    if format == "json":
        print(json.dumps(plain(found._asdict() | tables), indent=2, ensure_ascii=False))
    else:
        write(format, [*_tables(found, tables)], {"words": _words_of(found.queries)})
    if format == "table":
        _print_notes(found, tables)
    if out is not None:
        _write_figures([*found.queries, *found.directions], out)
    opt.end(failures)


def _words(
    parts: list[Query], criteria: list[Criterion], prefix: str | None, forms: list[dict[str, Any]]
) -> set[str]:
    """Return the words to read from the models."""
    sets = itertools.chain(*(one.definitional_sets for one in criteria))
    defining = {*itertools.chain(*sets)}
    cased = {(prefix or "") + form for form in defining.union(map(str.lower, defining))}
    return cased.union(words_of(parts, prefix, forms))


def _tried(audit: Callable[..., _Audit], asked: list[Any], models: list[Any]) -> list[_Audit]:
    """Return the audits that are possible, and log why others are not."""
    found = []
    for model, what in itertools.product(models, asked):
        try:
            found.append(audit(what, model))
        except ValueError as error:
            name = getattr(what, "name", None)
            logger.warning("%s", f"{name}, {model.name}: {error}" if name else error)
    return found


def _parts(names: list[str], offline: bool) -> list[Query]:
    """Return the parts of queries to audit, each between two groups."""
    asked = opt.open_queries(names, offline)
    parts = [part for each in asked for query in each.queries for part in between_two_groups(query)]
    if asked and not parts:
        raise ValueError(
            "an audit needs a query with two target sets or two attribute sets, and none was given."
        )
    return parts


def _tables(
    found: _Found, others: Mapping[str, pd.DataFrame]
) -> Iterator[tuple[str, pd.DataFrame]]:
    rows = pd.DataFrame(map(_row, found.queries)).dropna(axis="columns", how="all")
    if len(rows):
        yield "Individual biases s(w, A, B) of the target words", rows.infer_objects()
    for direction in found.directions:
        ratio = direction.explained_variance_ratio[0]
        title = (
            f"Bias direction of {direction.n_sets} defining sets in {direction.model_name}: "
            f"{ratio:.0%} of the variance; mean correlation of the sets "
            f"{direction.mean_correlation:.2f}"
        )
        yield title, direction.to_frame().drop(columns="words").reset_index()
    for table in others.values():
        title = "Which metrics are comparable, and which scores mean no bias"
        yield title, table.drop(columns="why")


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


def _print_notes(found: _Found, others: Mapping[str, pd.DataFrame]) -> None:
    """Explain the columns and print the warnings."""
    audited: list[QueryAudit | DirectionAudit] = [*found.queries, *found.directions]
    warned = [one for one in audited if one.warnings]
    compared = filter(None, (one.comparison for one in found.queries))
    notes = [_ABOUT_BIASES.format(one.epsilon) for one in found.queries[:1]]
    notes += [
        f"p value: {side} permutation test." for side in {one.alternative for one in compared}
    ]
    notes += [_ABOUT_DIRECTIONS] * bool(found.directions)
    notes += [
        "\n- ".join([f"\n{_name_of(one)}, {visible(one.model_name)}:", *map(str, one.warnings)])
        for one in warned
    ]
    for note in notes:
        tell(note)
    if audited:
        text = f"\n{len(warned)} of {len(audited)} audits found warnings."
        say(text, "yellow" if warned else "green")
    for table in others.values():
        tell(_ABOUT_REQUIREMENTS)
        tell("\n".join(f"{name}: {why}" for name, why in table[["metric", "why"]].to_numpy()))


def _name_of(audit: QueryAudit | DirectionAudit) -> str:
    return visible(getattr(audit, "query_name", "bias direction"))


def _words_of(found: list[QueryAudit]) -> pd.DataFrame:
    tables = [
        one.to_frame().assign(query_name=one.query_name, model_name=one.model_name) for one in found
    ]
    return pd.concat([pd.DataFrame(), *tables], ignore_index=True)


def _write_figures(found: list[Any], path: Path) -> None:
    """Write a page of figures that works offline."""
    parts = [
        one.plot().to_html(full_html=False, include_plotlyjs=position == 0)
        for position, one in enumerate(found)
    ]
    page = (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>wefe audit</title>'
        f"<body>{''.join(parts)}</body></html>"
    )
    with atomic_file(path) as file:
        file.write(page.encode())
    print(f"Written to {path}.", file=sys.stderr)
