"""The summary in words: sentences that are computed from the tables of the report."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from wefe.report._methods import WARNINGS
from wefe.report._paired import LEAST_CLUSTERS, SIGNIFICANT, compare

# Smallest Spearman correlation that has p < 0.05 (two-sided, exact) over so many models.
_SPEARMAN = {5: 1.0, 6: 0.886, 7: 0.786, 8: 0.738, 9: 0.700, 10: 0.648, 11: 0.618, 12: 0.587}
# Changes and distances below it are rounding.
_NOTHING = 1e-6
# Rankings that correlate less are said to disagree.
_ALIKE = 0.5
_MUCH_LOST = 0.1
# So many sentences of one kind, and then how many more there are.
_MOST = 8
# What calls itself so is compared with models, and is none.
_CONTROL = re.compile(r"\b(controls?|shuffl\w*|permuted|placebo)\b", re.IGNORECASE)
# Where a name begins and ends in a sentence: characters that no text has, and no name is left with.
_KINDS = {"\ufdd0": "model", "\ufdd1": "metric", "\ufdd2": "name"}
_END = "\ufdd3"


def findings(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what a study found, in sentences under headings.

    Parameters
    ----------
    summary : dict
        The tables of :func:`wefe.report.summarize`, as plain data.

    Returns
    -------
    list of dict
        'title', 'sentences' (texts) and 'parts': each sentence again as a list of {'kind', 'text'},
        of kind 'text', 'model', 'metric' or 'name', so that names can be told from words. Headings
        without sentences are not there.
    """
    parts = {
        "In short": _verdict(summary),
        "Least bias measured": _least(summary),
        "How sure this is": _certainty(summary),
        "What disagrees": _disagreement(summary),
        "What mitigation changed": _mitigation(summary),
        "What is missing": _missing(summary),
        "Warnings": _warnings(summary),
    }
    found = [(title, [in_parts(text) for text in texts]) for title, texts in parts.items()]
    return [
        {
            "title": title,
            "sentences": ["".join(part["text"] for part in parts) for parts in sentences],
            "parts": sentences,
        }
        for title, sentences in found
        if sentences
    ]


def a_model(label: object) -> str:
    """Mark the name of a model, for :func:`in_parts`."""
    return f"\ufdd0{label}{_END}"


def a_metric(label: object) -> str:
    """Mark the name of a metric."""
    return f"\ufdd1{label}{_END}"


def a_name(name: object) -> str:
    """Mark another name: of a query set, a query, a benchmark."""
    return f"\ufdd2{name}{_END}"


