"""The summary in words: sentences that are computed from the tables of the report."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

# Smallest Spearman correlation that has p < 0.05 (two-sided, exact) over so many models.
_SPEARMAN = {5: 1.0, 6: 0.886, 7: 0.786, 8: 0.738, 9: 0.700, 10: 0.648, 11: 0.618, 12: 0.587}
_SIGNIFICANT = 0.05
# Changes and distances below it are rounding.
_NOTHING = 1e-6
# Rankings that correlate less are said to disagree.
_ALIKE = 0.5
_MUCH_LOST = 0.1
# So many sentences of one kind, and then how many more there are.
_MOST = 8


def findings(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what a study found, in sentences under headings.

    Parameters
    ----------
    summary : dict
        The tables of :func:`wefe.report.summarize`.

    Returns
    -------
    list of dict
        'title' and 'sentences'; headings without sentences are not there.
    """
    parts = {
        "Least bias measured": _least(summary),
        "How sure this is": _certainty(summary),
        "What disagrees": _disagreement(summary),
        "What mitigation changed": _mitigation(summary),
        "What is missing": _missing(summary),
        "Warnings": _warnings(summary),
    }
    return [
        {"title": title, "sentences": found}
        for title, sentences in parts.items()
        if (found := list(sentences))
    ]


def number(value: float | None) -> str:
    """Return a score for people.

    Examples
    --------
    >>> number(0.12345), number(-0.00123), number(-1e-9), number(1234.5), number(None)
    ('0.123', '-0.0012', '0.000', '1234', 'no value')
    """
    if value is None or value != value:
        return "no value"
    if abs(value) < 5e-5:
        return "0.000"
    if abs(value) < 0.01:
        return f"{value:.4f}"
    return f"{value:.3f}" if abs(value) < 100 else f"{value:.0f}"


def count(value: int, one: str, several: str = "") -> str:
    """Return a number and what is counted."""
    return f"{value} {one if value == 1 else several or one + 's'}"


def listed(names: Sequence[str], most: int = 5) -> str:
    """Return names as a list in words.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a", "b", "c"], most=2)
    ('a, b and c', 'a, b and 1 more')
    """
    shown = list(names)
    if len(shown) > most:
        shown = [*shown[:most], f"{len(shown) - most} more"]
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))


def _percent(share: float) -> str:
    """Return a share; what is not all is never shown as 100 %, nor something as 0 %."""
    if 0 < share < 0.005:
        return "less than 1 %"
    if 0.995 <= share < 1:
        return "more than 99 %"
    return f"{100 * share:.0f} %"


def _bias_columns(ranking: Mapping[str, Any]) -> list[int]:
    columns = ranking["columns"]
    return [i for i, column in enumerate(columns) if column["kind"] == "bias"]


def _is_number(value: Any) -> bool:
    return value is not None and value == value


# Which model


def _least(summary: Mapping[str, Any]) -> Iterator[str]:
    models = summary["models"]
    if not summary["rankings"]:
        return
    if len(models) == 1:
        yield (
            f"There is one model, {models[0]['label']}, so nothing is ranked; its scores stand "
            "below."
        )
        return
    for ranking in summary["rankings"]:
        yield from _winners(ranking)
    mitigated = [model["label"] for model in models if model["mitigation"] is not None]
    as_they_are = [model["label"] for model in models if model["mitigation"] is None]
    if mitigated and len(as_they_are) > 1:
        overall = summary["rankings"][0]
        best = _best_by(overall, as_they_are)
        if best:
            yield f"Of the models as they are, {_by_clause(best)}."
    yield from _sums(summary["rankings"][0])


def _winners(ranking: Mapping[str, Any]) -> Iterator[str]:
    best = _best_by(ranking, [row["model"] for row in ranking["rows"]])
    if best:
        yield f"{ranking['name']}: {_by_clause(best)}."


