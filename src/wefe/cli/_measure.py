"""`wefe measure`: published or own queries, asked of models."""

from __future__ import annotations

import contextlib
import json
import logging
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from wefe._checks import check_choice
from wefe._visible import as_csv
from wefe.cli._options import Lowercase, OfflineQueries, TrustPickle, VocabPrefix
from wefe.cli._output import Format, as_json, as_text, number_text
from wefe.metrics._registry import as_metric, get_metric, metric_names

if TYPE_CHECKING:
    import pandas as pd

    from wefe.contextual import FoundContexts
    from wefe.datasets._opened import OpenedQueries
    from wefe.models import WordEmbeddingModel
    from wefe.query import Query

logger = logging.getLogger(__name__)

AGGREGATION: Literal["bias_avg"] = "bias_avg"

_METHODS = {
    "exact": "all splits counted",
    "bounds": "all splits, the upper of two guaranteed bounds",
    "approximate": "random splits",
    "saddlepoint": "approximated",
}
_SHOWN = ["query", "model", "score", "interval", "null", "p_value", "p_value_holm", "p_value_bh"]
_SHOWN += ["words_used", "words_lost"]
_SHOWN += ["note", "nan_reason", "interval_nan_reason"]


class Side(StrEnum):
    """Which splits count in permutation tests."""

    two = "two-sided"
    right = "right-sided"
    left = "left-sided"


class Subwords(StrEnum):
    """The vector of a word that the vocabulary lacks."""

    mean = "mean"
    first = "first"
    refuse = "refuse"


class Pooling(StrEnum):
    """How the vectors of an encoder's tokens become one."""

    auto = "auto"
    mean = "mean"
    first = "first"
    cls = "cls"
    sentence = "sentence"


