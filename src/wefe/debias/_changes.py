"""Measure what a mitigation changes: bias, vectors, neighbours and quality."""

from __future__ import annotations

import dataclasses
import logging
import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from wefe._answers import Answer, no_subquery, run_all
from wefe._checks import check_choice, check_sequence
from wefe._evaluation import Evaluation, call_all
from wefe._visible import unique_labels
from wefe._wordset import Ones, Weights
from wefe.debias._residual import (
    CommonWords,
    Errors,
    Row,
    paired_errors,
    paired_scores,
    rows_of,
    undefined_rows,
)
from wefe.embeddings import embed_tuples
from wefe.metrics._base import BaseMetric
from wefe.metrics._geometry import average_ranks
from wefe.metrics._jackknife import Numbers, deletion_groups
from wefe.metrics._recovery import correlation
from wefe.models._passes import Rows
from wefe.models._search import directions, nearest_neighbors
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.quality import Benchmark, load_benchmark
from wefe.quality._analogies import answer_analogies
from wefe.quality._benchmark import forms_of
from wefe.query import Query

logger = logging.getLogger(__name__)

# Neighbours of which the share that is kept is measured.
_N_NEIGHBORS = 10
# The last two: 1 - cosine of the vectors before and after, and |after - before| / |before|.
_MOVED = ("share of vectors changed", "mean cosine displacement", "mean vector displacement")
_KEPT = "neighbourhood overlap"
# Benchmarks that come with gensim, and their labels.
_SHIPPED = {
    "wordsim353": "WordSim-353",
    "simlex999": "SimLex-999",
    "google-analogies": "Google analogies",
}


def displacement_rows(common: CommonWords) -> list[Row]:
    """Measure how far all vectors moved, block by block."""
    before, *mitigated = common.models
    blocks = common.blocks(len(common))
    rows = []
    for number, model in enumerate(mitigated, 1):
        note = f"vectors of {before.dim} and of {model.dim} dims cannot be compared"
        sums = np.zeros((len(_MOVED), 2))
        if model.dim == before.dim:
            note = "no standard error: all words were looked at"
            for part in blocks:
                sums += _moved(common.vectors(0, part), common.vectors(number, part))
        for measure, (total, n) in zip(_MOVED, sums.tolist(), strict=True):
            left_out = f"; {len(common) - n:.0f} without a direction left out"
            row = Row("cost", measure, "all words", model.name, 0.0, total / n if n else math.nan)
            said = note + left_out * (0 < n < len(common))
            rows.append(row._replace(n=int(n), best_value=0.0, note=said))
    return sorted(rows, key=lambda row: _MOVED.index(row.measure))


