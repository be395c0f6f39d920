"""`wefe measure`: published or own queries, asked of models."""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pandas as pd
import typer

from wefe._files import check_writable
from wefe._same_words import on_same_words
from wefe.aggregation import aggregated
from wefe.cli import _options as opt
from wefe.cli._bibtex import ADJUSTED, AUDIT, INTERVALS, RANKING, write_bibtex
from wefe.cli._inputs import check_for_encoders, end, open_models, open_queries, preprocessors
from wefe.cli._options import check_metrics, parse_params
from wefe.cli._output import Format, interval_text, say, write
from wefe.metrics._registry import as_metric, get_metric
from wefe.models._load import words_of
from wefe.ranking import calculate_ranking_correlations, ranked
from wefe.results import OPPOSITE
from wefe.running import adjust_p_values
from wefe.running import measure as measured

if TYPE_CHECKING:
    from wefe.contextual import FoundContexts
    from wefe.datasets._opened import OpenedQueries
    from wefe.models import WordEmbeddingModel
    from wefe.query import Query

AGGREGATION: Literal["bias_avg"] = "bias_avg"

_METHODS = {
    "exact": "all splits counted",
    "bounds": "all splits, the upper of two guaranteed bounds",
    "approximate": "random splits",
    "saddlepoint": "approximated",
}
# The important ones first: the others have no room in a narrow terminal.
_SHOWN = ["query", "model", "score", "interval", "p_value", "p_value_holm", "null", "p_value_bh"]
_SHOWN += ["words_used", "words_lost", "note", "nan_reason", "interval_nan_reason"]
# Models that stand side by side, even if there are fewer rows.
_MOST_ABREAST = 3


class Missing(StrEnum):
    """What a ranking leaves out where a model lacks words."""

    queries = "queries"
    models = "models"