def in_parts(sentence: str) -> list[dict[str, str]]:
    """Take a sentence with marked names apart.

    Examples
    --------
    >>> in_parts(f"{a_model('w2v')} is first.")
    [{'kind': 'model', 'text': 'w2v'}, {'kind': 'text', 'text': ' is first.'}]
    """
    pieces = re.split(f"([{''.join(_KINDS)}].*?{_END})", sentence, flags=re.DOTALL)
    return [
        {"kind": _KINDS[piece[0]], "text": piece[1:-1]}
        if piece[0] in _KINDS
        else {"kind": "text", "text": piece}
        for piece in pieces
        if piece
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


def _verdict(summary: Mapping[str, Any]) -> Iterator[str]:
    """Join ranks and certainty: once of all models, and once of those that are as they are."""
    models = [model["label"] for model in summary["models"]]
    if not summary["rankings"] or len(models) < 2:
        return
    ranking = summary["rankings"][0]
    yield from _ahead(summary, ranking, models, f"{a_name(ranking['name'])}: ")
    own = _as_they_are(summary)
    if 1 < len(own) < len(models):
        start = f"Of the models as they are ({_without(summary)}): "
        yield from _ahead(summary, ranking, own, start)


def _as_they_are(summary: Mapping[str, Any]) -> list[str]:
    """Return the models that are not mitigated, and do not call themselves controls."""
    return [
        model["label"]
        for model in summary["models"]
        if model["mitigation"] is None and not _CONTROL.search(model["label"])
    ]


def _without(summary: Mapping[str, Any]) -> str:
    mitigated = any(model["mitigation"] is not None for model in summary["models"])
    controls = [
        a_model(model["label"])
        for model in summary["models"]
        if model["mitigation"] is None and _CONTROL.search(model["label"])
    ]
    parts = ["mitigated ones"] * mitigated
    if controls:
        called = "by its name a control" if len(controls) == 1 else "by their names controls"
        parts.append(f"{listed(controls)}, {called}")
    return f"without {' and '.join(parts)}"


def _ahead(
    summary: Mapping[str, Any], ranking: Mapping[str, Any], models: Collection[str], start: str
) -> Iterator[str]:
    best = _best_by(ranking, models)
    n_metrics = sum(map(len, best.values()))
    if not n_metrics:
        return
    # Who shares a first rank is ahead of nobody.
    n_first = Counter({each[0]: len(by) for each, by in best.items() if len(each) == 1})
    found = [compare(summary, ranking, metric, models) for metric in summary["metrics"]]
    n_beyond = Counter(each["first"] for each in found if each and each["beyond"])
    n_tested = Counter(each["first"] for each in found if each and each["p_value"] is not None)
    # Ranks are among all models.
    lowest = _lowest_sum(ranking) if len(models) == len(ranking["rows"]) else []

    def said(model: str, verb: str = "") -> str:
        by = f"by {n_first[model]} of {count(n_metrics, 'metric')}"
        sure = _beyond(n_beyond[model], n_tested[model], n_first[model])
        return f"{a_model(model)} {verb}{by}, {sure}"

    has_least = "has the least bias measured "
    leaders = [m for m, _ in n_first.most_common() if n_first[m] == max(n_first.values())]
    is_clear = len(leaders) == 1 and 2 * n_first[leaders[0]] > n_metrics and n_beyond[leaders[0]]
    if is_clear:
        text = said(leaders[0], has_least)
    else:
        order = sorted(n_first, key=lambda model: (-n_first[model], -n_beyond[model]))
        text = "no model is clearly ahead"
        if order:
            text += f": {'; '.join([said(order[0], has_least), *map(said, order[1:3])])}"
        if len(order) > 3:
            text += f"; {len(order) - 3} more by others"
        shared = n_metrics - sum(n_first.values())
        if shared:
            text += f"{';' if order else ':'} models share the first rank by {shared}"
    if lowest and n_metrics > 1:
        text += (
            ", and the lowest sum of ranks"
            if is_clear and lowest == leaders
            else f"; the lowest sum of ranks is that of {listed([a_model(m) for m in lowest])}"
        )
    yield _sentence(start + text)


def _beyond(n_beyond: int, n_tested: int, n_first: int) -> str:
    """Say by how many metrics a model is ahead beyond chance, of those by which it is first."""
    if not n_tested:
        return "not tested against chance"
    if n_first == 1:
        return "beyond chance" if n_beyond else "not beyond chance"
    of_tested = f" of {n_tested} tested" if n_tested < n_first else ""
    return f"beyond chance by {n_beyond or 'none'}{of_tested}"


def _sentence(text: str) -> str:
    """Begin with a capital letter, unless it begins with a name, and end with a full stop."""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '…')) else '.'}"


def _lowest_sum(ranking: Mapping[str, Any]) -> list[str]:
    sums = {row["model"]: row["sum"] for row in ranking["rows"] if _is_number(row["sum"])}
    return [model for model, total in sums.items() if total == min(sums.values())]


def _least(summary: Mapping[str, Any]) -> Iterator[str]:
    models = summary["models"]
    if not summary["rankings"]:
        return
    if len(models) == 1:
        yield (
            f"There is one model, {a_model(models[0]['label'])}, so nothing is ranked; its scores "
            "stand below."
        )
        return
    for ranking in summary["rankings"]:
        best = _best_by(ranking, [row["model"] for row in ranking["rows"]])
        if best:
            yield f"{a_name(ranking['name'])}: {_by_clause(best)}."
    own = _as_they_are(summary)
    if 1 < len(own) < len(models):
        best = _best_by(summary["rankings"][0], own)
        if best:
            yield f"Of the models as they are ({_without(summary)}), {_by_clause(best)}."
    yield from _sums(summary["rankings"][0])