def _best_by(ranking: Mapping[str, Any], models: Sequence[str]) -> dict[tuple[str, ...], list[str]]:
    """Return by which metrics each model, or group of tied models, has the best rank."""
    best: dict[tuple[str, ...], list[str]] = {}
    for column in _bias_columns(ranking):
        ranks = {
            row["model"]: row["ranks"][column]
            for row in ranking["rows"]
            if row["model"] in models and _is_number(row["ranks"][column])
        }
        if len(ranks) > 1:
            first = min(ranks.values())
            winners = tuple(sorted(model for model, rank in ranks.items() if rank == first))
            best.setdefault(winners, []).append(ranking["columns"][column]["name"])
    return best


def _by_clause(best: Mapping[tuple[str, ...], Sequence[str]]) -> str:
    """Say which models have the least bias by which metrics, the most frequent ones first."""
    clauses: list[str] = []
    for winners, metrics in sorted(best.items(), key=lambda pair: -len(pair[1])):
        verb = "has" if len(winners) == 1 else "have"
        what = "it" if clauses else "the least bias measured,"
        shared = "" if len(winners) == 1 else " in equal measure"
        clauses.append(f"{listed(winners)} {verb} {what} by {listed(metrics, 12)}{shared}")
    return "; ".join(clauses)


def _sums(ranking: Mapping[str, Any]) -> Iterator[str]:
    rows = [row for row in ranking["rows"] if _is_number(row["sum"])]
    n_columns = len(_bias_columns(ranking))
    if len(rows) < 2 or n_columns < 2:
        return
    lowest = [row["model"] for row in rows if row["sum"] == rows[0]["sum"]]
    verb = "has" if len(lowest) == 1 else "have"
    text = (
        f"Over {_all(n_columns)} metrics ({ranking['name']}), {listed(lowest)} {verb} the lowest "
        f"sum of ranks: {rows[0]['sum']:g}, where {n_columns} would be first by every metric"
    )
    others = [row for row in rows if row["sum"] != rows[0]["sum"]]
    if others:
        text += f"; next is {others[0]['model']} with {others[0]['sum']:g}"
    yield text + "."


def _all(n: int) -> str:
    return "both" if n == 2 else f"all {n}"


# How sure


def _certainty(summary: Mapping[str, Any]) -> Iterator[str]:
    cells = list(_cells(summary))
    n_scores = sum("score" in cell for _, _, cell in cells)
    if n_scores == 0:
        return
    yield from _overlaps(summary["overlaps"])
    yield from _p_values([cell["p_value"] for _, _, cell in cells if "p_value" in cell])
    if not any("interval" in cell for _, _, cell in cells):
        yield (
            "No intervals were computed, so nothing is said of how far scores would move with "
            "other words of the same kind ([intervals] n_bootstrap in the study file)."
        )
    yield from _few_models(summary)


def _cells(
    summary: Mapping[str, Any],
) -> Iterator[tuple[Mapping[str, Any], Any, Mapping[str, Any]]]:
    for metric in summary["metrics"]:
        for part in metric["parts"]:
            for row in part["cells"]:
                for cell in row:
                    yield metric, part, cell