def measure(
    queries: Annotated[
        list[str],
        typer.Option(
            help="A published query set ('wefe datasets' lists them) or a JSON file of queries, "
            "as Query.dict() writes them. Repeat for several."
        ),
    ],
    model: Annotated[
        list[str],
        typer.Option(
            help="A file of vectors in any format (GloVe or word2vec, packed or not, fastText, "
            "gensim, safetensors, npy, parquet, CSV), a folder with a tokenizer, 'org/name' on "
            "Hugging Face, a name of gensim-data, or 'demo' for the packaged vectors. NAME=FILE "
            "gives it a name. Repeat to compare models."
        ),
    ] = [],  # noqa: B006 - typer reads the default, nobody changes it
    encoder: Annotated[
        list[str],
        typer.Option(
            help="A contextual or sentence encoder, beside models or in their place: a folder that "
            "transformers or sentence-transformers saved, or 'org/name' on Hugging Face (needs "
            "wefe[transformers]). NAME=FOLDER gives it a name. Repeat for several."
        ),
    ] = [],  # noqa: B006
    metric: Annotated[
        list[str],
        typer.Option(
            help=f"One of {', '.join(metric_names())}. weat-es is the effect size of weat; sc-weat "
            "has p-values per word (see --format json); eqt, gipe, pmn and proximity-bias look at "
            "the whole vocabulary; seat and ceat measure encoders only. Repeat for several. A "
            "query that is too large for a metric is replaced by its subqueries."
        ),
    ] = ["weat-es"],  # noqa: B006
    format: Annotated[  # noqa: A002 - the option is called --format
        Format,
        typer.Option(
            help="csv (scores only) and json keep all digits and full texts. Only json has the "
            "effect size and p-value of every word of sc-weat, under 'words'."
        ),
    ] = Format.table,
    p_value_test: Annotated[
        Side,
        typer.Option(
            help="Which splits count in permutation tests: two-sided asks whether there is a bias, "
            "right-sided whether the first targets lean to the first attributes."
        ),
    ] = Side.two,
    param: Annotated[
        list[str],
        typer.Option(
            help="A parameter of a metric, METRIC.NAME=VALUE, the value in JSON: "
            "rnsb.n_iterations=100, weat-es.ddof=1. Repeat for several."
        ),
    ] = [],  # noqa: B006
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
    lowercase: Lowercase = True,
    normalize: Annotated[bool, typer.Option(help="Scale vectors to unit length first.")] = False,
    lost_vocabulary_threshold: Annotated[
        float, typer.Option(help="A query that loses a larger share of a set's words is NaN.")
    ] = 0.2,
    vocab_prefix: VocabPrefix = "",
    offline: OfflineQueries = False,
    subwords: Annotated[
        Subwords | None,
        typer.Option(
            help="The vector of a word that the vocabulary lacks, where a model knows subwords: "
            "their mean, the first of them, or none (refuse). Default: mean for model2vec, else "
            "refuse.",
        ),
    ] = None,
    trust_pickle: TrustPickle = False,
    layer: Annotated[
        int,
        typer.Option(
            help="Layer of encoders: 0 is the output of the embedding layer, -1 the last."
        ),
    ] = -1,
    pooling: Annotated[
        Pooling,
        typer.Option(
            help="How the vectors of an encoder's tokens become one: the mean over the word's own, "
            "its first, the token that stands for the text (cls), or the mean over the sentence. "
            "auto: what a sentence encoder itself does, mean for others."
        ),
    ] = Pooling.auto,
    template: Annotated[
        list[str],
        typer.Option(
            help="A sentence with a gap in which encoders see the words, 'This is {}.'; the mean "
            "over several. By default words stand alone. (seat has its own.)"
        ),
    ] = [],  # noqa: B006
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
    compare: Annotated[
        bool,
        typer.Option(
            "--compare",
            help="Test whether one of two models has less bias over the queries of each set: their "
            "difference with an interval and a p-value. Needs two queries or more.",
        ),
    ] = False,
    n_jobs: Annotated[int, typer.Option(help="Worker processes.")] = 1,
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
    import pandas as pd

    from wefe._same_words import on_same_words
    from wefe.aggregation import aggregate
    from wefe.datasets._opened import open_query_set
    from wefe.models._load import words_of
    from wefe.ranking import create_ranking
    from wefe.running import adjust_p_values
    from wefe.running import measure as measured

    names = _check_metrics(metric)
    if not model and not encoder:
        raise ValueError("say what to measure: --model or --encoder, for example --model demo.")
    check_for_encoders(encoder, layer, pooling, template)
    if contexts is not None and "ceat" not in names:
        raise ValueError("--contexts is for --metric ceat, which is not asked for.")
    if not model and (subwords or trust_pickle or vocab_prefix):
        raise ValueError(
            "--subwords, --trust-pickle and --vocab-prefix are for --model; --encoder has no use "
            "for them."
        )
    if compare and len(model) + len(encoder) != 2:
        found = len(model) + len(encoder)
        raise ValueError(f"--compare is for two models; --model and --encoder name {found}.")
    of_texts = [name for name in names if name in ("seat", "ceat")]
    if of_texts and model:
        raise ValueError(
            f"{of_texts[0]} measures encoders only: leave out --model, or ask for it in a call of "
            "its own."
        )
    if "ceat" in names and contexts is None:
        raise ValueError(
            "ceat finds the words in sentences: --contexts FILE, one sentence per line."
        )
    own_params = _parse_params(param, names)
    lookup: dict[str, Any] = {"normalize": normalize}
    if lowercase:
        lookup["preprocessors"] = [{}, {"lowercase": True}]
    query_sets = []
    for set_name in dict.fromkeys(queries):
        query_sets.append(open_query_set(set_name, offline, "--queries"))
        offline = offline or query_sets[-1].offline
    # A query knows its words, so of a file that must be parsed only those are.
    words = None
    if not any(get_metric(name).needs_vocabulary for name in names):
        words = words_of(
            [query for asked in query_sets for query in asked.queries],
            vocab_prefix or None,
            lookup.get("preprocessors", [{}]),
        )
    options: dict[str, Any] = {
        "vocab_prefix": vocab_prefix or None,
        "words": words,
        "subwords": subwords.value if subwords else None,
        "trust_pickle": trust_pickle,
    }
    models = [open_model(text, options) for text in model]
    models += open_encoders(encoder, layer, pooling, template)
    if contexts is not None and "ceat" in names:
        own_params.setdefault("ceat", {})["contexts"] = _find_contexts(query_sets, contexts)
    if len(models) > 1 and not own_words and not of_texts:
        every = [query for asked in query_sets for query in asked.queries]
        models = on_same_words(models, every, lookup.get("preprocessors"))
    rows, of_words, comparisons = [], [], []
    for asked in query_sets:
        for name in names:
            own = own_params.get(name, {})
            if name == "sc-weat" and format is Format.json:  # which shows the p-values of words
                own = {"calculate_p_value": True, **own}
            asking = as_metric(name)
            defaults = asking.report_params(own, 0, p_value_test.value)
            defaults |= asking.params_for_unpaired(own, asked.name, asked.paired)
            params = {**lookup, **defaults, **own}
            scores = measured(
                name,
                asked.queries,
                models,
                queries_set_name=asked.name,
                lost_vocabulary_threshold=lost_vocabulary_threshold,
                metric_params=params,
                generate_subqueries=True,
                n_jobs=n_jobs,
                n_bootstrap=bootstrap,
                confidence=confidence,
                audit=audit,
            )
            rows.append(scores)
            if compare:
                # Nobody asks for the p-values of resamples.
                how = {**params, **own, "lost_vocabulary_threshold": lost_vocabulary_threshold}
                how |= {"calculate_p_value": False} if "calculate_p_value" in how else {}
                which = {"metric": scores["metric"].iloc[0], "queries": asked.name}
                resamples = bootstrap or 1000, confidence
                comparisons.append(which | _compared(name, asked.queries, models, how, *resamples))
            if name == "sc-weat" and format is Format.json:
                params = {"lost_vocabulary_threshold": lost_vocabulary_threshold, **params}
                of_words.append(_words_of_sc_weat(scores, asked.queries, models, params))
    scores = adjust_p_values(pd.concat(rows, ignore_index=True))
    totals = aggregate(scores, AGGREGATION)
    # As tables are printed, a query set is what was asked for as --queries.
    tidy = scores.rename(columns={"query_set": "queries"})
    if format is Format.csv:
        print(as_csv(tidy), end="")
    elif format is Format.json:
        tables = {"results": tidy}
        if len(models) > 1:
            tables["ranking"] = create_ranking(totals, method="min").reset_index()
        if comparisons:
            tables["comparison"] = pd.DataFrame(comparisons)
        if of_words:
            tables["words"] = pd.concat(of_words, ignore_index=True)
        print(as_json(tables))
    else:
        _print_tables(tidy, totals, bootstrap, confidence)
        if comparisons:
            _print_comparisons(pd.DataFrame(comparisons), confidence)
    if tidy["score"].isna().all():
        print(
            "no query could be answered; the reasons stand above. Where too many words are lost, "
            "take a larger part of the model, or allow more with --lost-vocabulary-threshold.",
            file=sys.stderr,
        )
        raise typer.Exit(1)


def _print_tables(
    tidy: pd.DataFrame, totals: pd.DataFrame, n_bootstrap: int, confidence: float
) -> None:
    import pandas as pd

    from wefe.ranking import create_ranking
    from wefe.results import OPPOSITE

    shown = tidy.rename(columns={"model_name": "model", "query_name": "query"})
    shown["interval"] = [
        None if pd.isna(low) else f"[{number_text(low)}, {number_text(high)}]"
        for low, high in zip(tidy["score_lower"], tidy["score_upper"], strict=True)
    ]
    if tidy["p_value"].notna().sum() < 2:
        shown[["p_value_holm", "p_value_bh"]] = None
    shown["null"] = [
        None if pd.isna(low) else f"[{number_text(low)}, {number_text(high)}]"
        for low, high in zip(tidy["null_lower"], tidy["null_upper"], strict=True)
    ]
    shown["note"] = [
        OPPOSITE if str(each).startswith(OPPOSITE) else None for each in tidy["warnings"]
    ]
    # The models of one query stand together; groups keep the order in which they were asked.
    for (name, metric), group in shown.groupby(["queries", "metric"], sort=False):
        table = group.drop(columns=["queries", "metric", "no_bias_value"])
        # A categorical sorts in the order in which its categories came.
        asked = pd.Categorical(table["query"], categories=table["query"].unique())
        table = table.iloc[asked.codes.argsort(kind="stable")].copy()
        # A query stands before its first model only.
        table.loc[table["query"].duplicated(), "query"] = ""
        no_bias = group["no_bias_value"].iloc[0]
        print(f"{metric}, {name} (no bias: {no_bias:g})")
        print(as_text(table[_SHOWN].dropna(axis="columns", how="all")), end="\n\n")
    if (tidy["p_value"].notna() & tidy["p_value_method"].isna()).any():
        print(
            "p value of CEAT: two-sided; too small, as samples of the same words are taken for "
            "independent studies."
        )
    with_p = tidy[tidy["p_value"].notna() & tidy["p_value_method"].notna()]
    for (side, method), tests in with_p.groupby(["p_value_test", "p_value_method"], sort=False):
        which = ", ".join(tests["metric"].unique())
        print(f"p value of {which}: {side} permutation test ({_METHODS[str(method)]}).")
    if len(with_p) > 1:
        print(
            f"p value holm, p value bh: adjusted for the {len(with_p)} tests of this call (Holm; "
            "Benjamini and Hochberg)."
        )
    if len(with_p):
        print("null: 2.5 and 97.5 % of scores with words exchanged.")
    if tidy["score_lower"].notna().any():
        print(
            f"interval: {confidence * 100:g} % bootstrap interval over words "
            f"({n_bootstrap} resamples)."
        )
        no_bias = tidy["no_bias_value"]
        ends = tidy[(no_bias == tidy["scale_min"]) | (no_bias == tidy["scale_max"])]
        for metric in ends["metric"].unique():
            print(f"{metric}: no bias is an end of the range, so compare intervals with the null.")
    for row in tidy[tidy["warnings"].fillna("") != ""].to_dict("records"):
        print(f"\nWarnings of {row['metric']}, {row['query_name']}, {row['model_name']}:")
        print("\n".join(f"- {text}" for text in row["warnings"].split(" | ")))
    if tidy["model_name"].nunique() > 1:
        print("\nAverage distance from no bias (queries that all models answered, of those asked)")
        print(as_text(_short(tidy, totals, totals["score"]), index=True))
        ranking = create_ranking(totals, method="min")
        ranks = ranking.to_numpy().T.ravel()
        print("\nRanks (1: least bias measured)")
        print(as_text(_short(tidy, totals, pd.array(ranks, dtype="Int64")), index=True))
        if ranking.isna().all().any():
            print("Blank: no query was answered by all models; leave out the one that lacks words.")


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


def _print_comparisons(rows: pd.DataFrame, confidence: float) -> None:
    import pandas as pd

    columns = ["metric", "queries", "less_bias", "difference", "interval", "p_value", "n_queries"]
    shown = rows.reindex(columns=[*columns, "difference_lower", "difference_upper", "nan_reason"])
    shown["interval"] = [
        None if pd.isna(low) else f"[{number_text(low)}, {number_text(high)}]"
        for low, high in zip(shown["difference_lower"], shown["difference_upper"], strict=True)
    ]
    print("\nIs one model ahead? (average distance from no bias, on the words that both have)")
    print(as_text(shown[[*columns, "nan_reason"]].dropna(axis="columns", how="all")))
    print(
        "difference: how much farther from no bias the other model is, with its "
        f"{confidence * 100:g} % interval.\nA p value above {1 - confidence:.2g} means that other "
        "words of the same kind could turn the order around."
    )


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


def _short(tidy: pd.DataFrame, totals: pd.DataFrame, values: Any) -> pd.DataFrame:
    """Return one row per metric and query set, one column per model."""
    n_asked = tidy.groupby(["queries", "metric"])["query_name"].nunique().to_dict()
    labels = [
        f"{metric}: {queries} ({n_scores} of {n_asked[queries, metric]})"
        for metric, queries, n_scores in totals[["metric", "query_set", "n_scores"]].to_numpy()
    ]
    shown = totals.assign(label=labels, value=values)
    table = shown.pivot(index="label", columns="model_name", values="value")
    table = table.reindex(index=list(dict.fromkeys(labels)), columns=shown["model_name"].unique())
    return table.rename_axis(index=None, columns=None)


def _find_contexts(query_sets: Iterable[OpenedQueries], path: Path) -> FoundContexts:
    from wefe.contextual import find_contexts

    queries = [query for asked in query_sets for query in asked.queries]
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


def _check_metrics(names: Sequence[str], of_texts: bool = True) -> list[str]:
    """Return metric names as the help lists them; a typo is refused before any work."""
    known = {name: m for name, m in metric_names().items() if of_texts or not m.encodes_texts}
    listed = {metric: name for name, metric in reversed(known.items()) if name != "weat-es"}

    def checked(name: str) -> str:
        if name.lower() not in known:
            # Names of classes, and those of articles, as in Python.
            with contextlib.suppress(ValueError):
                return listed[get_metric(name)]
        return check_choice("--metric", name.lower(), sorted(known))

    return list(dict.fromkeys(map(checked, names)))


def open_model(text: str, options: Mapping[str, Any]) -> WordEmbeddingModel:
    """Open what --model names, NAME=FILE included."""
    from wefe.models import load

    return load("demo", **options) if text == "demo" else _open_named(text, load, options)


def check_for_encoders(
    encoders: Sequence[str], layer: int, pooling: Pooling, templates: Sequence[str]
) -> None:
    """Refuse options that would change nothing."""
    if not encoders and (layer != -1 or pooling is not Pooling.auto or templates):
        raise ValueError("--layer, --pooling and --template are for --encoder, and there is none.")


def open_encoders(
    encoders: Sequence[str], layer: int, pooling: Pooling, templates: Sequence[str]
) -> list[WordEmbeddingModel]:
    """Open what --encoder names."""
    if not encoders:
        return []
    from wefe.contextual import load_encoder

    options = {"layer": layer, "pooling": pooling.value, "templates": list(templates) or None}
    opened = [_open_named(text, load_encoder, options) for text in encoders]
    # A number without these says little, and tables have no other place for them.
    said = [f"layer {layer}"] if layer != -1 else []
    said += [pooling.value] if pooling is not Pooling.auto else []
    said += ["in templates"] if templates else []
    for model in opened:
        model.name = ", ".join([model.name, *said])
    return opened


def _open_named(
    text: str, load: Callable[..., WordEmbeddingModel], options: Mapping[str, Any]
) -> WordEmbeddingModel:
    name, source = split_name(text)
    return load(source, name, **options)


def split_name(text: str) -> tuple[str | None, str]:
    """Return NAME and the rest of NAME=REST, the name None if there is none.

    Paths and names may hold '=' themselves: what follows a name is then what is there.

    Examples
    --------
    >>> split_name("mine=glove.txt"), split_name("glove.txt")
    (('mine', 'glove.txt'), (None, 'glove.txt'))
    """
    if "=" not in text or is_there(text):
        return None, text
    parts = text.split("=")
    ways = [("=".join(parts[:cut]), "=".join(parts[cut:])) for cut in range(1, len(parts))]
    name, rest = next((way for way in ways if is_there(way[1])), ways[0])
    if not name.strip():
        raise ValueError(f"{short(text)}: there is no name before '='; give one, or leave it out.")
    if not rest:
        raise ValueError(f"{short(text)}: there is nothing after '='.")
    return name, rest


def is_there(text: str) -> bool:
    """Tell whether a text is the path of a file or folder, or of a file in an archive."""
    path = Path(text)
    try:
        return bool(text) and (path.exists() or any(part.is_file() for part in path.parents))
    except (OSError, ValueError):
        # No path is that long, or has such a character.
        return False


def short(text: str, most: int = 80) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _parse_params(texts: Sequence[str], metrics: Sequence[str]) -> dict[str, dict[str, Any]]:
    params: dict[str, dict[str, Any]] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        metric, dot, name = key.partition(".")
        if not equals or not dot or not name:
            raise ValueError(
                f"--param {text!r} must read METRIC.NAME=VALUE, for example rnsb.n_iterations=100."
            )
        if metric.lower() not in metrics:
            raise ValueError(
                f"--param {text!r} names {metric!r}, which is not measured; --metric has "
                f"{', '.join(metrics)}."
            )
        if name == "return_effect_size":
            raise ValueError(f"--param {text!r}: choose --metric weat or --metric weat-es instead.")
        try:
            params.setdefault(metric.lower(), {})[name] = json.loads(value)
        except ValueError as error:
            raise ValueError(
                f"--param {text!r}: {value!r} is no JSON; write texts in double quotes."
            ) from error
    return params