def _best_by(
    ranking: Mapping[str, Any], models: Collection[str]
) -> dict[tuple[str, ...], list[str]]:
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
        what = "" if clauses else f" {verb} the least bias measured"
        shared = "" if len(winners) == 1 else " in equal measure"
        by = listed([a_metric(label) for label in metrics], 12)
        clauses.append(f"{listed([a_model(m) for m in winners])}{what} by {by}{shared}")
    return "; ".join(clauses)


def _sums(ranking: Mapping[str, Any]) -> Iterator[str]:
    rows = [row for row in ranking["rows"] if _is_number(row["sum"])]
    n_columns = len(_bias_columns(ranking))
    if len(rows) < 2 or n_columns < 2:
        return
    lowest = [a_model(row["model"]) for row in rows if row["sum"] == rows[0]["sum"]]
    verb = "has" if len(lowest) == 1 else "have"
    text = (
        f"Over {_all(n_columns)} metrics ({a_name(ranking['name'])}), {listed(lowest)} {verb} the "
        f"lowest sum of ranks: {rows[0]['sum']:g}, where {n_columns} would be first by every metric"
    )
    others = [row for row in rows if row["sum"] != rows[0]["sum"]]
    if others:
        text += f"; next is {a_model(others[0]['model'])} with {others[0]['sum']:g}"
    yield text + "."


def _all(n: int) -> str:
    return "both" if n == 2 else f"all {n}"


# How sure


def _certainty(summary: Mapping[str, Any]) -> Iterator[str]:
    cells = list(_cells(summary))
    if not any("score" in cell for *_, cell in cells):
        return
    yield from _pairs(summary)
    n_with_p: Counter[str] = Counter(model for *_, model, _, cell in cells if "p_value" in cell)
    if n_with_p:
        yield from _p_values(cells, n_with_p)
        yield from _sides(summary, cells)
    if not any("interval" in cell for *_, cell in cells):
        yield (
            "No intervals were computed, so nothing is said of how far scores would move with "
            "other words of the same kind ([intervals] n_bootstrap in the study file)."
        )
    elif n_with_p:
        yield (
            "A small p-value beside a wide interval is no contradiction. The p-value asks whether "
            "these very words could be sorted so by chance; the interval says how far the score "
            "moves with other words of the same kind."
        )
    yield from _outside(cells)
    yield from _few_models(summary)


_Cell = tuple[Mapping[str, Any], Mapping[str, Any], str, str, Mapping[str, Any]]


def _cells(summary: Mapping[str, Any]) -> Iterator[_Cell]:
    """Return metric, part, model, query and cell of every score."""
    for metric in summary["metrics"]:
        for part in metric["parts"]:
            for model, row in zip(metric["models"], part["cells"], strict=True):
                for query, cell in zip(part["queries"], row, strict=True):
                    yield metric, part, model, query, cell


def _pairs(summary: Mapping[str, Any]) -> Iterator[str]:
    """Say in how many rankings the first model is ahead of the second one beyond chance."""
    sets = {each["name"] for each in summary["query_sets"]}
    # The overall rankings are made of the same scores again.
    found = [each for each in summary["pairs"] if each["query_set"] in sets]
    if not found:
        return
    tested = [each for each in found if each["p_value"] is not None]
    clear = [each for each in found if each["beyond"]]
    if len(found) == len(tested) == 1:
        where, nearer = "In the one ranking", "nearer" if clear else "not nearer"
    else:
        where = f"In {len(clear) or 'none'} of {count(len(tested), 'ranking')}"
        where, nearer = f"{where} tested (one per metric and query set)", "nearer"
    text = (
        f"{where} the first model is {nearer} to no bias than the second beyond chance "
        f"(p < {SIGNIFICANT}, paired over queries)"
    )
    if clear:
        names = [
            f"{a_metric(each['metric'])}, {a_name(each['query_set'])} ({a_model(each['first'])} "
            f"before {a_model(each['second'])} in {each['n_nearer']} of "
            f"{count(each['n'], 'query', 'queries')}, p {small(each['p_value'])})"
            for each in clear
        ]
        text += f": {_first(names, 3)}"
    if tested:
        yield text + "."
    if len(clear) < len(tested):
        rest = "In the others the" if clear else "The"
        yield f"{rest} order of the first two may change with other queries."
    if n_untested := len(found) - len(tested):
        which = f"{count(n_untested, 'ranking')} {'has' if n_untested == 1 else 'have'}"
        yield (
            f"{which} no p-value for the order of the first two models: the test needs at least "
            f"{LEAST_CLUSTERS} groups of queries that share no words. wefe.compare_models tests "
            "two models on queries that share words."
        )
    yield "The table “First and second” compares the first two models of each ranking."


