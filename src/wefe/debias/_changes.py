"""Measure what a mitigation changes: bias, vectors, neighbours and quality."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
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
from wefe.metrics._base import BaseMetric
from wefe.metrics._geometry import average_ranks
from wefe.metrics._jackknife import Numbers, deletion_groups
from wefe.metrics._recovery import correlation
from wefe.models._passes import Rows
from wefe.models._search import directions, nearest_neighbors
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.quality import Benchmark, load_benchmark
from wefe.quality._analogies import answer_analogies
from wefe.quality._evaluate import pair_cosines
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
    rows = []
    for number, model in enumerate(mitigated, 1):
        note = f"vectors of {before.dim} and of {model.dim} dims cannot be compared"
        moved = np.full((len(_MOVED), len(common)), np.nan)
        if model.dim == before.dim:
            note = "no standard error: all words were looked at"
            for part in common.blocks(len(common)):
                moved[:, part] = _moved(common.vectors(0, part), common.vectors(number, part))
        for measure, values in zip(_MOVED, moved, strict=True):
            known = values[~np.isnan(values)]
            n, mean = len(known), float(known.mean()) if len(known) else math.nan
            said = note + f"; {len(common) - n} without a direction left out" * (
                0 < n < len(common)
            )
            row = Row("cost", measure, "all words", model.name, 0.0, mean, n=n, note=said)
            rows.append(row._replace(best_value=0.0))
    return sorted(rows, key=lambda row: _MOVED.index(row.measure))


def _moved(before: npt.NDArray[Any], after: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return each measure (rows) of each word; NaN where one has no direction."""
    changed = ~((before == after) | (np.isnan(before) & np.isnan(after))).all(axis=1)
    (old, directed), (new, still) = directions(before), directions(after)
    finite = directed & np.isfinite(after).all(axis=1)
    # What did not change adds nothing, not even rounding.
    cosines = np.where(changed, np.clip(np.einsum("ij,ij->i", old, new), -1, 1), 1)
    wide = before.astype(np.float64)
    with np.errstate(all="ignore"):
        moved = np.linalg.norm(after - wide, axis=1) / np.linalg.norm(wide, axis=1)
    return np.stack(
        [
            changed,
            np.where(directed & still, 1 - cosines, np.nan),
            np.where(finite, moved, np.nan),
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
    label = _SHIPPED.get(str(source))
    try:
        benchmark = load_benchmark(source, name=label)
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
        measure, answer, least = _KINDS[benchmark.kind]
        answerable = np.flatnonzero(benchmark._answerable(set(words), prefix))
        n_lost = benchmark.n_items - len(answerable)
        notes = [f"{n_lost} of {benchmark.n_items} questions left out because a model lacks a word"]
        notes *= bool(n_lost)
        if n_sample is not None and benchmark.kind == "analogy" and n_sample < len(answerable):
            notes.append(f"a sample of {n_sample} of them was asked")
            answerable = np.sort(rng.choice(answerable, n_sample, replace=False))
        scores: Any = [math.nan] * len(common.models), None
        if len(answerable) < least:
            notes.append(f"at least {least} are needed")
        else:
            scores = answer(models, benchmark._part(answerable.tolist()))
        start = ("cost", measure, label, common.models)
        rows += rows_of(*start, *scores, n=len(answerable), note="; ".join(notes))
    return rows


def _similarity(models: Sequence[WordEmbeddingModel], benchmark: Benchmark) -> Any:
    """Return Spearman's correlation of cosines with human judgements, with errors."""
    human = np.array(benchmark.scores)

    def spearman(column: Numbers, kept: Rows) -> float:
        return correlation(average_ranks(human[kept]), average_ranks(column[kept]))

    return paired_scores([pair_cosines(each, benchmark)[0] for each in models], spearman)


def _analogies(models: Sequence[WordEmbeddingModel], benchmark: Benchmark) -> Any:
    """Return the share of analogies solved, with errors."""
    answers = (answer_analogies(each, benchmark, True, len(each), False) for each in models)
    return paired_scores([answer.right.astype(float) for answer in answers])


# Kind of benchmark -> what is measured, how, and the fewest questions.
_KINDS = {
    "similarity": ("word similarity", _similarity, 3),
    "analogy": ("analogy accuracy", _analogies, 1),
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
            undefined = ("bias", label, query.query_name, models)
            rows += undefined_rows(*undefined, note=why, best_value=best)
    asked = list(parts.values())
    if not asked:
        return rows
    answers = run_all([(metric, asked)], models, options, n_jobs, progress)[0]
    left = _left_out(metric, asked, models, answers, options, n_jobs)
    subjects = unique_labels([query.query_name for query in asked], "queries")
    for position, subject in enumerate(subjects):
        old, *new = (
            (own[position], scores[position]) for own, scores in zip(answers, left, strict=True)
        )
        rows += [
            _bias_row(label, subject, best, model.name, *old, *after)
            for model, after in zip(models[1:], new, strict=True)
        ]
    return rows


def _bias_row(
    label: str,
    subject: str,
    best: float,
    name: str,
    old: Answer,
    left_of_old: list[Numbers] | str,
    new: Answer,
    left_of_new: list[Numbers] | str,
) -> Row:
    undefined = [
        f"{when}: {answer.nan_reason}"
        for when, answer in (("before", old), ("after", new))
        if answer.nan_reason
    ]
    lost = f"words left out because a model lacks them: {old.words_lost}"
    error, why = _errors(left_of_old, left_of_new)
    notes = [*undefined, lost if old.words_lost and not undefined else "", why]
    row = Row("bias", label, subject, name, old.score, new.score, *error)
    note = "; ".join(filter(None, notes))
    return row._replace(n=old.words_used or 0, best_value=best, note=note)


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

    def asked(model: WordEmbeddingModel, query: Query, answer: Answer) -> Evaluation | str:
        if math.isnan(answer.score):
            return ""
        how: dict[str, Any] = {"subset_defaults": False, "value": answer.score}
        try:
            return Evaluation(metric, query, model, options, **how).for_jobs(n_jobs)
        except ValueError as error:  # a run_query of its own may answer what others cannot
            return f"no standard error: {error}"

    each = [
        (asked(model, query, answer),)
        for model, row in zip(models, answers, strict=True)
        for query, answer in zip(queries, row, strict=True)
    ]
    done = list(call_all(_without_groups, each, n_jobs))
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
