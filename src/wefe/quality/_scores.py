"""Scores of many models on many benchmarks, and the ranking by quality."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from itertools import product

import numpy as np
import pandas as pd

from wefe._checks import as_seed, check_sequence, logger, progress_bar
from wefe._visible import by_name, plain
from wefe.aggregation import matrix_of
from wefe.models._word_embedding_model import WordEmbeddingModel, check_models
from wefe.quality._benchmark import Benchmark, as_benchmark
from wefe.quality._evaluate import evaluate
from wefe.ranking import score_column, without_noise


def quality_scores(
    models: Sequence[WordEmbeddingModel],
    benchmarks: Sequence[Benchmark | str | os.PathLike[str]],
    *,
    random_state: int | np.random.Generator | None = 0,
    progress: bool = True,
) -> pd.DataFrame:
    """Measure models on benchmarks; :func:`evaluate` explains the scores.

    Parameters
    ----------
    models : sequence of WordEmbeddingModel
        The models; repeated names are numbered, 'name (2)'.
    benchmarks : sequence of Benchmark, str or path
        Benchmarks with different names, or names or files for :func:`load_benchmark`.
    random_state, progress : optional
        As for :func:`evaluate`.

    Returns
    -------
    DataFrame
        One row per model and benchmark with the attributes of :class:`QualityScore`: 'score'
        (higher is better), 'n_used' and 'n_items', 'nan_reason' and so on. For one column per
        benchmark: ``table.pivot(index="model_name", columns="benchmark", values="score")``.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> animals = [("cat", "mammal"), ("dog", "mammal"), ("salmon", "fish"), ("tuna", "fish")]
    >>> table = quality_scores([load_test_model()], [Benchmark("mine", "categorisation", animals)])
    >>> table[["score", "n_used", "n_items"]].values.tolist()
    [[1.0, 3.0, 4.0]]
    """
    given = check_models(models)
    asked = _check_benchmarks(benchmarks)
    named, seed = by_name(given), as_seed(random_state)
    records = []
    with progress_bar(len(named) * len(asked), "quality", "benchmark", progress) as bar:
        for (name, model), benchmark in product(named.items(), asked):
            score = evaluate(model, benchmark, random_state=seed, progress=progress)
            records.append({**plain(score), "model_name": name})
            bar.update()
    table = pd.DataFrame(records).astype({"score": float})
    for name, own in table.groupby("benchmark", sort=False):
        if own["n_used"].nunique() > 1:
            logger.warning(
                "%s: models were scored on different items because they lack words: %s of %d",
                *(name, dict(zip(own["model_name"], own["n_used"], strict=True))),
                own["n_items"].iloc[0],
            )
    return table


def _check_benchmarks(benchmarks: object) -> list[Benchmark]:
    asked = [as_benchmark(each) for each in check_sequence("benchmarks", benchmarks)]
    names = Counter(benchmark.name for benchmark in asked)
    if not asked or len(names) < len(asked):
        raise ValueError(
            "benchmarks must be one or more that differ in name, which is that of the file; got "
            f"{dict(names)}."
        )
    return asked


def quality_ranking(scores: pd.DataFrame, name: str = "Quality") -> pd.DataFrame:
    """Rank models by the sum of their ranks over benchmarks (WEFE paper, section 4.2).

    Parameters
    ----------
    scores : DataFrame
        The result of :func:`quality_scores`, or a table of your own with its columns 'model_name',
        'benchmark' and 'score' (higher is better).
    name : str, default='Quality'
        Column heading.

    Returns
    -------
    DataFrame
        One row per model: the sum of its ranks; lower is better. Pass it to
        :func:`wefe.ranking.create_ranking` with bias scores. Scores that differ only by rounding
        share their average rank. A model without a score on some benchmark is NaN and does not
        count in the ranks of the others.

    Examples
    --------
    >>> scores = pd.DataFrame({"model_name": ["a", "b"], "benchmark": "x", "score": [0.7, 0.6]})
    >>> quality_ranking(scores)["score"].tolist()
    [1.0, 2.0]
    """
    missing = [name for name in ("model_name", "benchmark", "score") if name not in scores]
    if missing:
        raise ValueError(f"scores must be the table of quality_scores; it has no column {missing}.")
    matrix = matrix_of(scores, "benchmark").apply(pd.to_numeric)
    complete = matrix.dropna()
    for model, row in matrix.drop(complete.index).iterrows():
        logger.warning(
            "%s has no quality rank because it has no score in %s",
            model,
            ", ".join(map(str, row.index[row.isna()])),
        )
    ordered = complete.apply(without_noise, best="higher")
    sums = ordered.rank(method="average").sum(axis=1)
    return score_column(sums.reindex(matrix.index), name, best="lower")