def small(value: float) -> str:
    """Return a p-value for people.

    Examples
    --------
    >>> small(0.03125), small(0.0001)
    ('= 0.031', '< 0.001')
    """
    return "< 0.001" if value < 0.001 else f"= {value:.3f}"


def _first(texts: Sequence[str], most: int = _MOST) -> str:
    more = [f"and {len(texts) - most} more"] if len(texts) > most else []
    return "; ".join([*texts[:most], *more])


def _p_values(cells: Sequence[_Cell], n_with_p: Mapping[str, int]) -> Iterator[str]:
    texts, n_all = [], sum(n_with_p.values())
    for model, n_tests in n_with_p.items():
        own = [c for *_, label, _, c in cells if label == model and "p_value" in c]
        below = sum(cell["p_value"] < SIGNIFICANT for cell in own)
        strict = sum(cell["p_value_holm"] < SIGNIFICANT for cell in own)
        corrected = (
            f" ({strict} by Holm's method, for {n_all} tests)" if below and n_all > 1 else ""
        )
        texts.append(f"{a_model(model)} {below} of {n_tests}{corrected}")
    yield (
        f"Scores with p < {SIGNIFICANT}: {_first(texts)}. If words were sorted at random, about "
        f"{_percent(SIGNIFICANT)} would be."
    )


def _sides(summary: Mapping[str, Any], cells: Sequence[_Cell]) -> Iterator[str]:
    """Say of one-sided tests what they do not see."""
    with_p = {metric["label"] for metric, *_, cell in cells if "p_value" in cell}
    sides: dict[str, list[str]] = {}
    for each in summary["methods"]["metrics"]:
        if each["label"] in with_p:
            sides.setdefault(each["params"].get("p_value_test_type", ""), []).append(each["label"])
    for side, (leaning, other) in {
        "right-sided": ("first", "below"),
        "left-sided": ("second", "above"),
    }.items():
        if side in sides:
            labels = [a_metric(label) for label in sides[side]]
            yield (
                f"The test of {listed(labels, 12)} is {side}: only leaning of the first targets to "
                f"the {leaning} attributes counts, so that a score {other} 0 has a large p-value "
                "whatever its size."
            )


def _outside(cells: Sequence[_Cell]) -> Iterator[str]:
    """Name intervals that do not hold their own score."""
    n_intervals = sum("interval" in cell for *_, cell in cells)
    texts = [
        f"{a_metric(metric['label'])} {number(cell['score'])} "
        f"[{number(cell['interval'][0])}, {number(cell['interval'][1])}] of {a_model(model)}, "
        f"{a_name(query)}"
        for metric, _, model, query, cell in cells
        if cell.get("outside")
    ]
    if texts:
        yield (
            f"{len(texts)} of {count(n_intervals, 'interval')} "
            f"{'does' if len(texts) == 1 else 'do'} not hold "
            f"{'its' if len(texts) == 1 else 'their'} own score: {_first(texts, 3)}. Resampling "
            "repeats words, which moves bounded or non-linear scores to one side; such an interval "
            "tells how wide the spread is, not where the score lies."
        )


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
            f"chance (p > {SIGNIFICANT})."
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
    every = [
        {row["model"]: row["ranks"][i] for row in overall["rows"] if _is_number(row["ranks"][i])}
        for i in columns
    ]
    # A metric that ranks fewer than two models agrees with none.
    ranked = [ranks for ranks in every if len(ranks) > 1]
    if len(ranked) > 1 and all(ranks == ranked[0] for ranks in ranked):
        n, rest = _all(len(columns)).capitalize(), ""
        if len(ranked) < len(columns):
            n = f"{len(ranked)} of {len(columns)}"
            rest = "; the rest rank fewer than two"
        yield f"{n} metrics put the models in the same order ({a_name(overall['name'])}){rest}."
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
            f"{a_model(model)} has rank {low[0]:g} by {a_metric(low[1])} and {high[0]:g} by "
            f"{a_metric(high[1])}"
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
        texts = [
            f"{a_metric(one)} and {a_metric(other)} ({value:.2f})" for value, one, other in low[:3]
        ]
        others = f", the lowest of {len(low)} below {_ALIKE}" if len(low) > 3 else ""
        yield f"These metrics rank the models differently ({what}{others}): {'; '.join(texts)}."
    else:
        value, one, other = pairs[0]
        low_one = (
            f"{'' if len(pairs) == 1 else 'lowest: '}{a_metric(one)} and {a_metric(other)} "
            f"{value:.2f}"
        )
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
        yield f"The ranking by {a_name(name)} ({kind}) correlates {between} with those by bias."


