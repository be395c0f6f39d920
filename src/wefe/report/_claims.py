"""Findings of a study as data: each claim has a kind, a place in the report, and evidence.

`templates/claims.jinja` has one macro per kind, which turns the facts into a sentence.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, TypeAlias

import pandas as pd

from wefe.report._scores import LEAST_CLUSTERS, SIGNIFICANT
from wefe.report._text import in_parts, macros
from wefe.study._plan import OVERALL

Summary: TypeAlias = Mapping[str, Any]
Claim: TypeAlias = dict[str, Any]
Place: TypeAlias = Literal["verdict", "summary", "rankings", "scores", "mitigation", "gaps"]

# Rankings with a lower correlation disagree.
_ALIKE = 0.5
# Maximum number of things of a kind to name; the rest are counted.
_MOST = 8


def _evidence(
    models: Iterable[str], n: int, unit: str = "query", p_value: float | None = None
) -> dict[str, Any]:
    """Return the basis of a claim: models, and `n` queries, scores or other units.

    `p_value` is the largest p-value that the claim calls significant.
    """
    return {"models": list(dict.fromkeys(models)), "n": n, "unit": unit, "p_value": p_value}


def _claim(kind: str, place: Place, evidence: Any, facts: Mapping[str, Any]) -> Claim:
    """Return a claim as a sentence, its parts (names and words) and its evidence.

    `kind` is the name of its macro, and `facts` are the arguments.
    """
    parts = in_parts(getattr(macros("claims.jinja"), kind)({**facts, "evidence": evidence}))
    text = "".join(part["text"] for part in parts)
    return {"kind": kind, "place": place, "text": text, "parts": parts, "evidence": evidence}


def claims(summary: Summary, scores: pd.DataFrame) -> list[Claim]:
    """Return the claims of a study in reading order: at most 3 in the verdict, 5 in the summary."""
    parts = (
        *(_verdict, _retrieval, _gaps, _left_out, _tests, _agreement, _mitigation, _warnings),
        *(_rankings, _scores),
    )
    return [claim for part in parts for claim in part(summary, scores)]


def _n_queries(scores: pd.DataFrame, query_set: str = OVERALL) -> int:
    """Count the queries with a score from some model that count in an aggregated score."""
    in_set = (query_set == OVERALL) | (scores["query_set"] == query_set)
    return _n_rows(scores[scores["score"].notna() & scores["counts"] & in_set])


def _n_rows(scores: pd.DataFrame) -> int:
    return len(scores[["query_set", "query_name"]].drop_duplicates())


def _ranks(ranking: Mapping[str, Any]) -> pd.DataFrame:
    """Return ranks by bias, one column per metric."""
    columns = pd.DataFrame(ranking["columns"])
    ranks = {row["model"]: row["ranks"] for row in ranking["rows"]}
    table = pd.DataFrame.from_dict(ranks, "index", float, columns["name"].tolist())
    return table.loc[:, columns["kind"].eq("bias").tolist()].dropna(how="all")


def _first_on(ranks: pd.DataFrame) -> dict[tuple[str, ...], list[str]]:
    """Return the metrics on which each model, or group of tied models, ranks first."""
    best: dict[tuple[str, ...], list[str]] = {}
    for metric, of_metric in ranks.loc[:, ranks.count() > 1].items():
        winners = tuple(sorted(of_metric.index[of_metric == of_metric.min()]))
        best.setdefault(winners, []).append(str(metric))
    return best


# Best model


def _verdict(summary: Summary, scores: pd.DataFrame) -> Iterator[Claim]:
    """Claim which model ranks first, and which has the lowest sum of ranks."""
    known = scores[scores["score"].notna()]
    if known["model_name"].nunique() == 1:
        yield _claim("one_model", "verdict", _evidence(known["model_name"], _n_rows(known)), {})
    for ranking in summary["rankings"][:1]:
        ranks, n_queries = _ranks(ranking), _n_queries(scores, ranking["name"])
        yield from _leader(summary, ranks, n_queries)
        yield from _lowest_sum(ranks, n_queries)


def _lowest_sum(ranks: pd.DataFrame, n_queries: int) -> Iterator[Claim]:
    sums = ranks.dropna().sum(axis=1).sort_values(kind="stable")
    if len(sums) > 1 and len(ranks.columns) > 1:
        facts = {
            "models": list(sums.index[sums == sums.iloc[0]]),
            "sum": sums.iloc[0],
            "n_metrics": len(ranks.columns),
            "next": list(sums[sums > sums.iloc[0]][:1].items()),
        }
        yield _claim("lowest_sum", "verdict", _evidence(sums.index, n_queries), facts)


def _leader(summary: Summary, ranks: pd.DataFrame, n_queries: int) -> Iterator[Claim]:
    best, where = _first_on(ranks), summary["rankings"][0]["name"]
    tested = {p["metric"]: p for p in summary["pairs"] if p["query_set"] == where}
    standings = _standings(best, tested)
    n_metrics = sum(map(len, best.values()))
    clear = [s for s in standings if s["significant"] and 2 * len(s["metrics"]) > n_metrics]
    facts = {
        "where": where,
        "standings": clear or standings[:3],
        "n_more": max(0, len(standings) - 3),
        "n_metrics": n_metrics,
        "n_tied": n_metrics - sum(len(each["metrics"]) for each in standings),
    }
    p_value = max(itertools.chain(*(each["significant"] for each in clear)), default=None)
    evidence = _evidence(ranks.index, n_queries, p_value=p_value)
    if best:
        yield _claim("leader" if clear else "no_leader", "verdict", evidence, facts)


def _standings(best: Mapping[Any, list[str]], pairs: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the metrics on which each model alone ranks first."""
    standings = []
    for winners, metrics in best.items():
        own = [pairs[metric] for metric in metrics if metric in pairs]
        if len(winners) == 1:
            tested = [each["p_value"] for each in own if each["p_value"] is not None]
            significant = [each["p_value"] for each in own if each["beyond"]]
            facts = {"model": winners[0], "metrics": metrics}
            standings.append({**facts, "n_tested": len(tested), "significant": significant})
    return sorted(standings, key=lambda s: (-len(s["metrics"]), -len(s["significant"])))