def measure(
    queries: opt.Queries,
    model: opt.Models = [],
    encoder: opt.Encoders = [],
    metric: opt.Metrics = ["weat-es"],
    format: Annotated[
        Format,
        typer.Option(
            help="csv (scores only) and json keep all digits and full texts. Only json has the "
            "effect size and p-value of every word of sc-weat, under 'words'."
        ),
    ] = Format.table,
    p_value_test: opt.SideOption = opt.Side.two,
    param: opt.Params = [],
    bootstrap: Annotated[
        int,
        typer.Option(
            help="Show how far each score would move with other words of the same kind: the words "
            "of each set are drawn anew this many times. 1000 is a good number, 0 for none."
        ),
    ] = 0,
    confidence: Annotated[float, typer.Option(help="Confidence of these intervals.")] = 0.95,
    audit: Annotated[
        bool,
        typer.Option(
            "--audit",
            help="Say what each score does not show: biases that cancel, pairs without a common "
            "direction, large effects of tiny biases. 'wefe audit' has the details.",
        ),
    ] = False,
    lowercase: opt.Lowercase = True,
    normalize: Annotated[bool, typer.Option(help="Scale vectors to unit length first.")] = False,
    lost_vocabulary_threshold: Annotated[
        float, typer.Option(help="A query that loses a larger share of a set's words is NaN.")
    ] = 0.2,
    vocab_prefix: opt.VocabPrefix = "",
    offline: opt.Offline = False,
    subwords: Annotated[
        opt.Subwords | None,
        typer.Option(
            help="The vector of a word that the vocabulary lacks, where a model knows subwords: "
            "their mean, the first of them, or none (refuse). Default: mean for model2vec, else "
            "refuse."
        ),
    ] = None,
    trust_pickle: opt.TrustPickle = False,
    layer: opt.Layer = -1,
    pooling: opt.PoolingOption = opt.Pooling.auto,
    template: opt.Templates = [],
    contexts: Annotated[
        Path | None,
        typer.Option(help="For ceat: a text file with a sentence per line, to find the words in."),
    ] = None,
    own_words: Annotated[
        bool,
        typer.Option(
            "--own-words",
            help="Measure every model with all words that it has. By default models are compared "
            "on the words that all of them have.",
        ),
    ] = False,
    missing: Annotated[
        Missing,
        typer.Option(
            help="What the ranking leaves out where a model lacks the words of a query: the query, "
            "for all models, or the model."
        ),
    ] = Missing.queries,
    compare: Annotated[
        bool,
        typer.Option(
            "--compare",
            help="Test whether one of two models has less bias over the queries of each set: their "
            "difference with an interval and a p-value. Needs two queries or more.",
        ),
    ] = False,
    bibtex: Annotated[
        Path | None,
        typer.Option(help="Write the references of what was run to this file, for BibTeX."),
    ] = None,
    figures: opt.Figures = None,
    n_jobs: opt.NJobs = 1,
) -> None:
    """Measure models with published or own queries.

    Prints one row per query, model and metric: the score, the score that would mean no bias, the
    p-value of a permutation test (two-sided, counted where it can be; --param
    METRIC.calculate_p_value=true asks for those that take long), the words used and lost, and why
    a score is missing. SC-WEAT has one for each word: --format json shows them. With several models
    a ranking follows: rank 1 has the least bias measured by that metric, on average over the
    queries that all models could answer.

    Of a text or binary file only the words of the queries are read. 'wefe convert' makes a file
    that opens at once.

    RNSB is trained on all attribute words, so that it is not random; with rnsb.n_iterations it
    trains on random 80 % each time, with fixed seeds. In Python, run_queries does not look up
    lower-case forms, and RNSB holds out words, unless told otherwise.

    Of encoders, words are encoded alone or in the templates given; seat puts them into bleached
    sentences of its own, ceat finds them in a text of yours.

    Example: wefe measure --model demo --queries gender --metric weat-es --metric rnsb --offline

    Example: wefe measure --encoder google-bert/bert-base-uncased --queries weat --metric seat
    """
    names = check_metrics(metric)
    if figures is not None:
        from wefe.plotting._static import check_matplotlib

        check_matplotlib()
    check_for_encoders(model, encoder, layer, pooling, template)
    _check_fit(names, model, encoder, contexts, compare)
    if not model and (subwords or trust_pickle or vocab_prefix):
        raise ValueError(
            "--subwords, --trust-pickle and --vocab-prefix are for --model; --encoder has no use "
            "for them."
        )
    own_params = parse_params(param, names)
    if bibtex is not None:
        check_writable(bibtex)
    query_sets = open_queries(queries, offline)
    every = [query for asked in query_sets for query in asked.queries]
    lookup: dict[str, Any] = {"normalize": normalize, "preprocessors": preprocessors(lowercase)}
    needs_all = any(get_metric(name).needs_vocabulary for name in names)
    models, failures = open_models(
        *(model, encoder, layer, pooling, template),
        vocab_prefix=vocab_prefix or None,
        # A query knows its words, so of a file that must be parsed only those are.
        words=None if needs_all else words_of(every, vocab_prefix or None, lookup["preprocessors"]),
        subwords=subwords.value if subwords else None,
        trust_pickle=trust_pickle,
    )
    if contexts is not None:
        own_params.setdefault("ceat", {})["contexts"] = _find_contexts(every, contexts)
    threshold = {"lost_vocabulary_threshold": lost_vocabulary_threshold}
    if len(models) > 1 and not own_words and not any(map(_is_of_texts, names)):
        models = on_same_words(models, every, lookup | threshold)
    compare = compare and len(models) == 2
    parts, of_words, comparisons = [], [], []
    for asked in query_sets:
        for name in names:
            own = own_params.get(name, {})
            shows_words = name == "sc-weat" and format is Format.json
            if shows_words:  # with their p-values
                own = {"calculate_p_value": True, **own}
            asking = as_metric(name)
            params = lookup | asking.report_params(own, 0, p_value_test.value)
            params |= asking.params_for_unpaired(own, asked.name, asked.paired) | own
            scores = measured(
                *(name, asked.queries, models, asked.name, lost_vocabulary_threshold, params),
                generate_subqueries=True,
                n_jobs=n_jobs,
                n_bootstrap=bootstrap,
                confidence=confidence,
                audit=audit,
            )
            parts.append(scores)
            if compare:
                # Nobody asks for the p-values of resamples.
                how = params | threshold
                how |= {"calculate_p_value": False} if "calculate_p_value" in how else {}
                which = {"metric": scores["metric"].iloc[0], "queries": asked.name}
                resamples = bootstrap or 1000, confidence
                comparisons.append(which | _compared(name, asked.queries, models, how, *resamples))
            if shows_words:
                of_words.append(
                    _words_of_sc_weat(scores, asked.queries, models, threshold | params)
                )
    scores = adjust_p_values(pd.concat(parts, ignore_index=True))
    totals = _totals(scores, missing)
    # As tables are printed, a query set is what was asked for as --queries.
    tidy = pd.concat([scores, *_failed(scores, failures)], ignore_index=True)
    tidy = tidy.rename(columns={"query_set": "queries"})
    data = {"results": tidy}
    ranking = ranked(totals, "min")
    if len(models) > 1:
        data["ranking"] = ranking.reset_index()
    if comparisons:
        data["comparison"] = pd.DataFrame(comparisons)
    if of_words:
        data["words"] = pd.concat(of_words, ignore_index=True)
    shown = [*_tables_of_scores(tidy)]
    if len(models) > 1:
        shown += _tables_of_models(tidy, totals, ranking)
    if comparisons:
        shown.append(_table_of_comparisons(data["comparison"]))
    write(format, shown, data)
    if format is Format.table:
        _print_notes(tidy, bootstrap, confidence, bool(comparisons))
        _print_verdict(ranking)
    if figures is not None:
        from wefe.plotting import write_figures

        files = write_figures(
            figures,
            scores=scores,
            ranking=ranking if len(models) > 1 else None,
            correlations=calculate_ranking_correlations(ranking) if len(models) > 2 else None,
            **_of_words(query_sets, models, names, lookup, own_params),
        )
        print(f"{len(files)} figures: {figures}", file=sys.stderr)
    if bibtex is not None:
        done = [INTERVALS] if bootstrap else []
        done += [AUDIT] if audit else []
        done += [ADJUSTED] if scores["p_value"].notna().sum() > 1 else []
        done += [RANKING] if len(models) > 1 else []
        write_bibtex(bibtex, names, (asked.name for asked in query_sets), done)
    if scores["score"].isna().all():
        print(
            "no query could be answered. Where too many words are lost, take a larger part of the "
            "model, or allow more with --lost-vocabulary-threshold.",
            file=sys.stderr,
        )
        raise typer.Exit(1)
    end(failures)


