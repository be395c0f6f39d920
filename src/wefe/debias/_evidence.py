"""Rows of the table of evidence: bias, cost, and the tests of Gonen and Goldberg (2019)."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from wefe._answers import Answer, run_all
from wefe._checks import check_choice, check_sequence, logger
from wefe._evaluation import Evaluation
from wefe._visible import unique_labels
from wefe._wordset import Vectors, Weights
from wefe.datasets import Criterion
from wefe.metrics._base import BaseMetric
from wefe.metrics._geometry import association, average_ranks
from wefe.metrics._permutation import deletion_groups, jackknife_error
from wefe.metrics._recovery import classified, clustered, correlation, members, neighbor_shares
from wefe.models._passes import Rows, forms, plain_rows
from wefe.models._search import directions, nearest_neighbors
from wefe.models._tables import chunks
from wefe.models._types import FloatArray
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.quality import Benchmark, load_benchmark
from wefe.quality._evaluate import answer_analogies, pair_cosines
from wefe.query import Query, unique_queries

if TYPE_CHECKING:
    import pandas as pd

#: Frequent words: Gonen and Goldberg (2019) look at that many from the start of a vocabulary.
FREQUENT = 50_000
# Numbers of a block: some MB in float64.
_BLOCK_NUMBERS = 1 << 20

COLUMNS = (
    *("aspect", "measure", "subject", "model", "before", "after", "change"),
    *("before_se", "after_se", "change_se", "better", "best_value", "n", "note"),
)
_UNEXPLAINED = "no standard error: too few words, or too many ties without one of them"
#: A row of the table: column -> value. Unknown numbers may be missing.
Row: TypeAlias = dict[str, Any]


def as_table(rows: Sequence[Row]) -> pd.DataFrame:
    """Return the table of evidence; `change`, `better` and some notes follow from the rows."""
    import pandas as pd

    table = pd.DataFrame(rows, columns=COLUMNS).fillna({"n": 0, "note": ""})
    best, note = table["best_value"], table["note"]
    table["change"] = table["after"] - table["before"]
    nearer = best.map("nearer to {:.3g}".format).mask(best.isna(), "")
    towards = best.map({0.0: "lower"}).fillna("higher")
    table["better"] = nearer.mask(table["aspect"] == "cost", towards)
    unexplained = table["change"].notna() & table["change_se"].isna()
    unexplained &= ~note.str.contains("no standard error")
    table["note"] = note.mask(unexplained, (note + f"; {_UNEXPLAINED}").str.removeprefix("; "))
    return table.astype({"n": int})


def paired_errors(before: Sequence[npt.ArrayLike], after: Sequence[npt.ArrayLike]) -> Row:
    """Return standard errors from scores with the same groups left out; the change is paired."""
    changes = [np.subtract(b, a) for b, a in zip(before, after, strict=True)]
    scores = {"before_se": before, "after_se": after, "change_se": changes}
    return {name: jackknife_error(each) for name, each in scores.items()}


def paired_scores(
    columns: Sequence[Vectors], score: Callable[[Vectors, Rows], float] | None = None
) -> list[Row]:
    """Return the scores (by default means) and errors of each mitigated model and the original.

    `columns` hold one number per word for each model, the original one first.
    """
    table = np.stack(columns)
    n_models, n = table.shape
    if score is None:
        scores = table.mean(axis=1).tolist()
        left = (table.sum(axis=1, keepdims=True) - table) / max(n - 1, 1)
    else:
        every = np.arange(n)
        kept = [every, *(np.setdiff1d(every, group) for group in deletion_groups(n))]
        scores, *without = [[score(column, rows) for column in table] for rows in kept]
        left = np.array(without).reshape(-1, n_models).T
    return [
        {"before": scores[0], "after": after, **paired_errors([left[0]], [each])}
        for after, each in zip(scores[1:], left[1:], strict=True)
    ]


def rows_of(models: Sequence[WordEmbeddingModel], scores: Sequence[Row], **facts: Any) -> list[Row]:
    """Return a row of facts for each mitigated model, without numbers if no scores are given."""
    pairs = zip(models[1:], scores or [{}] * len(models[1:]), strict=True)
    return [{**facts, "model": model.name, **own} for model, own in pairs]


class CommonWords:
    """The words that several models share, numbered from 0 in the order of the first model."""

    def __init__(self, models: Sequence[WordEmbeddingModel]) -> None:
        self.models = list(models)
        first, *others = (model.vocab for model in models)
        # A mapping may list its words in another order than that of the rows.
        words = sorted(first, key=first.__getitem__)
        self.words = [word for word in words if all(word in vocab for vocab in others)]
        if not self.words:
            raise ValueError(
                f"{', '.join(model.name for model in models)} share no word; compare models that "
                "have the same words, written alike."
            )
        self._rows = np.array([[model.vocab[word] for word in self.words] for model in models])
        for model in models:
            if n_lost := len(model.vocab) - len(self.words):
                logger.warning("left out: %d words of %s that others lack", n_lost, model.name)

    def __len__(self) -> int:
        return len(self.words)

    def find(self, forms: Iterable[str]) -> Rows:
        """Return the numbers of words, written as in the first model; -1 if not shared."""
        vocab, shared = self.models[0].vocab, self._rows[0]
        rows = np.array([vocab.get(form, -1) for form in forms], dtype=np.intp)
        # Rows of the first model rise with the numbers.
        return np.where(np.isin(rows, shared), np.searchsorted(shared, rows), -1)

    def vectors(self, model: int, numbers: Rows | slice) -> FloatArray:
        """Return read-only vectors of one model, float32 or float64, perhaps a view."""
        table, rows = self.models[model].table, self._rows[model][numbers]
        in_a_row = len(rows) > 0 and bool((np.diff(rows) == 1).all())
        vectors = table.rows(slice(rows[0], rows[-1] + 1) if in_a_row else rows)
        return vectors.astype(np.promote_types(vectors.dtype, np.float32), copy=False)

    def blocks(self, n_words: int) -> list[slice]:
        """Return slices that cover range(n_words), each of some MB of vectors."""
        dim = max(model.dim for model in self.models)
        return list(chunks(n_words, max(1, _BLOCK_NUMBERS // dim)))

    def usable(self, numbers: Rows) -> Rows:
        """Return those numbers whose vectors have a direction in every model."""
        good = np.ones(len(numbers), dtype=bool)
        for part in self.blocks(len(numbers)):
            for model in range(len(self.models)):
                good[part] &= directions(self.vectors(model, numbers[part]))[1]
        return numbers[good]

    @functools.cached_property
    def frequent(self) -> Rows:
        return self.usable(np.arange(min(FREQUENT, len(self))))


# Neighbours of which the share that is kept is measured.
_N_NEIGHBORS = 10
# The last two: 1 - cosine of the vectors before and after, and |after - before| / |before|.
_MOVED = ("share of vectors changed", "mean cosine displacement", "mean vector displacement")
_KEPT = "neighbourhood overlap"
# Benchmarks that come with gensim.
_SHIPPED = ("wordsim353", "simlex999", "google-analogies")


def displacement_rows(common: CommonWords) -> list[Row]:
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
            lost = f"; {len(common) - n} without a direction left out" * (0 < n < len(common))
            facts = {"aspect": "cost", "measure": measure, "subject": "all words"}
            row = {"before": 0.0, "after": mean, "n": n, "best_value": 0.0, "note": note + lost}
            rows += rows_of([before, model], [row], **facts)
    return sorted(rows, key=lambda row: _MOVED.index(row["measure"]))


def _moved(before: npt.NDArray[Any], after: npt.NDArray[Any]) -> Vectors:
    """Return each measure (rows) of each word; NaN where one has no direction."""
    changed = ~((before == after) | (np.isnan(before) & np.isnan(after))).all(axis=1)
    (old, directed), (new, still) = directions(before), directions(after)
    # What did not change adds nothing, not even rounding.
    cosines = np.where(changed, np.clip(np.einsum("ij,ij->i", old, new), -1, 1), 1)
    cosines[~(directed & still)] = np.nan
    wide = before.astype(np.float64)
    with np.errstate(all="ignore"):
        moved = np.linalg.norm(after - wide, axis=1) / np.linalg.norm(wide, axis=1)
    moved[~(directed & np.isfinite(after).all(axis=1))] = np.nan
    return np.stack([changed, 1 - cosines, moved])


def neighbor_rows(common: CommonWords, n_sample: int, rng: np.random.Generator) -> list[Row]:
    candidates = common.frequent
    size = min(n_sample, len(candidates))
    subject = f"{size} of the first {len(candidates)} words"
    k = min(_N_NEIGHBORS, len(candidates) - 1)
    sample = np.sort(rng.choice(len(candidates), size, replace=False))
    tables = (common.vectors(number, candidates) for number in range(len(common.models)))
    near = [nearest_neighbors(table, table[sample], k, exclude=sample)[0] for table in tables]
    kept = [(near[0][:, :, None] == now[:, None]).any(axis=2).mean(axis=1) for now in near]
    note = "" if k == _N_NEIGHBORS else f"{k} neighbours, because there are few words"
    facts = {"measure": _KEPT, "subject": subject, "n": size, "best_value": 1.0, "note": note}
    return rows_of(common.models, paired_scores(kept), aspect="cost", **facts)


def check_quality(quality: object) -> list[Benchmark]:
    """Return the benchmarks; those of gensim are left out and logged if it is not installed."""
    if isinstance(quality, str):
        check_choice("quality", quality, ("auto",))
        quality = _SHIPPED
    benchmarks = []
    for source in () if quality is None else check_sequence("quality", quality):
        try:
            benchmarks.append(load_benchmark(source))
        except ImportError as error:
            logger.warning("a benchmark is left out: %s", error)
    for each in benchmarks:
        check_choice(f"quality: the kind of {each.name}", each.kind, tuple(_KINDS))
    return benchmarks


def quality_rows(
    common: CommonWords,
    benchmarks: Sequence[Benchmark],
    n_sample: int | None,
    rng: np.random.Generator,
) -> list[Row]:
    """Run the same benchmarks on frequent words for all models; `n_sample` limits analogies."""
    prefix = common.models[0].vocab_prefix
    words = [common.words[i] for i in common.frequent]
    models = [
        WordEmbeddingModel((words, common.vectors(i, common.frequent)), each.name, prefix)
        for i, each in enumerate(common.models if words and benchmarks else ())
    ]
    rows = []
    for benchmark in benchmarks:
        measure, answer, least = _KINDS[benchmark.kind]
        answerable = np.flatnonzero(benchmark._answerable(set(words), prefix))
        notes = []
        if n_lost := benchmark.n_items - len(answerable):
            lost = f"{n_lost} of {benchmark.n_items} questions"
            notes.append(f"{lost} left out because a model lacks a word")
        if n_sample is not None and benchmark.kind == "analogy" and n_sample < len(answerable):
            notes.append(f"a sample of {n_sample} of them was asked")
            answerable = np.sort(rng.choice(answerable, n_sample, replace=False))
        enough = len(answerable) >= least
        scores = answer(models, benchmark._part(answerable.tolist())) if enough else []
        if not enough:
            notes.append(f"at least {least} are needed")
        facts = {"measure": measure, "subject": benchmark.name, "n": len(answerable)}
        rows += rows_of(common.models, scores, aspect="cost", note="; ".join(notes), **facts)
    return rows


def _similarity(models: Sequence[WordEmbeddingModel], benchmark: Benchmark) -> list[Row]:
    human = np.array(benchmark.scores)

    def spearman(column: Vectors, kept: Rows) -> float:
        return correlation(average_ranks(human[kept]), average_ranks(column[kept]))

    return paired_scores([pair_cosines(each, benchmark)[0] for each in models], spearman)


def _analogies(models: Sequence[WordEmbeddingModel], benchmark: Benchmark) -> list[Row]:
    answers = (answer_analogies(each, benchmark, False, len(each)) for each in models)
    return paired_scores([right.astype(float) for _, right, *_ in answers])


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
    progress: bool,
    label: str,
) -> list[Row]:
    """Score every query (or its subqueries) with all words, and with some left out."""
    if metric.takes_original:
        # What is left of the former bias, not what is called one afterwards.
        options = {"original": models[0], **options}
    best = metric.scale(None, **options).no_bias_value
    # A query without a subquery has no score, with the reason.
    parts = [part for query in queries for part in metric.subqueries(query) or [query]]
    asked = unique_queries(parts)
    runs = [(metric, query) for query in asked]
    answers = run_all(runs, models, options, None, progress, _without_groups)
    subjects = unique_labels([query.query_name for query in asked], "queries")
    rows = []
    for subject, (old, *new) in zip(subjects, answers, strict=True):
        numbers = [_compared(old, after) for after in new]
        facts = {"subject": subject, "n": old.get("words_used", 0), "best_value": best}
        rows += rows_of(models, numbers, aspect="bias", measure=label, **facts)
    return rows


def _compared(before: Answer, after: Answer) -> Row:
    both = {"before": before, "after": after}
    notes = [f"{when}: {own['nan_reason']}" for when, own in both.items() if "nan_reason" in own]
    if before.get("words_lost") and not notes:
        notes.append(f"words left out because a model lacks them: {before['words_lost']}")
    if why := before.get("interval_nan_reason") or after.get("interval_nan_reason"):
        notes.append(f"no standard error: {why}")
    row = {"before": before["score"], "after": after["score"], "note": "; ".join(notes)}
    if "left_out" in before and "left_out" in after:
        row |= paired_errors(before["left_out"], after["left_out"])
    return row


def _without_groups(evaluation: Evaluation) -> dict[str, Any]:
    """Score a query without each group of words of each set, or say why not."""
    scores = []
    for stratum, n_words in evaluation.strata.items():
        if n_words < 2:
            names = " and ".join(repr(evaluation.sets[i].name) for i in stratum)
            return {"interval_nan_reason": f"too few words of {names} to leave one out"}
        words = np.arange(n_words)
        kept = Weights([~np.isin(words, group) for group in deletion_groups(n_words)])
        scores.append(evaluation.scores(dict.fromkeys(stratum, kept)))
    return {"left_out": scores}


CLUSTERS = "cluster alignment"
CLASSIFICATION = "classification accuracy"
LINEAR = "linear classification accuracy"
NEIGHBORS = "neighbour correlation"
PROJECTIONS = "projection correlation"
_CORRELATED = (NEIGHBORS, PROJECTIONS)
# Measure -> its value by chance.
_CHANCE = {CLUSTERS: 0.5, CLASSIFICATION: 0.5, LINEAR: 0.5} | dict.fromkeys(_CORRELATED, 0.0)
_CONSTANT = "no correlation, because one number is the same for all words, except for rounding"

# Of the words chosen, the share that the classifier learns from.
_TRAIN_SHARE = 0.2
# Neighbours of which the share of a class is measured.
_N_LOOKED_AT = 100
# A classifier learns from one word per side, and is tested on another.
_FEWEST_WORDS = 2


def residual_rows(
    common: CommonWords, criterion: Criterion, n_words: int, random_state: int
) -> list[Row]:
    subjects = [f"{criterion.name}: {name} or not" for name in criterion.class_names]
    subjects = subjects if len(subjects) > 2 else [criterion.name]
    notes: list[str] = []
    rows: list[Row] = []
    specific = {*criterion.specific_words, *criterion.representatives}
    vocabulary = plain_words(common, specific, notes)
    per_side = min(n_words, len(vocabulary) // 4)
    stand_for = _numbers(common, criterion.representatives)
    lost = [*itertools.compress(criterion.representatives, stand_for < 0)]
    if lost or per_side < _FEWEST_WORDS:
        nothing = f"no vector with a direction for {', '.join(lost)}, which represent a class"
        note = nothing if lost else f"only {len(vocabulary)} words are left to choose from"
        for subject, measure in itertools.product(subjects, _CHANCE):
            facts = {"measure": measure, "subject": subject, "note": note}
            rows += rows_of(common.models, (), aspect="residual", **facts)
        return rows
    if per_side < n_words:
        notes.append(f"{per_side} words per side, a quarter of the {len(vocabulary)} there are")
    k = min(_N_LOOKED_AT, len(vocabulary) - 1)
    if k < _N_LOOKED_AT:
        notes.append(f"{k} neighbours, because there are few words")
    looked_at = np.arange(min(2 * n_words, len(vocabulary)))
    for position, subject in enumerate(subjects):
        words_of = vocabulary, stand_for[[position]], np.delete(stand_for, position)
        biases = [
            association(*(common.vectors(number, each) for each in words_of))
            for number in range(len(common.models))
        ]
        order = np.argsort(-biases[0], kind="stable")
        sides = order[:per_side], order[::-1][:per_side]
        looks = []
        for number, bias in enumerate(biases):
            vectors = common.vectors(number, vocabulary)
            near, _ = nearest_neighbors(vectors, vectors[looked_at], k, exclude=looked_at)
            look = _divided([vectors[side] for side in sides], random_state)
            look[NEIGHBORS] = neighbor_shares(near, members(biases[0]))
            look[PROJECTIONS] = without_noise(bias[looked_at], common.models[number].dtype)
            looks.append(look)
        agreement = functools.partial(_agreement, biases[0][looked_at])
        for measure, chance in _CHANCE.items():
            columns = [look[measure] for look in looks]
            n = len(columns[0])
            if measure == CLUSTERS:
                # The better of two readings counts: 1/2 + E|X - 1/2| for X of variance 1 / (4 n).
                chance += 1 / math.sqrt(2 * math.pi * n)
            numbers = paired_scores(columns, agreement if measure in _CORRELATED else None)
            for row in numbers:
                said = [_CONSTANT] * math.isnan(row["before"] + row["after"])
                row |= {"n": n, "best_value": chance, "note": "; ".join([*notes, *said])}
            facts = {"measure": measure, "subject": subject}
            rows += rows_of(common.models, numbers, aspect="residual", **facts)
    return rows


def without_noise(bias: Vectors, dtype: np.dtype[Any]) -> Vectors:
    noise = 16 * float(np.finfo(dtype).eps)
    return bias if np.abs(bias).max(initial=0) > noise else 0 * bias


def _numbers(common: CommonWords, words: Sequence[str]) -> Rows:
    """Return the numbers of words that have a direction in every model; -1 for others."""
    numbers = common.find(forms(common.models[0], words))
    return np.where(np.isin(numbers, common.usable(numbers[numbers >= 0])), numbers, -1)


def _divided(sides: Sequence[FloatArray], random_state: int) -> dict[str, Vectors]:
    # The same words in every model.
    order = np.random.default_rng(random_state).permutation(len(sides[0]))
    n_train = max(1, round(_TRAIN_SHARE * len(order)))
    train, test = ([side[part] for side in sides] for part in (order[:n_train], order[n_train:]))
    return {
        CLUSTERS: np.equal(*clustered(sides, random_state)).astype(float),
        CLASSIFICATION: np.equal(*classified(train, test)).astype(float),
        LINEAR: np.equal(*classified(train, test, kernel="linear")).astype(float),
    }


def _agreement(bias: Vectors, column: Vectors, kept: Rows) -> float:
    return correlation(column[kept], bias[kept])


def plain_words(common: CommonWords, left_out_words: set[str], notes: list[str]) -> Rows:
    """Return the numbers of frequent plain words with a direction; add remarks to `notes`."""
    model = common.models[0]
    last = model.vocab[common.words[min(FREQUENT, len(common)) - 1]]
    rows, lower = plain_rows(model, last + 1)
    if not lower:
        notes.append("words of any case, because the vocabulary has hardly any in lower case")
    unwanted = set(forms(model, left_out_words))
    numbers = common.find(form for form in model.table.words_at(rows) if form not in unwanted)
    return common.usable(numbers[numbers >= 0])