# What mitigation changed


def _mitigation(summary: Mapping[str, Any]) -> Iterator[str]:
    for change in summary["changes"]:
        pair = f"{a_model(change['model'])}, against {a_model(change['base'])}"
        bias = _compared(
            [(a_metric(each["metric"]), each) for each in change["bias"]],
            ("less bias measured by", "more bias measured by", "about the same by"),
            lambda each: f"distance from no bias {_from_to(each)}",
        )
        if bias:
            yield f"{pair} ({a_name(change['query_set'])}): {bias}."
        quality = _compared(
            [
                (a_name(each["benchmark"]), each)
                for each in change["quality"]
                if _is_number(each["change"])
            ],
            ("lower by", "higher by", "about the same by"),
            _from_to,
        )
        if quality:
            yield f"Quality of {pair}: {quality}."
        how = next(m["how"] for m in summary["models"] if m["label"] == change["model"])
        about = [
            part
            for part in summary["explored"]
            if part["criterion"] == (how or {}).get("criterion")
        ]
        yield from _left_over(about, change["model"], change["base"])
    for model in summary["models"]:
        notes = (model["how"] or {}).get("notes") or []
        if notes:
            yield _sentence(
                f"Note on how {a_model(model['label'])} was made: {_short(notes[0])}"
                + (f" ({count(len(notes) - 1, 'more note')} below)" if notes[1:] else "")
            )


def _left_over(explored: Sequence[Mapping[str, Any]], model: str, base: str) -> Iterator[str]:
    """Say what lies along a direction, and around words, before and after."""
    for part in explored:
        spread = {
            row["model_name"]: row["mean_abs"]
            for row in part["distribution"]
            if row["set"] == "vocabulary" and row["group"] in (None, part["groups"][0])
        }
        texts = []
        if model in spread and base in spread:
            texts.append(
                f"frequent words lie {number(spread[model])} from 0 in the mean "
                f"({number(spread[base])} before)"
            )
        for each in part["words"]:
            rows = {row["model"]: row for row in each["rows"] if row["why"] is None}
            if {model, base} <= rows.keys() and rows[base]["most"] and rows[model]["most"]:
                most = rows[base]["most"]
                after, before = (
                    next(share["share"] for share in rows[of]["shares"] if share["group"] == most)
                    for of in (model, base)
                )
                texts.append(
                    f"of the neighbours of {a_name(each['word'])}, {_percent(after)} lie "
                    f"towards {a_name(most)} ({_percent(before)} before)"
                )
        if texts:
            towards = f" towards {a_name(part['groups'][0])}" if len(part["groups"]) > 2 else ""
            yield (
                f"{a_model(model)}, along the direction of {a_name(part['criterion'])}{towards}: "
                f"{'; '.join(texts[:4])}."
            )


def _compared(
    changes: Sequence[tuple[str, Mapping[str, Any]]],
    heads: tuple[str, str, str],
    how: Callable[[Mapping[str, Any]], str],
) -> str:
    """Return what went down, what went up and what stayed, with how far; '' for nothing."""
    groups: dict[str, list[str]] = {head: [] for head in heads}
    unknown = []
    for name, each in changes:
        # As precise as it is written: 0.313 to 0.313 is no change.
        same = number(each["before"]) == number(each["after"])
        if not _is_number(each["change"]):
            unknown.append(name)
        elif same or abs(each["change"]) < _NOTHING:
            groups[heads[2]].append(f"{name} ({number(each['after'])})")
        else:
            groups[heads[each["change"] > 0]].append(f"{name} ({how(each)})")
    texts = [f"{head} {listed(each, 12)}" for head, each in groups.items() if each]
    if unknown:
        texts.append(f"no comparison by {listed(unknown, 12)}")
    return "; ".join(texts)


