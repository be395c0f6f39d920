"""`wefe measure`: measure models with published queries or your own."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import typer

from wefe._checks import logger
from wefe._files import write_text
from wefe._output import (
    Format,
    interval_text,
    others_used,
    say_blank,
    say_undefined,
    tables_of_scores,
    tell,
    write,
)
from wefe._output import bibtex as entries_of
from wefe.cli import _options as opt
from wefe.ranking import ranked
from wefe.running import COLUMNS, holm
from wefe.study import Study, StudyResults
from wefe.study._plan import OVERALL

_METHODS = {
    "exact": "all splits counted",
    "bounds": "all splits; the upper of two guaranteed bounds",
    "approximate": "random splits",
    "saddlepoint": "approximated",
}
# Maximum number of models side by side, even if there are fewer rows.
_MOST_ABREAST = 3
_RESAMPLES = 1000
_ALL_LOST = (
    "no query could be answered. If too many words are lost, load a larger part of the model, or "
    "raise --lost-vocabulary-threshold."
)
_OF_CEAT = (
    "p value of CEAT: two-sided. It is too small, because CEAT treats samples of the same words as "
    "independent studies."
)
_ADJUSTED = (
    "p value holm, p value bh: adjusted for the {} tests of this call (Holm; Benjamini and "
    "Hochberg)."
)
_NULL = "null: the range of 95 % of the scores with words exchanged at random (2.5 to 97.5 %)."
_INTERVAL = "interval: {} bootstrap interval over words ({n_bootstrap} resamples)."
_END_OF_RANGE = "no bias is the end of its range, so compare intervals with the null."
_DIFFERENCES = ["difference", "lower", "upper"]
_DIFFERENCE = (
    "difference: how much farther from no bias the other model is, with a {} interval.\nA p value "
    "above {:.2g} means that other words of the same kind could reverse the order."
)


@opt.command
def measure(
    *,
    queries: list[str],
    models: opt.Models,
    metric: list[str] = ["weat-es"],
    format: Format = "table",
    param: list[str] = [],
    bootstrap: int = 0,
    confidence: float = 0.95,
    audit: bool = False,
    lowercase: bool = True,
    normalize: bool = False,
    lost_vocabulary_threshold: float = 0.2,
    offline: bool = False,
    subwords: Literal["mean", "first", "refuse"] | None = None,
    contexts: str | None = None,
    own_words: bool = False,
    missing: Literal["queries", "models"] = "queries",
    compare: bool = False,
    bibtex: Path | None = None,
    figures: Path | None = None,
    n_jobs: int = 1,
) -> None:
    """Measure models with published queries or your own.

    Prints one row per query, model and metric: the score, the no-bias value, the p-value of a
    permutation test, the numbers of words used and lost, and the reason if a score is missing. With
    several models, a ranking for each metric follows. Rank 1 has the least bias measured, on
    average over the queries that all models can answer.

    Permutation tests are two-sided (--param METRIC.p_value_test_type=right-sided changes this), and
    exact where possible. Slow tests are off by default; use --param METRIC.calculate_p_value=true.

    Only the words of the queries are read from text and binary files. 'wefe convert' writes a file
    that opens in milliseconds.

    RNSB trains on all attribute words, so that its score is not random. With --param
    rnsb.n_iterations=N, it trains N times on a random 80 %, with fixed seeds. Python has other
    defaults: run_queries does not look up lower-case forms, and RNSB holds out words.

    Encoders embed each word by itself, or in your templates. seat uses its own sentences; ceat
    finds the words in your text.

    Example: wefe measure --model demo --queries gender --metric weat-es --metric rnsb --offline

    Example: wefe measure --encoder google-bert/bert-base-uncased --queries weat --metric seat

    Parameters
    ----------
    format
        csv (scores only) and json keep all digits. All other formats than csv also show the effect
        size and p-value of each word for sc-weat (in json under 'words').
    bootstrap : N
        Compute an interval for each score from N resamples of the words, for example 1000. It shows
        how much the score depends on the choice of words. 0 turns this off.
    confidence : X
        Confidence level of these intervals.
    audit
        Warn about what scores hide: biases that cancel, pairs without a common direction, or large
        effect sizes of tiny biases. See 'wefe audit'.
    normalize
        Scale vectors to unit length first.
    lost_vocabulary_threshold : X
        The score is NaN if a set loses a larger share of its words.
    subwords
        How models with subwords embed out-of-vocabulary words: by the mean of their subwords, by
        the first subword, or not at all (refuse). Default: mean for model2vec, otherwise refuse.
    contexts : FILE
        A text file with one sentence per line, in which ceat finds the words.
    own_words
        Measure each model on all words that it has. By default, models are compared on the words
        that they share.
    missing
        What to leave out of the ranking if a model cannot answer a query: that query (for all
        models), or that model.
    compare
        Test whether one of two models has less bias, for each query set with two queries or more.
        Prints the difference with an interval and a p-value, from 1000 resamples or --bootstrap.
    bibtex : FILE
        Write the references to cite to this BibTeX file.
    """
    uses = {
        "contexts": ("ceat" in metric, "--metric ceat"),
        "compare": (len(models.model + models.encoder) == 2, "two models"),
    }
    opt.check_used(measure, locals(), uses)
    names = opt.known_metrics(metric)
    params = opt.parse_params(param, names)
    opt.check_outputs(figures, bibtex)
    # CSV has no p-values of single words.
    params.setdefault("sc-weat", {}).setdefault("calculate_p_value", format != "csv")
    declared = {
        "name": "measure",
        "offline": offline,
        "models": models.declared(subwords=subwords),
        "queries": [opt.declared_queries(name) for name in dict.fromkeys(queries)],
        "metrics": [
            {
                "metric": name,
                "params": params.get(name, {}),
                "contexts": contexts if name == "ceat" else None,
            }
            for name in names
        ],
        "lookup": {
            "preprocessors": opt.preprocessors(lowercase),
            "normalize": normalize,
            "lost_vocabulary_threshold": lost_vocabulary_threshold,
            "own_words": own_words,
        },
        "aggregation": {"missing": missing},
        "intervals": {
            "n_bootstrap": bootstrap or (_RESAMPLES if compare else 0),
            "confidence": confidence,
        },
        "audit": {"scores": audit},
    }
    # Words appear only in figures.
    results = Study(declared)._again(
        lambda _, task: task.kind != "words" or figures is not None, None if n_jobs == 1 else n_jobs
    )
    failures = opt.failures_of(results)
    # Printed tables call a query set by the name given to --queries.
    tidy = results.to_frame()[COLUMNS].rename(columns={"query_set": "queries"})
    totals = results.totals[results.totals["query_set"] != OVERALL]
    scored, totals = (each[~each["model_name"].isin(failures)] for each in (tidy, totals))
    ranking = ranked(totals, "min")
    data = {"results": tidy}
    shown = [*tables_of_scores(tidy)]
    if len(ranking) > 1:
        data["ranking"] = ranking.reset_index()
        shown += tables_of_models(tidy, totals, ranking)
    if compare:
        data["comparison"] = _comparison(results)
        shown.append(_table_of_comparisons(data["comparison"]))
    if "sc-weat" in names:
        data["words"] = _words_of_sc_weat(results)
        shown.append(("Effect sizes of single words", data["words"].drop(columns="p_value_method")))
    write(format, shown, data)
    say_undefined(scored)
    if format == "table":
        _print_notes(tidy, results.plan.settings["intervals"], compare)
        _print_verdict(ranking)
    if figures is not None:
        from wefe.report import write_figures

        print(f"{len(write_figures(results, figures))} figures: {figures}", file=sys.stderr)
    if bibtex is not None:
        others = others_used(scored, audited=audit)
        write_text(bibtex, entries_of(names, tidy["queries"].unique(), others))
    if scored["score"].isna().all():
        print(_ALL_LOST, file=sys.stderr)
        raise typer.Exit(1)
    opt.end(failures)


def tables_of_models(
    tidy: pd.DataFrame, totals: pd.DataFrame, ranking: pd.DataFrame
) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield aggregated scores and ranks with the models side by side."""
    title = "Average distance from no bias (queries that all models answered, of those asked)"
    yield title, _by_model(tidy, totals, totals["score"])
    ranks = pd.array(ranking.to_numpy().T.ravel(), dtype="Int64")
    yield "Ranks (1: least bias measured)", _by_model(tidy, totals, ranks)