def _is_of_texts(metric: str) -> bool:
    return bool(get_metric(metric).encodes_texts)


def _check_fit(
    names: list[str], model: list[str], encoder: list[str], contexts: Path | None, compare: bool
) -> None:
    """Refuse options that do not go together."""
    n = len(model) + len(encoder)
    if compare and n != 2:
        raise ValueError(f"--compare is for two models; --model and --encoder name {n}.")
    if contexts is not None and "ceat" not in names:
        raise ValueError("--contexts is for --metric ceat, which is not asked for.")
    if contexts is None and "ceat" in names:
        raise ValueError(
            "ceat finds the words in sentences: --contexts FILE, one sentence per line."
        )
    of_texts = [name for name in names if _is_of_texts(name)]
    if of_texts and model:
        raise ValueError(
            f"{of_texts[0]} measures encoders only: leave out --model, or ask for it in a call of "
            "its own."
        )


def _totals(scores: pd.DataFrame, missing: Missing) -> pd.DataFrame:
    """Return one number per model, metric and query set; NaN for models that are left out."""
    parts = []
    for _, part in scores.groupby(["query_set", "metric"], sort=False):
        # A query that nobody can answer is no reason to leave out all models.
        answered = part["score"].notna().groupby(part["query_name"]).transform("any")
        lacking = part["model_name"][answered & part["score"].isna()]
        without = set(lacking) if missing is Missing.models else set()
        parts.append(aggregated(part, AGGREGATION, without)[0])
    return pd.concat(parts, ignore_index=True)


def _failed(scores: pd.DataFrame, failures: Mapping[str, str]) -> list[pd.DataFrame]:
    """Return rows for the models that could not be opened: each says why."""
    first = scores[scores["model_name"] == scores["model_name"].iloc[0]]
    asked = first[["query_set", "metric", "query_name", "n_queries", "no_bias_value"]]
    return [
        asked.assign(model_name=name, nan_reason=f"not opened: {reason}")
        for name, reason in failures.items()
    ]