def _rankings(summary: Summary, scores: pd.DataFrame) -> Iterator[Claim]:
    for ranking in summary["rankings"]:
        ranks = _ranks(ranking)
        groups = sorted(_first_on(ranks).items(), key=lambda pair: -len(pair[1]))
        if groups:
            evidence = _evidence(ranks.index, _n_queries(scores, ranking["name"]))
            facts = {"where": ranking["name"], "groups": groups[:_MOST]}
            yield _claim("first_on", "rankings", evidence, facts)


# Certainty


def _tests(summary: Summary, scores: pd.DataFrame) -> Iterator[Claim]:
    columns = ["query_set", "first", "second", "p_value", "beyond"]
    pairs = pd.DataFrame(summary["pairs"], columns=columns)
    # The overall rankings use the same scores again.
    pairs = pairs[pairs["query_set"] != OVERALL]
    tested = pairs.dropna(subset="p_value")
    clear = tested["p_value"][tested["beyond"].astype(bool)].tolist()
    facts = {"n_clear": len(clear), "n_tested": len(tested), "n": len(pairs)}
    if len(pairs):
        models = (tested if len(tested) else pairs)[["first", "second"]].to_numpy().ravel()
        evidence = _evidence(models, _n_queries(scores), p_value=max(clear, default=None))
        yield _claim("tested", "summary", evidence, facts | {"least": LEAST_CLUSTERS})


def _scores(_summary: Summary, scores: pd.DataFrame) -> Iterator[Claim]:
    with_p = scores[scores["p_value"].notna()]
    small = with_p[["p_value", "p_value_holm"]] < SIGNIFICANT
    by_model = small.groupby(with_p["model_name"], sort=False)
    rows = [(model, len(own), *own.sum()) for model, own in by_model]
    if rows:
        facts = {"rows": rows[:_MOST], "n_more": max(0, len(rows) - _MOST), "n_tests": len(with_p)}
        # Without a ranking, this is what the study found.
        place: Place = "scores" if scores["model_name"].nunique() > 1 else "verdict"
        yield _claim("p_values", place, _of_scores(with_p), facts)


def _of_scores(scores: pd.DataFrame) -> dict[str, Any]:
    return _evidence(scores["model_name"], len(scores), "score")


# Disagreement