def _moved(before: npt.NDArray[Any], after: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the sum and the number of words of each measure."""
    same = (before == after) | (np.isnan(before) & np.isnan(after))
    changed = ~same.all(axis=1)
    old, new = directions(before)[1], directions(after)[1]
    finite = old & np.isfinite(after).all(axis=1)
    # What did not change adds nothing, not even rounding.
    b, a = (part[changed & finite].astype(np.float64) for part in (before, after))
    relative = np.linalg.norm(a - b, axis=1) / np.linalg.norm(b, axis=1)
    directed = new[changed & finite]
    cosines = np.einsum("ij,ij->i", *(directions(each[directed])[0] for each in (b, a)))
    return np.array(
        [
            (changed.sum(), len(changed)),
            ((1 - np.clip(cosines, -1, 1)).sum(), (old & new).sum()),
            (relative.sum(), finite.sum()),
        ]
    )


def neighbor_rows(common: CommonWords, n_sample: int, rng: np.random.Generator) -> list[Row]:
    """Measure the share of nearest neighbours that a sample of the first words keeps."""
    candidates = common.frequent
    size = min(n_sample, len(candidates))
    subject = f"{size} of the first {len(candidates)} words"
    k = min(_N_NEIGHBORS, len(candidates) - 1)
    if k < 1:
        note = "fewer than two words have a direction in every model"
        return undefined_rows("cost", _KEPT, subject, common.models, best_value=1.0, note=note)
    sample = np.sort(rng.choice(len(candidates), size, replace=False))
    near = [
        nearest_neighbors(vectors, vectors[sample], k, exclude=sample)[0]
        for vectors in (common.vectors(number, candidates) for number in range(len(common.models)))
    ]
    kept = [(near[0][:, :, None] == now[:, None]).any(axis=2).mean(axis=1) for now in near]
    note = "" if k == _N_NEIGHBORS else f"{k} neighbours, because there are few words"
    return rows_of(
        *("cost", _KEPT, subject, common.models, *paired_scores(kept)),
        n=size,
        best_value=1.0,
        note=note,
    )


def check_quality(quality: object) -> list[tuple[str, Benchmark | str]]:
    """Return labels with their benchmarks, or with the reason why gensim's is unavailable."""
    if quality is None:
        return []
    if isinstance(quality, str):
        check_choice("quality", quality, ("auto",))
        quality = list(_SHIPPED)
    return [_benchmark(each) for each in check_sequence("quality", quality)]


def _benchmark(source: Any) -> tuple[str, Benchmark | str]:
    name = "google-analogies" if source == "analogies" else source
    label = _SHIPPED.get(str(name))
    try:
        benchmark = load_benchmark(name, name=label)
    except (ImportError, FileNotFoundError) as error:
        if label is None:
            raise
        return label, str(error)
    check_choice(f"quality: the kind of {benchmark.name}", benchmark.kind, tuple(_KINDS))
    return benchmark.name, benchmark


def quality_rows(
    common: CommonWords,
    benchmarks: Sequence[tuple[str, Benchmark | str]],
    n_sample: int | None,
    rng: np.random.Generator,
) -> list[Row]:
    """Run the same benchmarks on frequent words for all models; `n_sample` limits analogies."""
    prefix = common.models[0].vocab_prefix
    words = [common.words[i] for i in common.frequent]
    models = [
        WordEmbeddingModel.from_arrays(words, common.vectors(i, common.frequent), each.name, prefix)
        for i, each in enumerate(common.models if words and benchmarks else ())
    ]
    rows = []
    for label, benchmark in benchmarks:
        if isinstance(benchmark, str):
            measure = "analogy accuracy" if "analog" in label else "word similarity"
            rows += undefined_rows("cost", measure, label, common.models, note=benchmark)
            continue
        measure, answer, n_words, least = _KINDS[benchmark.kind]
        known = {
            word
            for word in benchmark.words
            if any(form in models[0].vocab for form in forms_of(word, True, prefix))
        }
        asked = [i for i, item in enumerate(benchmark.items) if known.issuperset(item[:n_words])]
        lost = benchmark.n_items - len(asked)
        notes = [f"{lost} of {benchmark.n_items} questions left out because a model lacks a word"]
        notes *= bool(lost)
        if n_sample is not None and least == 1 and n_sample < len(asked):
            notes.append(f"a sample of {n_sample} of them was asked")
            asked = np.sort(rng.choice(asked, n_sample, replace=False)).tolist()
        scores: Any = [math.nan] * len(common.models), None
        if len(asked) < least:
            notes.append(f"at least {least} are needed")
        else:
            items = tuple(benchmark.items[i] for i in asked)
            human = tuple(benchmark.scores[i] for i in asked if benchmark.scores)
            scores = answer(models, dataclasses.replace(benchmark, items=items, scores=human))
        start = ("cost", measure, label, common.models)
        rows += rows_of(*start, *scores, n=len(asked), note="; ".join(notes))
    return rows


def _similarity(models: Sequence[WordEmbeddingModel], benchmark: Benchmark) -> Any:
    """Return Spearman's correlation of cosines with human judgements, with errors."""
    human = np.array(benchmark.scores)
    cosines = []
    for model in models:
        forms = [{}, {"lowercase": True}]
        pairs = embed_tuples(model, benchmark.items, "pairs", forms, normalize=True)
        vectors = (pair.vectors.take(np.array(pair.first_row), axis=0) for pair in pairs)
        cosines.append(np.array([first @ second for first, second in vectors]))

    def spearman(column: Numbers, kept: Rows) -> float:
        return correlation(average_ranks(human[kept]), average_ranks(column[kept]))

    return paired_scores(cosines, spearman)


def _analogies(models: Sequence[WordEmbeddingModel], benchmark: Benchmark) -> Any:
    """Return the share of analogies solved, with errors."""
    answers = (answer_analogies(each, benchmark, True, len(each), False) for each in models)
    return paired_scores([answer.right.astype(float) for answer in answers])


# Kind of benchmark -> what is measured, how, words of a question, and the fewest questions.
_KINDS = {
    "similarity": ("word similarity", _similarity, 2, 3),
    "analogy": ("analogy accuracy", _analogies, 4, 1),
}


def bias_rows(
    metric: BaseMetric,
    queries: Sequence[Query],
    models: list[WordEmbeddingModel],
    options: Mapping[str, Any],
    n_jobs: int | None,
    progress: bool,
    label: str | None = None,
) -> list[Row]:
    """Score every query (or its subqueries) with all words, and with some left out.

    `models` are the original and the mitigated ones, as `on_same_words` returns them; `label` names
    the measure, by default as the metric does.
    """
    if metric.takes_original:
        # What is left of the former bias, not what is called one afterwards.
        options = {"original": models[0], **options}
    scale = metric.scale(None, **scale_params(options))
    label, best = label or scale.label, scale.no_bias_value
    rows: list[Row] = []
    parts: dict[object, Query] = {}
    for query in queries:
        fitting = metric.subqueries(query)
        parts = {**{part.content: part for part in fitting}, **parts}
        if not fitting:
            why = no_subquery(metric)
            logger.warning("%r: %s", query.query_name, why)
            rows += undefined_rows(
                "bias", label, query.query_name, models, note=why, best_value=best
            )
    asked = list(parts.values())
    if not asked:
        return rows
    answers = run_all([(metric, asked)], models, options, n_jobs, progress)[0]
    left = _left_out(metric, asked, models, answers, options, n_jobs)
    subjects = unique_labels([query.query_name for query in asked], "queries")
    for position, subject in enumerate(subjects):
        old, scores = answers[0][position], left[0][position]
        for model, of_model, left_of_model in zip(models[1:], answers[1:], left[1:], strict=True):
            new = of_model[position]
            error, why = _errors(scores, left_of_model[position])
            lost = old.words_lost and not (old.nan_reason or new.nan_reason)
            notes = [
                f"before: {old.nan_reason}" if old.nan_reason else "",
                f"after: {new.nan_reason}" if new.nan_reason else "",
                f"words left out because a model lacks them: {old.words_lost}" if lost else "",
                why,
            ]
            rows.append(
                Row(
                    *("bias", label, subject, model.name, old.score, new.score, *error),
                    *(old.words_used or 0, best, "; ".join(filter(None, notes))),
                )
            )
    return rows


def _errors(before: list[Numbers] | str, after: list[Numbers] | str) -> tuple[Errors, str]:
    if isinstance(before, str) or isinstance(after, str):
        return Errors(), str(before if isinstance(before, str) else after)
    undefined = np.isnan(np.concatenate([*before, *after])).any()
    why = "no standard error: without some words, the score is undefined" if undefined else ""
    return paired_errors(before, after), why


def _left_out(
    metric: BaseMetric,
    queries: Sequence[Query],
    models: Sequence[WordEmbeddingModel],
    answers: Sequence[Sequence[Answer]],
    options: Mapping[str, Any],
    n_jobs: int | None,
) -> list[list[list[Numbers] | str]]:
    """Return the result of `_without_groups` per model and query."""
    asked: list[tuple[Evaluation | str]] = []
    for (model, row), (place, query) in product(
        zip(models, answers, strict=True), enumerate(queries)
    ):
        value, evaluation = row[place].score, None
        try:
            if not math.isnan(value):
                evaluation = Evaluation(
                    metric, query, model, options, subset_defaults=False, value=value
                )
            asked.append((evaluation.for_jobs(n_jobs) if evaluation else "",))
        except ValueError as error:  # a run_query of its own may answer what others cannot
            asked.append((f"no standard error: {error}",))
    done = list(call_all(_without_groups, asked, n_jobs))
    return [done[start : start + len(queries)] for start in range(0, len(done), len(queries))]


def _without_groups(evaluation: Evaluation | str) -> list[Numbers] | str:
    """Return, for each set, the scores without each group of its words, or the reason why not."""
    if isinstance(evaluation, str):
        return evaluation
    scores = []
    for stratum in evaluation.strata:
        n_words = len(evaluation.sets[stratum[0]])
        if n_words < 2:
            names = " and ".join(repr(evaluation.sets[i].name) for i in stratum)
            return f"no standard error: too few words of {names} to leave one out"
        words = np.arange(n_words)
        kept = Weights([~np.isin(words, group) for group in deletion_groups(n_words)])
        weights = [Ones(len(part)) for part in evaluation.sets]
        scores.append(
            evaluation.scores([kept if i in stratum else own for i, own in enumerate(weights)])
        )
    return scores


def scale_params(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that may change the scale of a metric."""
    others = ("lost_vocabulary_threshold", "warn_not_found_words")
    return {key: value for key, value in options.items() if key not in others}
