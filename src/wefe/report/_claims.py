"""What a study found, as data: a claim has a kind, a place in the report, and its evidence.

`templates/claims.jinja` has a macro for each kind, which makes a sentence of the facts.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from wefe.report._paired import LEAST_CLUSTERS, SIGNIFICANT, compare
from wefe.report._text import number
from wefe.study._plan import OVERALL

Summary: TypeAlias = Mapping[str, Any]
Place: TypeAlias = Literal[
    "verdict", "summary", "rankings", "scores", "correlations", "mitigation", "gaps"
]

# Smallest Spearman correlation that has p < 0.05 (two-sided, exact) over so many models.
_SPEARMAN = {5: 1.0, 6: 0.886, 7: 0.786, 8: 0.738, 9: 0.700, 10: 0.648, 11: 0.618, 12: 0.587}
# p-value of a perfect rank correlation over so few models.
_PERFECT = {3: 0.33, 4: 0.083}
# Changes and distances below it are rounding.
_NOTHING = 1e-6
# Rankings that correlate less are said to disagree.
_ALIKE = 0.5
_MUCH_LOST = 0.1
# So many things of a kind are named, and then how many more there are.
_MOST = 8
# What calls itself so is compared with models, and is none.
_CONTROL = re.compile(r"\b(controls?|shuffl\w*|permuted|placebo)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Evidence:
    """What a claim rests on.

    Attributes
    ----------
    models : tuple of str
        The models that the claim speaks of: at least one.
    n : int
        How many queries, scores or other units it rests on: at least one.
    unit : str
        What `n` counts.
    p_value : float, optional
        The largest p-value of what the claim calls significant.

    Raises
    ------
    ValueError
        If there are no models, or nothing was counted.
    """

    models: tuple[str, ...]
    n: int
    unit: str = "query"
    p_value: float | None = None

    def __post_init__(self) -> None:
        if not self.models or self.n < 1:
            raise ValueError(
                f"a claim needs evidence, of at least one model and one {self.unit}; got "
                f"{len(self.models)} models and n={self.n}."
            )


@dataclass(frozen=True)
class Claim:
    """A statement of the report.

    Attributes
    ----------
    kind : str
        Name of the macro that says it.
    place : str
        Where it stands: in the verdict, in the summary, or beside the tables of a section.
    evidence : Evidence
        What it rests on.
    facts : dict
        What else the macro needs.
    """

    kind: str
    place: Place
    evidence: Evidence
    facts: Mapping[str, Any] = field(default_factory=dict)


class _Cell(NamedTuple):
    metric: str
    query_set: str
    query: str
    model: str
    known: Mapping[str, Any]
    counts: bool

    @property
    def is_measured(self) -> bool:
        return "score" in self.known


def claims(summary: Summary) -> list[Claim]:
    """Return what a study found: at most three claims of the verdict, five of the summary.

    Parameters
    ----------
    summary : dict
        The tables of :func:`wefe.report.summarize`, as plain data.

    Returns
    -------
    list of Claim
        Those of a place stand in the order in which they are read.
    """
    cells = [
        _Cell(
            metric["label"], part["query_set"], query, model, known, query not in part["left_out"]
        )
        for metric in summary["metrics"]
        for part in metric["parts"]
        for model, row in zip(metric["models"], part["cells"], strict=True)
        for query, known in zip(part["queries"], row, strict=True)
    ]
    parts = (_verdict, _gaps, _tests, _agreement, _mitigation, _warnings, _rankings, _scores)
    return [claim for part in parts for claim in part(summary, cells)]


def _n_queries(cells: Sequence[_Cell], query_set: str = OVERALL) -> int:
    """Count the queries that some model answered and that count in an aggregated score."""
    return len(
        {
            (cell.query_set, cell.query)
            for cell in cells
            if cell.is_measured and cell.counts and query_set in (OVERALL, cell.query_set)
        }
    )


def _ranks(ranking: Mapping[str, Any], kind: str = "bias") -> dict[str, dict[str, float]]:
    """Return the ranks of the models by the name of the column, of the models that have one."""
    return {
        column["name"]: {
            row["model"]: row["ranks"][i] for row in ranking["rows"] if row["ranks"][i] is not None
        }
        for i, column in enumerate(ranking["columns"])
        if column["kind"] == kind
    }


def _names(*groups: Collection[str]) -> tuple[str, ...]:
    """Return the different names of some groups, in order."""
    return tuple(dict.fromkeys(name for group in groups for name in group))


# Which model


def _verdict(summary: Summary, cells: Sequence[_Cell]) -> Iterator[Claim]:
    """Say who is first: of all models, and of those that are as they are; and how ranks add up."""
    measured = _names([cell.model for cell in cells if cell.is_measured])
    if len(measured) == 1:
        n = len({(c.query_set, c.query) for c in cells if c.is_measured})
        yield Claim("one_model", "verdict", Evidence(measured, n))
    if not summary["rankings"]:
        return
    ranking = summary["rankings"][0]
    n_queries = _n_queries(cells, ranking["name"])
    ranked = _names(*_ranks(ranking).values())
    yield from _leader(summary, ranking, ranked, n_queries)
    mitigated = [m["label"] for m in summary["models"] if m["mitigation"] is not None]
    controls = [m for m in ranked if m not in mitigated and _CONTROL.search(m)]
    own = [model for model in ranked if model not in mitigated and model not in controls]
    first_of_all = _names(*_best_by(ranking, ranked))
    if len(own) > 1 and not set(first_of_all) <= set(own):
        aside = {"mitigated": any(m in mitigated for m in ranked), "controls": controls}
        yield from _leader(summary, ranking, own, n_queries, aside)
    sums = {row["model"]: row["sum"] for row in ranking["rows"] if row["sum"] is not None}
    n_metrics = len(_ranks(ranking))
    if len(sums) > 1 and n_metrics > 1:
        lowest = min(sums.values())
        first = [model for model, total in sums.items() if total == lowest]
        after = [model for model in sums if model not in first]
        facts = {
            "models": first,
            "sum": lowest,
            "n_metrics": n_metrics,
            "next": {"model": after[0], "sum": sums[after[0]]} if after else None,
        }
        yield Claim("lowest_sum", "verdict", Evidence(tuple(sums), n_queries), facts)


def _leader(
    summary: Summary,
    ranking: Mapping[str, Any],
    models: Sequence[str],
    n_queries: int,
    aside: Mapping[str, Any] | None = None,
) -> Iterator[Claim]:
    best = _best_by(ranking, models)
    if not best:
        return
    n_metrics = sum(map(len, best.values()))
    found = {
        metric["label"]: compare(summary, ranking, metric, models) for metric in summary["metrics"]
    }
    standings: list[dict[str, Any]] = []
    for winners, metrics in best.items():
        # Who shares a first rank is ahead of nobody.
        if len(winners) == 1:
            own = [each for metric in metrics if (each := found[metric]) is not None]
            standings.append(
                {
                    "model": winners[0],
                    "metrics": metrics,
                    "n_tested": sum(each["p_value"] is not None for each in own),
                    "significant": [each["p_value"] for each in own if each["beyond"]],
                }
            )
    standings.sort(key=lambda each: (-len(each["metrics"]), -len(each["significant"])))
    first = standings[0] if standings else None
    is_clear = (
        first is not None and 2 * len(first["metrics"]) > n_metrics and bool(first["significant"])
    )
    p_value = max(first["significant"]) if first is not None and is_clear else None
    facts = {
        "where": ranking["name"],
        "aside": aside,
        "standings": standings[:1] if is_clear else standings[:3],
        "n_more": 0 if is_clear else max(0, len(standings) - 3),
        "n_metrics": n_metrics,
        "n_tied": n_metrics - sum(len(each["metrics"]) for each in standings),
    }
    named = _names(models, aside["controls"] if aside else ())
    evidence = Evidence(named, n_queries, p_value=p_value)
    yield Claim("leader" if is_clear else "no_leader", "verdict", evidence, facts)


def _best_by(
    ranking: Mapping[str, Any], models: Collection[str]
) -> dict[tuple[str, ...], list[str]]:
    """Return by which metrics each model, or group of tied models, has the best rank."""
    best: dict[tuple[str, ...], list[str]] = {}
    wanted = set(models)
    for metric, of_metric in _ranks(ranking).items():
        ranks = {model: rank for model, rank in of_metric.items() if model in wanted}
        if len(ranks) > 1:
            first = min(ranks.values())
            winners = tuple(sorted(model for model, rank in ranks.items() if rank == first))
            best.setdefault(winners, []).append(metric)
    return best


def _rankings(summary: Summary, cells: Sequence[_Cell]) -> Iterator[Claim]:
    for ranking in summary["rankings"]:
        ranked = _names(*_ranks(ranking).values())
        best = _best_by(ranking, ranked)
        groups = sorted(best.items(), key=lambda pair: -len(pair[1]))
        if groups:
            evidence = Evidence(ranked, _n_queries(cells, ranking["name"]))
            facts = {"where": ranking["name"], "groups": groups[:_MOST]}
            yield Claim("first_on", "rankings", evidence, facts)


# How sure


def _tests(summary: Summary, cells: Sequence[_Cell]) -> Iterator[Claim]:
    """Say in how many rankings the first model is significantly ahead of the second one."""
    sets = {each["name"] for each in summary["query_sets"]}
    # The overall rankings are made of the same scores again.
    pairs = [each for each in summary["pairs"] if each["query_set"] in sets]
    if not pairs:
        return
    tested = [each for each in pairs if each["p_value"] is not None]
    clear = [each for each in tested if each["beyond"]]
    models = _names(*[(each["first"], each["second"]) for each in tested or pairs])
    n_queries = _n_queries(cells)
    p_value = max((each["p_value"] for each in clear), default=None)
    facts = {
        "n_clear": len(clear),
        "n_tested": len(tested),
        "n": len(pairs),
        "least": LEAST_CLUSTERS,
    }
    kind = "tested" if tested else "untested"
    yield Claim(kind, "summary", Evidence(models, n_queries, p_value=p_value), facts)


def _scores(summary: Summary, cells: Sequence[_Cell]) -> Iterator[Claim]:
    with_p = [cell for cell in cells if cell.is_measured and "p_value" in cell.known]
    by_model: dict[str, list[_Cell]] = {}
    for cell in with_p:
        by_model.setdefault(cell.model, []).append(cell)
    if with_p:
        rows = [
            {
                "model": model,
                "n": len(own),
                "n_small": sum(cell.known["p_value"] < SIGNIFICANT for cell in own),
                "n_holm": sum(cell.known["p_value_holm"] < SIGNIFICANT for cell in own),
            }
            for model, own in by_model.items()
        ]
        facts = {"rows": rows[:_MOST], "n_more": max(0, len(rows) - _MOST), "n_tests": len(with_p)}
        yield Claim("p_values", "scores", Evidence(tuple(by_model), len(with_p), "score"), facts)
    sides: dict[str, list[str]] = {}
    for each in summary["methods"]["metrics"]:
        sides.setdefault(each["params"].get("p_value_test_type", ""), []).append(each["label"])
    for side in ("right-sided", "left-sided"):
        own = [cell for cell in with_p if cell.metric in sides.get(side, ())]
        if own:
            evidence = Evidence(_names([cell.model for cell in own]), len(own), "score")
            facts = {"side": side, "metrics": list(_names([cell.metric for cell in own]))}
            yield Claim("one_sided", "scores", evidence, facts)
    with_interval = [cell for cell in cells if cell.is_measured and "interval" in cell.known]
    outside = [cell for cell in with_interval if cell.known.get("outside")]
    if outside:
        evidence = Evidence(_names([cell.model for cell in outside]), len(outside), "interval")
        facts = {
            "rows": [{**cell._asdict(), **cell.known} for cell in outside[:3]],
            "n": len(outside),
            "n_intervals": len(with_interval),
        }
        yield Claim("outside", "scores", evidence, facts)


# What disagrees


def _agreement(summary: Summary, cells: Sequence[_Cell]) -> Iterator[Claim]:
    if not summary["rankings"]:
        return
    ranking, part = summary["rankings"][0], summary["correlations"][0]
    every = _ranks(ranking)
    n_queries = _n_queries(cells, ranking["name"])
    # A metric that ranks fewer than two models agrees with none.
    ranked = {metric: ranks for metric, ranks in every.items() if len(ranks) > 1}
    if len(ranked) < 2:
        return
    models = _names(*ranked.values())
    first = next(iter(ranked.values()))
    facts: dict[str, Any] = {"n": len(ranked), "n_metrics": len(every), "method": part["method"]}
    if all(ranks == first for ranks in ranked.values()):
        yield Claim("same_order", "summary", Evidence(models, n_queries), facts)
    else:
        pairs = sorted(
            (part["values"][i][j], part["columns"][i], part["columns"][j])
            for i, j in itertools.combinations(range(len(part["columns"])), 2)
            if part["kinds"][i] == part["kinds"][j] == "bias" and part["values"][i][j] is not None
        )
        low = [pair for pair in pairs if pair[0] < _ALIKE]
        facts |= {"pairs": (low or pairs)[:3], "n_low": len(low), "below": _ALIKE}
        if pairs:
            kind = "differ" if low else "alike"
            yield Claim(kind, "summary", Evidence(models, n_queries), facts)
    yield from _few_models(part, models, n_queries)
    spreads = []
    for model in models:
        known = sorted((ranks[model], name) for name, ranks in ranked.items() if model in ranks)
        if len(known) > 1 and known[-1][0] > known[0][0]:
            spreads.append((known[-1][0] - known[0][0], model, known[0], known[-1]))
    if spreads:
        largest = max(spread[0] for spread in spreads)
        rows = [spread[1:] for spread in spreads if spread[0] == largest][:3]
        evidence = Evidence(tuple(row[0] for row in rows), n_queries)
        yield Claim("spread", "correlations", evidence, {"rows": rows})
    for name, kind, values in zip(part["columns"], part["kinds"], part["values"], strict=True):
        of_bias = [
            value
            for value, other in zip(values, part["kinds"], strict=True)
            if other == "bias" and value is not None
        ]
        if kind != "bias" and of_bias:
            own = _ranks(ranking, kind)[name]
            facts = {"name": name, "kind": kind, "low": min(of_bias), "high": max(of_bias)}
            yield Claim("other_ranking", "correlations", Evidence(tuple(own), n_queries), facts)


def _few_models(
    part: Mapping[str, Any], models: tuple[str, ...], n_queries: int
) -> Iterator[Claim]:
    n, evidence = part["n_models"], Evidence(models, n_queries)
    if n in _PERFECT:
        facts: dict[str, Any] = {"n": n, "p_value": _PERFECT[n]}
        yield Claim("perfect_by_chance", "correlations", evidence, facts)
    elif part["method"] == "spearman" and n in _SPEARMAN:
        facts = {"n": n, "least": _SPEARMAN[n], "p_value": SIGNIFICANT}
        yield Claim("correlation_by_chance", "correlations", evidence, facts)


# What mitigation changed


def _mitigation(summary: Summary, cells: Sequence[_Cell]) -> Iterator[Claim]:
    changes = [
        (change, each)
        for change in summary["changes"]
        for each in change["bias"]
        if each["change"] is not None
    ]
    if changes:
        models = _names(*[(change["model"], change["base"]) for change, _ in changes])
        n_of = Counter(_direction(each) for _, each in changes)
        facts = {"n": len(changes), "n_less": n_of["lower"], "n_more": n_of["higher"]}
        yield Claim("mitigated", "summary", Evidence(models, _n_queries(cells)), facts)
    for change in summary["changes"]:
        pair = {key: change[key] for key in ("model", "base", "query_set")}
        models = (change["model"], change["base"])
        for what, n_and_unit in (
            ("bias", (_n_queries(cells, change["query_set"] or OVERALL), "query")),
            ("quality", (len(change["quality"]), "benchmark")),
        ):
            known = [each for each in change[what] if each["change"] is not None]
            if known:
                groups: dict[str, list[Any]] = {"lower": [], "higher": [], "the same": []}
                for each in known:
                    groups[_direction(each)].append(each)
                yield Claim(
                    f"{what}_change",
                    "mitigation",
                    Evidence(models, *n_and_unit),
                    {**pair, "groups": groups},
                )
        how = next(m["how"] for m in summary["models"] if m["label"] == change["model"]) or {}
        for part in summary["explored"]:
            if part["criterion"] == how.get("criterion"):
                yield from _left_over(part, change["model"], change["base"])


def _direction(change: Mapping[str, Any]) -> str:
    # As precise as it is written: 0.313 to 0.313 is no change.
    if number(change["before"]) == number(change["after"]) or abs(change["change"]) < _NOTHING:
        return "the same"
    return "higher" if change["change"] > 0 else "lower"


def _left_over(part: Mapping[str, Any], model: str, base: str) -> Iterator[Claim]:
    """Say what lies along a direction, and around words, before and after."""
    spread = {
        row["model_name"]: row["mean_abs"]
        for row in part["distribution"]
        if row["set"] == "vocabulary" and row["group"] in (None, *part["groups"][:1])
    }
    words = []
    for each in part["words"]:
        rows = {row["model"]: row for row in each["rows"] if row["why"] is None}
        if not ({model, base} <= rows.keys() and rows[base]["is_clear"]):
            continue
        group = rows[base]["leans_to"]
        shares = [s for of in (model, base) for s in rows[of]["shares"] if s["group"] == group]
        if len(shares) == 2:
            after, before = shares
            words.append({"word": each["word"], "group": group, "after": after, "before": before})
    has_spread = {model, base} <= spread.keys()
    if has_spread or words:
        facts = {
            "model": model,
            "criterion": part["criterion"],
            "group": part["groups"][0] if len(part["groups"]) > 2 else None,
            "spread": (spread[model], spread[base]) if has_spread else None,
            "words": words[:3],
        }
        evidence = Evidence((model, base), len(words) + has_spread, "comparison")
        yield Claim("left_over", "mitigation", evidence, facts)


# What is missing


def _gaps(summary: Summary, cells: Sequence[_Cell]) -> Iterator[Claim]:
    gaps = summary["gaps"]
    labels = tuple(model["label"] for model in summary["models"])
    without = [cell for cell in cells if not cell.is_measured]
    unfinished = {"n_missing": gaps["n_missing"], "n_failed": gaps["n_failed"]}
    if without:
        statuses = Counter(cell.known.get("status") for cell in without)
        evidence = Evidence(_names([cell.model for cell in without]), len(cells), "score")
        facts: dict[str, Any] = {
            "n": len(without),
            "n_scores": len(cells),
            "n_failed": statuses["failed"],
            "n_missing": statuses["missing"],
            "n_nan": len(gaps["nan"]),
        }
        yield Claim("without_value", "summary", evidence, facts)
    if any(unfinished.values()):
        evidence = Evidence(labels, gaps["n_tasks"], "task")
        place: Place = "gaps" if without else "summary"
        yield Claim("unfinished", place, evidence, {**unfinished, "n": gaps["n_tasks"]})
    for each in gaps["failures"][:_MOST]:
        evidence = Evidence((each["model_name"],), each["n_tasks"], "task")
        yield Claim("failed", "gaps", evidence, dict(each))
    nan: dict[str, Counter[str]] = {}
    for each in gaps["nan"]:
        nan.setdefault(each["model"], Counter())[each["metric"]] += 1
    if nan:
        rows = sorted(nan.items(), key=lambda pair: -pair[1].total())
        facts = {
            "rows": [{"model": model, "n": by.total()} for model, by in rows[:_MOST]],
            "n_more": max(0, len(rows) - _MOST),
            "reason": Counter(each["reason"] for each in gaps["nan"]).most_common(1)[0][0],
        }
        evidence = Evidence(tuple(nan), len(gaps["nan"]), "score")
        yield Claim("nan_by_model", "gaps", evidence, facts)
    for query_set in summary["query_sets"]:
        parts = [
            {"metric": metric["label"], "n": len(part["left_out"]), "of": len(part["queries"])}
            for metric in summary["metrics"]
            for part in metric["parts"]
            if part["query_set"] == query_set["name"] and part["left_out"]
        ]
        lacking = _names([c.model for c in without if c.query_set == query_set["name"]])
        if parts and lacking:
            evidence = Evidence(lacking, max(part["n"] for part in parts))
            yield Claim("left_out", "gaps", evidence, {"where": query_set["name"], "parts": parts})
        if query_set["left_out"]:
            evidence = Evidence(labels, len(query_set["left_out"]))
            facts = {"where": query_set["name"], "queries": query_set["left_out"]}
            yield Claim("not_asked", "gaps", evidence, facts)
    lost = [
        {"model": model["label"], **model["lost"]}
        for model in summary["models"]
        if model["lost"] and model["lost"]["n_lost"] > _MUCH_LOST * model["lost"]["n_words"]
    ]
    if lost:
        evidence = Evidence(_names([row["model"] for row in lost]), lost[0]["n_words"], "word")
        facts = {"rows": lost[:_MOST], "n_more": max(0, len(lost) - _MOST)}
        yield Claim("lost_words", "gaps", evidence, facts)


def _warnings(summary: Summary, cells: Sequence[_Cell]) -> Iterator[Claim]:
    # That a score could not be audited is no finding about it.
    kinds = [each for each in summary["warnings"] if each["kind"] != "not-audited"]
    measured = [cell for cell in cells if cell.is_measured]
    if kinds:
        total = sum(each["n"] for each in kinds)
        models = _names(*(each["models"] for each in kinds))
        facts = {"n": total, "n_kinds": len(kinds), "first": kinds[0]["meaning"]}
        yield Claim("warned", "summary", Evidence(models, total, "warning"), facts)
    elif measured and not summary["audited"]:
        models = _names([cell.model for cell in measured])
        yield Claim("not_audited", "summary", Evidence(models, len(measured), "score"))
