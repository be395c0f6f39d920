"""`wefe measure`: published or own queries, asked of models."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from wefe.cli._output import Format, as_json, as_text

if TYPE_CHECKING:
    import pandas as pd

    from wefe.models import WordEmbeddingModel
    from wefe.query import Query

# What the command line asks of a metric unless --param says otherwise: p-values where there are
# any, and no randomness where it can be avoided.
_DEFAULT_PARAMS: dict[str, dict[str, Any]] = {
    "weat": {"calculate_p_value": True, "p_value_method": "exact"},
    "weat-es": {
        "return_effect_size": True,
        "calculate_p_value": True,
        "p_value_method": "exact",
    },
    "rnsb": {"holdout": False},
}

AGGREGATION: Literal["bias_avg"] = "bias_avg"


def measure(
    model: Annotated[
        list[str],
        typer.Option(
            help="A file of vectors (GloVe or word2vec text, word2vec binary, safetensors), or "
            "'demo' for the packaged ones. NAME=FILE gives it a name. Repeat to compare models."
        ),
    ],
    queries: Annotated[
        list[str],
        typer.Option(
            help="A published query set ('wefe datasets' lists them) or a JSON file of queries, "
            "as Query.dict() writes them. Repeat for several."
        ),
    ],
    metric: Annotated[
        list[str],
        typer.Option(
            help="weat, weat-es (its effect size), rnd, rnsb, mac, ect, ripa, direct-bias, same or "
            "gweat. Repeat for several. A query that is too large for a metric is replaced by its "
            "subqueries."
        ),
    ] = ["weat"],  # noqa: B006 - typer reads the default, nobody changes it
    format: Annotated[  # noqa: A002 - the option is called --format
        Format, typer.Option(help="csv and json keep all digits and full texts.")
    ] = Format.table,
    param: Annotated[
        list[str],
        typer.Option(
            help="A parameter of a metric, METRIC.NAME=VALUE, the value in JSON: "
            "rnsb.n_iterations=100, rnd.distance='\"cos\"'. Repeat for several."
        ),
    ] = [],  # noqa: B006
    lowercase: Annotated[
        bool,
        typer.Option(help="Look up the lower-case form of words that are not found as they are."),
    ] = True,
    normalize: Annotated[bool, typer.Option(help="Scale vectors to unit length first.")] = False,
    lost_vocabulary_threshold: Annotated[
        float, typer.Option(help="A query that loses a larger share of a set's words is NaN.")
    ] = 0.2,
    vocab_prefix: Annotated[
        str, typer.Option(help="Put before each word, '/c/en/' for ConceptNet.")
    ] = "",
    offline: Annotated[
        bool, typer.Option(help="Only queries whose words ship with the package; no download.")
    ] = False,
    n_jobs: Annotated[int, typer.Option(help="Worker processes.")] = 1,
) -> None:
    """Measure models with published or own queries.

    Prints one row per model, query and metric: the score, its p-value (WEAT, by an exact
    permutation test), the words used and lost, and why a score is missing. With several models a
    ranking follows: rank 1 has the least bias measured by that metric, on average over the
    queries; queries that a model could not answer are left out for all.

    Example: wefe measure --model demo --queries gender --metric weat-es --metric rnsb --offline
    """
    import pandas as pd

    from wefe.ranking import create_ranking
    from wefe.running import run_queries, tidy_results

    models = [_open_model(text, vocab_prefix or None) for text in model]
    lookup: dict[str, Any] = {"normalize": normalize}
    if lowercase:
        lookup["preprocessors"] = [{}, {"lowercase": True}]
    own_params = _parse_params(param, metric)
    rows, scores = [], []
    for set_name in queries:
        name, query_set = _open_queries(set_name, offline)
        for metric_name in metric:
            results = run_queries(
                "weat" if metric_name.lower() == "weat-es" else metric_name,
                query_set,
                models,
                queries_set_name=name,
                lost_vocabulary_threshold=lost_vocabulary_threshold,
                metric_params={
                    **lookup,
                    **_DEFAULT_PARAMS.get(metric_name.lower(), {}),
                    **own_params.get(metric_name.lower(), {}),
                },
                generate_subqueries=True,
                aggregate_results=True,
                aggregation_function=AGGREGATION,
                n_jobs=n_jobs,
            )
            rows.append(tidy_results(results).assign(queries=name))
            scores.append(results)
    tidy = pd.concat(rows, ignore_index=True)
    ranking = create_ranking(scores, method="min") if len(models) > 1 else None
    _print(tidy, ranking, format)
    if tidy["score"].isna().all():
        raise typer.Exit(1)


def _print(tidy: pd.DataFrame, ranking: pd.DataFrame | None, format: Format) -> None:  # noqa: A002
    if format is Format.csv:
        print(tidy.to_csv(index=False), end="")
        return
    if format is Format.json:
        tables = {"results": tidy}
        if ranking is not None:
            tables["ranking"] = ranking.reset_index()
        print(as_json(tables))
        return
    shown = tidy.drop(columns="queries")
    print(as_text(shown.dropna(axis="columns", how="all")))
    if ranking is not None:
        print("\nRanks (1: least bias measured)")
        print(as_text(_short(ranking), index=True))


def _short(ranking: pd.DataFrame) -> pd.DataFrame:
    """Turn ranks into whole numbers under headings of metric and query set."""
    shown = ranking.astype("Int64")
    shown.columns = [
        column.removesuffix(" average distance from no bias score") for column in shown.columns
    ]
    return shown


def _open_model(text: str, vocab_prefix: str | None) -> WordEmbeddingModel:
    from wefe.models import load

    # A path may hold '=' itself.
    if text != "demo" and not Path(text).exists() and "=" in text:
        name, _, source = text.partition("=")
        return load(source, name, vocab_prefix)
    return load(text, None, vocab_prefix)


def _open_queries(text: str, offline: bool) -> tuple[str, list[Query]]:
    from wefe.datasets import list_query_sets, load_query_set
    from wefe.query import Query

    path = Path(text)
    if path.suffix != ".json" and not path.is_file():
        known = [entry["name"] for entry in list_query_sets()]
        if text not in known:
            raise ValueError(
                f"--queries {text!r} is neither a published query set ({', '.join(known)}) nor a "
                "JSON file."
            )
        query_set = load_query_set(text, offline=offline)
        if not query_set:
            raise ValueError(
                f"--queries {text}: no query of this set can be asked offline; its words are a "
                "download. Leave out --offline, or set WEFE_DATA_DIR to a mirror."
            )
        return text, query_set
    if not path.is_file():
        raise FileNotFoundError(f"--queries {text}: there is no such file.")
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"--queries {text} is no JSON: {error}") from error
    entries = data if isinstance(data, list) else [data]
    checked = []
    for position, entry in enumerate(entries):
        try:
            checked.append(Query.from_dict(entry))
        except (TypeError, ValueError) as error:
            raise ValueError(f"--queries {text}, query {position}: {error}") from error
    return path.stem, checked


def _parse_params(texts: Sequence[str], metrics: Sequence[str]) -> dict[str, dict[str, Any]]:
    params: dict[str, dict[str, Any]] = {}
    asked = [metric.lower() for metric in metrics]
    for text in texts:
        key, equals, value = text.partition("=")
        metric, dot, name = key.partition(".")
        if not equals or not dot or not name:
            raise ValueError(
                f"--param {text!r} must read METRIC.NAME=VALUE, for example rnsb.n_iterations=100."
            )
        if metric.lower() not in asked:
            raise ValueError(
                f"--param {text!r} names {metric!r}, which is not measured; --metric has "
                f"{', '.join(metrics)}."
            )
        try:
            params.setdefault(metric.lower(), {})[name] = json.loads(value)
        except ValueError as error:
            raise ValueError(
                f"--param {text!r}: {value!r} is no JSON; write texts in double quotes."
            ) from error
    return params