def _tables_of_scores(tidy: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield a table for each metric and query set; the models of one query stand together."""
    shown = tidy.rename(columns={"model_name": "model", "query_name": "query"})
    shown["interval"] = interval_text(tidy["score_lower"], tidy["score_upper"])
    shown["null"] = interval_text(tidy["null_lower"], tidy["null_upper"])
    if tidy["p_value"].notna().sum() < 2:
        shown[["p_value_holm", "p_value_bh"]] = None
    shown["note"] = [
        OPPOSITE if str(each).startswith(OPPOSITE) else None for each in tidy["warnings"]
    ]
    for (name, metric), group in shown.groupby(["queries", "metric"], sort=False):
        # A categorical sorts in the order in which its categories came.
        asked = pd.Categorical(group["query"], categories=group["query"].unique())
        table = group.iloc[asked.codes.argsort(kind="stable")].copy()
        # A query stands before its first model only.
        table.loc[table["query"].duplicated(), "query"] = ""
        no_bias = group["no_bias_value"].iloc[0]
        title = f"{metric}, {name} (no bias: {no_bias:g})"
        yield title, table[_SHOWN].dropna(axis="columns", how="all")


def _tables_of_models(
    tidy: pd.DataFrame, totals: pd.DataFrame, ranking: pd.DataFrame
) -> Iterator[tuple[str, pd.DataFrame]]:
    title = "Average distance from no bias (queries that all models answered, of those asked)"
    yield title, _by_model(tidy, totals, totals["score"])
    ranks = pd.array(ranking.to_numpy().T.ravel(), dtype="Int64")
    yield "Ranks (1: least bias measured)", _by_model(tidy, totals, ranks)


def _print_notes(tidy: pd.DataFrame, n_bootstrap: int, confidence: float, compared: bool) -> None:
    """Say how the numbers of the tables were made."""
    has_p = tidy["p_value"].notna()
    if (has_p & tidy["p_value_method"].isna()).any():
        print(
            "p value of CEAT: two-sided; too small, as samples of the same words are taken for "
            "independent studies."
        )
    tests = tidy[has_p & tidy["p_value_method"].notna()]
    for (side, method), group in tests.groupby(["p_value_test", "p_value_method"], sort=False):
        which = ", ".join(group["metric"].unique())
        print(f"p value of {which}: {side} permutation test ({_METHODS[str(method)]}).")
    if len(tests) > 1:
        print(
            f"p value holm, p value bh: adjusted for the {len(tests)} tests of this call (Holm; "
            "Benjamini and Hochberg)."
        )
    if len(tests):
        print("null: 2.5 and 97.5 % of scores with words exchanged.")
    if tidy["score_lower"].notna().any():
        print(
            f"interval: {confidence * 100:g} % bootstrap interval over words "
            f"({n_bootstrap} resamples)."
        )
        for metric in tidy.loc[tidy["interval_note"].notna(), "metric"].unique():
            print(f"{metric}: no bias is an end of the range, so compare intervals with the null.")
    if compared:
        print(
            "difference: how much farther from no bias the other model is, with its "
            f"{confidence * 100:g} % interval.\nA p value above {1 - confidence:.2g} means that "
            "other words of the same kind could turn the order around."
        )
    for row in tidy[tidy["warnings"].fillna("") != ""].to_dict("records"):
        print(f"\nWarnings of {row['metric']}, {row['query_name']}, {row['model_name']}:")
        print("\n".join(f"- {text}" for text in row["warnings"].split(" | ")))


def _print_verdict(ranking: pd.DataFrame) -> None:
    """Say which model has the least bias, or why there is no ranking."""
    if len(ranking) < 2:
        return
    if ranking.isna().all().any():
        is_ranked = ranking.notna().all(axis=1)
        remedy = "" if is_ranked.any() else ", or let --missing models do so"
        say(
            "Blank: no query was answered by all models; leave out the one that lacks "
            f"words{remedy}.",
            "yellow",
        )
    # A model that is ranked alone is not ahead of another one.
    compared = ranking.dropna(axis="columns", thresh=2)
    n_first = (compared == 1).sum(axis=1)
    if n_first.any():
        best = ", ".join(n_first.index[n_first == n_first.max()])
        n = len(compared.columns)
        say(f"{best}: least bias measured in {n_first.max()} of {n} rankings.", "green")


def _compared(
    name: str,
    queries: Sequence[Query],
    models: Sequence[WordEmbeddingModel],
    params: Mapping[str, Any],
    n_bootstrap: int,
    confidence: float,
) -> dict[str, Any]:
    """Return a row that says whether one of two models has less bias."""
    from wefe.comparison import compare_models

    one, other = models
    try:
        found = compare_models(
            name, queries, one, other, n_bootstrap, confidence, metric_params=params
        )
    except ValueError as error:
        return {"nan_reason": str(error)}
    if found.n_queries < 2:
        return {"n_queries": found.n_queries, "nan_reason": "a comparison needs two queries"}
    # Told from the side of the model with less bias.
    ahead, sign = (one, 1) if found.difference >= 0 else (other, -1)
    lower, upper = sorted((sign * found.lower, sign * found.upper))
    return {
        "less_bias": ahead.name if found.difference else None,
        "difference": sign * found.difference,
        "difference_lower": lower,
        "difference_upper": upper,
        "p_value": found.p_value,
        "n_queries": found.n_queries,
    }


def _table_of_comparisons(rows: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    columns = ["metric", "queries", "less_bias", "difference", "interval", "p_value", "n_queries"]
    shown = rows.reindex(columns=[*columns, "difference_lower", "difference_upper", "nan_reason"])
    shown["interval"] = interval_text(shown["difference_lower"], shown["difference_upper"])
    title = "Is one model ahead? (average distance from no bias, on the words that both have)"
    return title, shown[[*columns, "nan_reason"]].dropna(axis="columns", how="all")


def _of_words(
    query_sets: Sequence[OpenedQueries],
    models: Sequence[WordEmbeddingModel],
    names: Sequence[str],
    lookup: Mapping[str, Any],
    own_params: Mapping[str, Mapping[str, Any]],
) -> dict[str, Any]:
    """Return what figures show of single words, by query and model."""
    from wefe.audit import audit_query
    from wefe.embeddings import UnanswerableError
    from wefe.metrics import RNSB
    from wefe.metrics._base import result_of

    sentiment: dict[str, dict[str, Any]] = {}
    biases: dict[str, dict[str, Any]] = {}
    params = {"holdout": False, **lookup, **own_params.get("rnsb", {})}
    for asked in query_sets:
        for query, model in itertools.product(asked.queries, models):
            title = f"{asked.name} {query.query_name}"
            if "rnsb" in names and RNSB().accepts(query):
                with contextlib.suppress(UnanswerableError):
                    result = result_of(RNSB(), query, model, **params)
                    sentiment.setdefault(title, {})[model.name] = result
            # Which has no two attribute sets, or lacks words.
            with contextlib.suppress(UnanswerableError, ValueError):
                audit = audit_query(query, model, calculate_p_value=False, **lookup)
                named = zip(audit.targets, audit.biases, strict=True)
                biases.setdefault(title, {})[model.name] = {use.name: each for use, each in named}
    return {"negative_sentiment": sentiment, "biases": biases}


def _words_of_sc_weat(
    scores: pd.DataFrame,
    queries: Sequence[Query],
    models: Sequence[WordEmbeddingModel],
    params: Mapping[str, Any],
) -> pd.DataFrame:
    """Return what SC-WEAT says of every word of the queries of a table of scores."""
    import pandas as pd

    from wefe.metrics import SCWEAT
    from wefe.metrics._base import result_of
    from wefe.query import unique_queries

    rows = []
    asked = unique_queries([part for query in queries for part in SCWEAT().subqueries(query)])
    names = scores["query_name"].unique()
    for model_name, model in zip(scores["model_name"].unique(), models, strict=True):
        # Queries that have no subquery come after these.
        for query_name, query in zip(names, asked, strict=False):
            # What there is to be logged was logged when the scores were computed.
            result = result_of(SCWEAT(), query, model, **params)
            tests = getattr(result, "details", {}).get("permutation_tests", {})
            for word, effect_size in result["effect_sizes"].items():
                test = tests.get(word)
                rows.append(
                    {
                        "model_name": model_name,
                        "query_name": query_name,
                        "word": word,
                        "effect_size": effect_size,
                        "p_value": None if test is None else test.p_value,
                        "p_value_method": None if test is None else test.method,
                        "queries": scores["query_set"].iloc[0],
                    }
                )
    return pd.DataFrame(rows)


def _by_model(tidy: pd.DataFrame, totals: pd.DataFrame, values: Any) -> pd.DataFrame:
    """Return a table of metrics and models; the rows are what there is more of."""
    n_asked = tidy.groupby(["queries", "metric"])["query_name"].nunique().to_dict()
    labels = [
        f"{metric}: {queries} ({n_scores} of {n_asked[queries, metric]})"
        for metric, queries, n_scores in totals[["metric", "query_set", "n_scores"]].to_numpy()
    ]
    shown = totals.assign(label=labels, value=values)
    table = shown.pivot(index="label", columns="model_name", values="value")
    table = table.reindex(index=list(dict.fromkeys(labels)), columns=shown["model_name"].unique())
    table = table.T if len(table.columns) > max(len(table), _MOST_ABREAST) else table
    return table.rename_axis(index="", columns=None).reset_index()


def _find_contexts(queries: Sequence[Query], path: Path) -> FoundContexts:
    from wefe.contextual import find_contexts

    if not path.is_file():
        raise FileNotFoundError(f"--contexts {path}: there is no such file.")
    try:
        with path.open(encoding="utf-8") as lines:
            contexts = find_contexts(queries, (line.strip() for line in lines))
    except UnicodeDecodeError as error:
        raise ValueError(f"--contexts {path} is no text in UTF-8: {error}.") from error
    if not any(contexts.values()):
        raise ValueError(f"--contexts {path}: none of the words of the queries is in it.")
    return contexts