def _print_notes(tidy: pd.DataFrame, intervals: Mapping[str, Any], compared: bool) -> None:
    """Explain how the numbers in the tables were computed, and list warnings."""
    tested = tidy[tidy["p_value"].notna()]
    tests = tested[tested["p_value_method"].notna()]
    kinds = tests.groupby(["p_value_test", "p_value_method"], sort=False)["metric"].unique()
    of_range = tidy.loc[tidy["interval_note"].notna(), "metric"].unique()
    share = f"{intervals['confidence'] * 100:g} %"
    of_kinds = [
        f"p value of {', '.join(metrics)}: {side} permutation test ({_METHODS[method]})."
        for (side, method), metrics in zip(kinds.index, kinds, strict=True)
    ]
    # Each text, and whether it applies.
    about = {
        _OF_CEAT: len(tested) > len(tests),
        "\n".join(of_kinds): len(tests) > 0,
        _ADJUSTED.format(len(tests)): len(tests) > 1,
        _NULL: len(tests) > 0,
        _INTERVAL.format(share, **intervals): tidy["score_lower"].notna().any(),
        "\n".join(f"{metric}: {_END_OF_RANGE}" for metric in of_range): len(of_range) > 0,
        _DIFFERENCE.format(share, 1 - intervals["confidence"]): compared,
    }
    notes = [text for text, applies in about.items() if applies]
    notes += [
        f"\nWarnings of {row['metric']}, {row['query_name']}, {row['model_name']}:\n- "
        + row["warnings"].replace(" | ", "\n- ")
        for row in tidy[tidy["warnings"].fillna("") != ""].to_dict("records")
    ]
    for note in notes:
        tell(note)