def _agreement(summary: Summary, scores: pd.DataFrame) -> Iterator[Claim]:
    for ranking, part in zip(summary["rankings"][:1], summary["correlations"], strict=False):
        pairs = [(value, *names) for value, *names, is_bias in part["pairs"] if is_bias]
        n_low = sum(value < _ALIKE for value, *_ in pairs)
        facts = {"method": part["method"], "pairs": pairs[: min(3, n_low or 3)], "n_low": n_low}
        if pairs:
            models = _ranks(ranking).index
            evidence = _evidence(models, _n_queries(scores, ranking["name"]))
            kind = "differ" if n_low else "alike"
            yield _claim(kind, "summary", evidence, facts | {"below": _ALIKE})


# Effect of mitigation


def _mitigation(summary: Summary, scores: pd.DataFrame) -> Iterator[Claim]:
    bias = pd.DataFrame(summary["changes"], columns=["model", "base", "bias"]).explode("bias")
    bias = bias.dropna(subset="bias")
    if len(bias):
        ways = Counter(bias["bias"].str.get("way"))
        evidence = _evidence(bias[["model", "base"]].to_numpy().ravel(), _n_queries(scores))
        facts = {"n": len(bias), "n_less": ways["lower"], "n_more": ways["higher"]}
        yield _claim("mitigated", "summary", evidence, facts)
    for change in summary["changes"]:
        n_queries = _n_queries(scores, change["query_set"] or OVERALL)
        basis = {"bias": (n_queries, "query"), "quality": (len(change["quality"]), "benchmark")}
        for what in filter(change.get, basis):
            evidence = _evidence((change["model"], change["base"]), *basis[what])
            yield _claim("changed", "mitigation", evidence, {**change, "what": what})


# Who is ranked first


def _retrieval(summary: Summary, scores: pd.DataFrame) -> Iterator[Claim]:
    place: Place = "verdict" if scores.empty else "summary"
    for audit in summary["retrieval"][:_MOST]:
        p_value = audit["largest"]["p_value_holm"]
        significant = p_value if p_value < SIGNIFICANT else None
        evidence = _evidence((audit["model"],), audit["n_names"], "name", significant)
        yield _claim("selected", place, evidence, audit)


# Missing values


def _gaps(summary: Summary, scores: pd.DataFrame) -> Iterator[Claim]:
    gaps, without = summary["gaps"], scores[scores["score"].isna()]
    if len(without):
        evidence = _evidence(without["model_name"], len(scores), "score")
        counts = Counter(without["status"])
        facts = {"n": len(without), "n_scores": len(scores), "n_nan": len(gaps["nan"])}
        facts |= {"n_failed": counts["failed"], "n_missing": counts["missing"]}
        yield _claim("without_value", "summary", evidence, facts)
    if gaps["n_missing"] or gaps["n_failed"]:
        models = tuple(model["label"] for model in summary["models"])
        place: Place = "gaps" if len(without) else "summary"
        yield _claim("unfinished", place, _evidence(models, gaps["n_tasks"], "task"), gaps)


def _left_out(summary: Summary, scores: pd.DataFrame) -> Iterator[Claim]:
    parts: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for metric in summary["metrics"]:
        for part in metric["parts"]:
            if n := len(part["left_out"]):
                counted = {"metric": metric["label"], "n": n, "of": len(part["queries"])}
                parts[part["query_set"]].append(counted)
    without = scores[scores["score"].isna()]
    for name, own in parts.items():
        lacking = without["model_name"][without["query_set"] == name]
        evidence = _evidence(lacking, max(part["n"] for part in own))
        yield _claim("left_out", "gaps", evidence, {"where": name, "parts": own})


def _warnings(summary: Summary, scores: pd.DataFrame) -> Iterator[Claim]:
    every = pd.DataFrame(summary["warnings"], columns=["kind", "n", "meaning", "models"])
    # A missing audit says nothing about a score.
    kinds = every[every["kind"] != "not-audited"]
    known = scores[scores["score"].notna()]
    if len(kinds):
        n = int(kinds["n"].sum())
        facts = {"n": n, "n_kinds": len(kinds), "first": kinds["meaning"].iloc[0]}
        evidence = _evidence(kinds["models"].explode(), n, "warning")
        yield _claim("warned", "summary", evidence, facts)
    elif len(known) and not summary["audited"]:
        yield _claim("not_audited", "summary", _of_scores(known), {})