def _from_to(change: Mapping[str, Any]) -> str:
    text = f"{number(change['before'])} to {number(change['after'])}"
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
        f"{a_model(each['model_name'])}: {count(each['n_tasks'], 'task')} failed "
        f"({_short(each['reason'])})."
        for each in gaps["failures"]
    ]
    yield from failures[:_MOST]
    if len(failures) > _MOST:
        yield f"{len(failures) - _MOST} more failures are listed below."
    yield from _without_value(gaps)
    for each in summary["query_sets"]:
        parts = [
            (metric["label"], part)
            for metric in summary["metrics"]
            for part in metric["parts"]
            if part["query_set"] == each["name"] and part["left_out"]
        ]
        if parts:
            texts = [
                f"{len(p['left_out'])} of {len(p['queries'])} by {a_metric(label)}"
                for label, p in parts
            ]
            yield (
                f"Aggregates over {a_name(each['name'])} leave out queries that not every model "
                f"could answer: {listed(texts, 12)}."
            )
    for each in summary["query_sets"]:
        if each["left_out"]:
            whys = dict.fromkeys(_short(part["why"]) for part in each["left_out"])
            names = [a_name(part["query"]) for part in each["left_out"]]
            yield (
                f"{a_name(each['name'])}: {count(len(names), 'query is', 'queries are')} not asked "
                f"({'; '.join(whys)}): {listed(names, 3)}."
            )
    for model in summary["models"]:
        lost = model["lost"]
        if lost and lost["n_lost"] > _MUCH_LOST * lost["n_words"]:
            yield (
                f"{a_model(model['label'])} lacks {lost['n_lost']} of the {lost['n_words']} words "
                f"that are asked for ({_percent(lost['n_lost'] / lost['n_words'])}); its scores "
                "are of the others."
            )


def _without_value(gaps: Mapping[str, Any]) -> Iterator[str]:
    """Say how many scores have no value, as the tidy table has it, and why."""
    n_nan = len(gaps["nan"])
    why = {
        "failed": gaps["n_failed_scores"],
        "not computed yet": gaps["n_missing_scores"],
        "NaN": n_nan,
    }
    n_without = sum(why.values())
    if n_without == 0:
        return
    counts = [f"{n} {reason}" for reason, n in why.items() if n]
    yield (
        f"{n_without} of {count(gaps['n_scores'], 'score')} "
        f"{'has' if n_without == 1 else 'have'} no value: {listed(counts)}."
    )
    if n_nan == 0:
        return
    of_models: dict[str, Counter[str]] = {}
    for each in gaps["nan"]:
        of_models.setdefault(each["model"], Counter())[each["metric"]] += 1
    texts = [
        f"{a_model(model)} {sum(by.values())} "
        f"({listed([f'{n} by {a_metric(metric)}' for metric, n in by.most_common()], 4)})"
        for model, by in sorted(of_models.items(), key=lambda pair: -pair[1].total())
    ]
    reason = Counter(each["reason"] for each in gaps["nan"]).most_common(1)[0][0]
    yield _sentence(f"NaN by model: {_first(texts, 3)}. Most often, as {_short(reason)}")


def _short(text: str, most: int = 240) -> str:
    """Return the beginning of a reason, which may list hundreds of words."""
    one_line = " ".join(str(text).split())
    return one_line if len(one_line) <= most else one_line[: most - 1].rstrip() + "…"


# Warnings


def _warnings(summary: Mapping[str, Any]) -> Iterator[str]:
    kinds = summary["warnings"]
    if kinds:
        total = sum(each["n"] for each in kinds)
        yield (
            f"{count(total, 'warning')} of {count(len(kinds), 'kind')}. What has a warning "
            "should not be taken at face value."
        )
        for each in kinds:
            models = listed([a_model(model) for model in each["models"]], 3)
            meaning = WARNINGS.get(each["kind"]) or _short(each["items"][0]["message"])
            yield _sentence(
                f"{count(each['n'], 'warning')} of {models}: {meaning} ({a_name(each['kind'])})"
            )
    if not summary["audited"]:
        yield (
            "The scores of each metric were not audited ([audit] scores in the study file), so "
            "they may lack warnings that belong to them."
        )