def overlaps(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Compare the bootstrap intervals of the two models of the first ranks.

    Intervals of scores are taken as intervals of distances from no bias, as the order is theirs.

    Parameters
    ----------
    summary : dict
        With 'rankings' and 'metrics'.

    Returns
    -------
    list of dict
        Per metric and query set: 'metric', 'query_set', 'first', 'second' (models), 'n_overlap' of
        'n' queries.
    """
    found = []
    for metric in summary["metrics"]:
        for part in metric["parts"]:
            ranking = next(r for r in summary["rankings"] if r["name"] == part["query_set"])
            column = [c["name"] for c in ranking["columns"]].index(metric["label"])
            ranked = sorted(
                (row["ranks"][column], row["model"])
                for row in ranking["rows"]
                if _is_number(row["ranks"][column])
            )
            if len(ranked) < 2:
                continue
            first, second = (metric["models"].index(model) for _, model in ranked[:2])
            both = [
                [_distances(cell["interval"], metric["no_bias_value"]) for cell in pair]
                for pair in zip(part["cells"][first], part["cells"][second], strict=True)
                if all("interval" in cell for cell in pair)
            ]
            if both:
                found.append(
                    {
                        "metric": metric["label"],
                        "query_set": part["query_set"],
                        "first": ranked[0][1],
                        "second": ranked[1][1],
                        "n_overlap": sum(a[0] <= b[1] and b[0] <= a[1] for a, b in both),
                        "n": len(both),
                    }
                )
    return found


def _overlaps(found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not found:
        return
    clear = [each for each in found if each["n_overlap"] == 0]
    n_unclear = len(found) - len(clear)
    text = (
        f"In {n_unclear} of {count(len(found), 'ranking')} (one per metric and query set), "
        "bootstrap intervals of the two models with the least bias measured overlap in some query"
    )
    if n_unclear:
        text += ", so that other words of the same kind could exchange these models"
    if clear:
        names = [f"{p['metric']}, {p['query_set']} ({p['first']}, {p['second']})" for p in clear]
        text += f". They do not in {'; '.join(names[:_MOST])}{_more(names)}"
    yield text + "."


def _more(texts: Sequence[str]) -> str:
    return f"; and {len(texts) - _MOST} more" if len(texts) > _MOST else ""


def _distances(interval: Sequence[float], no_bias: float) -> tuple[float, float]:
    """Return the interval of distances from no bias that belongs to an interval of scores."""
    low, high = (end - no_bias for end in interval)
    largest = max(abs(low), abs(high))
    return (0.0, largest) if low <= 0 <= high else (min(abs(low), abs(high)), largest)


def _p_values(values: Sequence[float]) -> Iterator[str]:
    if not values:
        return
    n_tests = len(values)
    below = sum(value < _SIGNIFICANT for value in values)
    strict = sum(value < _SIGNIFICANT / n_tests for value in values)
    text = (
        f"Of {count(n_tests, 'score')} with a p-value, {below} ({_percent(below / n_tests)}) "
        f"{'has' if below == 1 else 'have'} p < {_SIGNIFICANT}"
    )
    if n_tests > 1:
        text += (
            f"; about {_SIGNIFICANT * n_tests:.1f} would by chance if words were sorted at random. "
            f"{strict} {'has' if strict == 1 else 'have'} p < {_SIGNIFICANT} after correction for "
            f"{n_tests} tests (Bonferroni)"
        )
    yield text + "."


def _few_models(summary: Mapping[str, Any]) -> Iterator[str]:
    n_models = max((part["n_models"] for part in summary["correlations"]), default=0)
    several = any(len(part["columns"]) > 1 for part in summary["correlations"])
    if n_models < 2 or not several:
        return
    method = summary["correlations"][0]["method"].capitalize()
    if n_models < 3:
        yield f"With {n_models} models there is no correlation of rankings to speak of."
    elif n_models < 5:
        chance = {3: "0.33", 4: "0.083"}[n_models]
        yield (
            f"With {n_models} models, even a perfect rank correlation may be chance (p = {chance})."
        )
    elif method == "Spearman" and n_models in _SPEARMAN:
        yield (
            f"With {n_models} models, a rank correlation below {_SPEARMAN[n_models]:g} may be "
            f"chance (p > {_SIGNIFICANT})."
        )


# What disagrees


def _disagreement(summary: Mapping[str, Any]) -> Iterator[str]:
    if not summary["rankings"] or len(summary["models"]) < 2:
        return
    overall = summary["rankings"][0]
    columns = _bias_columns(overall)
    if len(columns) < 2:
        return
    names = [overall["columns"][i]["name"] for i in columns]
    orders = {tuple(row["ranks"][i] for row in overall["rows"]) for i in columns}
    if len(orders) == 1:
        every = _all(len(columns)).capitalize()
        yield f"{every} metrics put the models in the same order ({overall['name']})."
    elif summary["correlations"][0]["n_models"] > 2:
        yield from _lowest_correlations(summary["correlations"][0])
    spreads = []
    for row in overall["rows"]:
        ranks = [(row["ranks"][i], name) for i, name in zip(columns, names, strict=True)]
        known = [pair for pair in ranks if _is_number(pair[0])]
        if len(known) > 1:
            low, high = min(known), max(known)
            spreads.append((high[0] - low[0], row["model"], low, high))
    largest = max((spread for spread, *_ in spreads), default=0)
    if largest > 0:
        texts = [
            f"{model} has rank {low[0]:g} by {low[1]} and {high[0]:g} by {high[1]}"
            for spread, model, low, high in spreads
            if spread == largest
        ]
        yield f"The metrics differ most about these models: {'; '.join(texts[:3])}."
    yield from _other_columns(summary["correlations"][0])


def _lowest_correlations(part: Mapping[str, Any]) -> Iterator[str]:
    pairs = sorted(
        (part["values"][i][j], part["columns"][i], part["columns"][j])
        for i, j in itertools.combinations(range(len(part["columns"])), 2)
        if part["kinds"][i] == part["kinds"][j] == "bias" and _is_number(part["values"][i][j])
    )
    if not pairs:
        return
    what = f"{part['method'].capitalize()} correlation"
    low = [pair for pair in pairs if pair[0] < _ALIKE]
    if low:
        texts = [f"{one} and {other} ({value:.2f})" for value, one, other in low[:3]]
        others = f", the lowest of {len(low)} below {_ALIKE}" if len(low) > 3 else ""
        yield f"These metrics rank the models differently ({what}{others}): {'; '.join(texts)}."
    else:
        value, one, other = pairs[0]
        low_one = f"{'' if len(pairs) == 1 else 'lowest: '}{one} and {other} {value:.2f}"
        yield f"The metrics rank the models much alike ({what}, {low_one})."


def _other_columns(part: Mapping[str, Any]) -> Iterator[str]:
    """Say how rankings of something else than bias go with those of bias."""
    if part["n_models"] < 3:
        return
    bias = [i for i, kind in enumerate(part["kinds"]) if kind == "bias"]
    for i, kind in enumerate(part["kinds"]):
        values = [part["values"][i][j] for j in bias if _is_number(part["values"][i][j])]
        if kind == "bias" or not values:
            continue
        name = part["columns"][i]
        low, high = f"{min(values):.2f}", f"{max(values):.2f}"
        between = low if low == high else f"{low} to {high}"
        yield f"The ranking by {name} ({kind}) correlates {between} with those by bias."


# What mitigation changed


def _mitigation(summary: Mapping[str, Any]) -> Iterator[str]:
    for change in summary["changes"]:
        groups: dict[str, list[str]] = {"less": [], "more": [], "the same": []}
        unknown = []
        for each in change["bias"]:
            if not _is_number(each["change"]):
                unknown.append(each["metric"])
            else:
                which = "less" if each["change"] < 0 else "more"
                groups["the same" if abs(each["change"]) < _NOTHING else which].append(
                    f"{each['metric']} ({_from_to(each)})"
                )
        texts = [
            f"{which} bias measured by {listed(each, 12)}" for which, each in groups.items() if each
        ]
        if unknown:
            texts.append(f"no comparison by {listed(unknown, 12)}")
        if not texts:
            continue
        yield (
            f"{change['model']}, against {change['base']} ({change['query_set']}): "
            f"{'; '.join(texts)}."
        )
        quality = [each for each in change["quality"] if _is_number(each["change"])]
        if quality:
            scores = [
                f"{each['benchmark']} {number(each['before'])} to {number(each['after'])}"
                for each in quality
            ]
            yield f"Its quality went from {', '.join(scores[:_MOST])}{_more(scores)}."


def _from_to(change: Mapping[str, Any]) -> str:
    text = f"distance from no bias {number(change['before'])} to {number(change['after'])}"
    relative = change["relative"]
    if _is_number(relative) and abs(relative) >= 0.005:
        text += f", {100 * relative:+.0f} %"
    return text


# What is missing


def _missing(summary: Mapping[str, Any]) -> Iterator[str]:
    gaps = summary["gaps"]
    if gaps["n_missing"]:
        yield (
            f"{gaps['n_missing']} of {count(gaps['n_tasks'], 'task')} "
            f"{'is' if gaps['n_missing'] == 1 else 'are'} not computed yet. Run the study again: "
            "it does what is missing."
        )
    failures = [
        f"{each['model_name']}: {count(each['n_tasks'], 'task')} failed ({_short(each['reason'])})."
        for each in gaps["failures"]
    ]
    yield from failures[:_MOST]
    if len(failures) > _MOST:
        yield f"{len(failures) - _MOST} more failures are listed below."
    if gaps["nan"]:
        yield from _nan(gaps)
    for each in summary["query_sets"]:
        parts = [
            (metric["label"], part)
            for metric in summary["metrics"]
            for part in metric["parts"]
            if part["query_set"] == each["name"] and part["left_out"]
        ]
        if parts:
            texts = [
                f"{len(p['left_out'])} of {len(p['queries'])} by {label}" for label, p in parts
            ]
            yield (
                f"Aggregates over {each['name']} leave out queries that not every model could "
                f"answer: {listed(texts, 12)}."
            )
    for each in summary["query_sets"]:
        if each["left_out"]:
            whys = dict.fromkeys(_short(part["why"]) for part in each["left_out"])
            names = [part["query"] for part in each["left_out"]]
            yield (
                f"{each['name']}: {count(len(names), 'query is', 'queries are')} not asked "
                f"({'; '.join(whys)}): {listed(names, 3)}."
            )
    for model in summary["models"]:
        lost = model["lost"]
        if lost and lost["n_lost"] > _MUCH_LOST * lost["n_words"]:
            yield (
                f"{model['label']} lacks {lost['n_lost']} of the {lost['n_words']} words that are "
                f"asked for ({_percent(lost['n_lost'] / lost['n_words'])}); its scores are of the "
                "others."
            )


def _nan(gaps: Mapping[str, Any]) -> Iterator[str]:
    nan = gaps["nan"]
    pairs = Counter((each["model"], each["metric"]) for each in nan).most_common()
    texts = [f"{n} of {model} by {metric}" for (model, metric), n in pairs]
    yield (
        f"{len(nan)} of {count(gaps['n_scores'], 'score')} "
        f"{'has' if len(nan) == 1 else 'have'} no value: {'; '.join(texts[:3])}"
        + (f"; and others of {len(texts) - 3} more" if len(texts) > 3 else "")
        + f". For example: {_short(nan[0]['reason'])}"
        + ("" if _short(nan[0]["reason"]).endswith(".") else ".")
    )


def _short(text: str, most: int = 240) -> str:
    """Return the beginning of a reason, which may list hundreds of words."""
    one_line = " ".join(str(text).split())
    return one_line if len(one_line) <= most else one_line[: most - 1].rstrip() + "…"


# Warnings


def _warnings(summary: Mapping[str, Any]) -> Iterator[str]:
    kinds = summary["warnings"]
    if kinds:
        total = sum(each["n"] for each in kinds)
        texts = [f"{each['kind']} ({each['n']})" for each in kinds]
        yield (
            f"{count(total, 'audit warning')} of {count(len(kinds), 'kind')}: {listed(texts, 12)}. "
            "What has a warning should not be taken at face value."
        )
    if not summary["audited"]:
        yield (
            "The scores of each metric were not audited ([audit] scores in the study file), so "
            "they may lack warnings that belong to them."
        )