def _print_verdict(ranking: pd.DataFrame) -> None:
    if len(ranking) < 2:
        return
    say_blank(ranking, "use --missing models")
    # A model that is ranked alone is ahead of nobody.
    compared = ranking.dropna(axis="columns", thresh=2)
    n = len(compared.columns)
    n_first = (compared == 1).sum(axis=1)
    if n:
        best = ", ".join(n_first.index[n_first == n_first.max()])
        tell(f"{best}: least bias measured in {n_first.max()} of {n} rankings.", "green")


def _comparison(results: StudyResults) -> pd.DataFrame:
    """Return the results of --compare, from the side of the model with less bias."""
    one, other = (model.label for model in results.plan.models)
    found = results.compare_models(one, other)
    found = found[found["n_queries"] > 1].rename(columns={"query_set": "queries"})
    if found.empty:
        logger.warning("--compare needs two queries and a metric with intervals")
    is_other = found["difference"] < 0
    turned = -found[["difference", "upper", "lower"]].set_axis(_DIFFERENCES, axis=1)
    found[_DIFFERENCES] = turned.where(is_other, found[_DIFFERENCES])
    found["less_bias"] = is_other.map({True: other, False: one}).where(found["difference"] > 0)
    return found[["metric", "queries", "less_bias", *_DIFFERENCES, "p_value", "n_queries"]]


def _table_of_comparisons(rows: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    columns = ["metric", "queries", "less_bias", "difference", "interval", "p_value", "n_queries"]
    intervals = interval_text(rows["lower"], rows["upper"])
    title = (
        "Which model is less biased? (average distance from no bias, on the words that both have)"
    )
    return title, rows.assign(interval=intervals)[columns]


def _words_of_sc_weat(results: StudyResults) -> pd.DataFrame:
    rows = [
        (task.model, task.place["query"], word, *values, task.place["query_set"])
        for task, outcome in results.of_kind("score")
        for word, values in ((outcome.value or {}).get("words") or {}).items()
    ]
    names = ["model_name", "query_name", "word", "effect_size", "p_value", "p_value_method"]
    words = pd.DataFrame(rows, columns=[*names, "queries"])
    of_query = words.groupby(["model_name", "queries", "query_name"], sort=False)
    words.insert(len(names), "p_value_holm", of_query["p_value"].transform(holm))
    return words


def _by_model(tidy: pd.DataFrame, totals: pd.DataFrame, values: Any) -> pd.DataFrame:
    n_asked = tidy.groupby(["queries", "metric"])["query_name"].nunique().to_dict()
    labels = [
        f"{metric}: {queries} ({n_scores:.0f} of {n_asked[queries, metric]})"
        for metric, queries, n_scores in totals[["metric", "query_set", "n_scores"]].to_numpy()
    ]
    shown = totals.assign(label=labels, value=values)
    table = shown.pivot(index="label", columns="model_name", values="value")
    table = table.reindex(index=list(dict.fromkeys(labels)), columns=shown["model_name"].unique())
    table = table.T if len(table.columns) > max(len(table), _MOST_ABREAST) else table
    return table.rename_axis(index="", columns=None).reset_index()
