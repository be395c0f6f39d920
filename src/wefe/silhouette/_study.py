"""Several metrics, queries and models: the two tables of Bias Silhouette Analysis."""

from __future__ import annotations

import copy
import hashlib
import json
import logging
import math
import os
import pickle
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from wefe._checks import (
    as_seed,
    check_choice,
    check_known,
    check_n_jobs,
    check_positive_int,
    check_sequence,
    found,
)
from wefe._evaluation import Evaluation
from wefe._files import atomic_file
from wefe._plain import plain
from wefe._progress import progress_bar
from wefe._same_words import on_same_words
from wefe.embeddings import UnanswerableError
from wefe.metrics._base import BaseMetric
from wefe.metrics._registry import as_metric
from wefe.models._load import words_of
from wefe.models._types import CHUNK_ROWS
from wefe.models._word_embedding_model import WordEmbeddingModel, check_model
from wefe.query import Query, check_query
from wefe.silhouette._growth import UnequalLists
from wefe.silhouette._silhouette import (
    Silhouette,
    Vary,
    accuracy_score,
    bias_silhouettes,
    check_range,
)

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

logger = logging.getLogger(__name__)

AnyMetric: TypeAlias = type[BaseMetric] | BaseMetric | str
Queries: TypeAlias = Mapping[str, Query] | Sequence[Query] | Query
Models: TypeAlias = (
    Mapping[str, WordEmbeddingModel] | Sequence[WordEmbeddingModel] | WordEmbeddingModel
)

# A metric that uses less of its range is robust for that reason alone.
_LEAST_USED = 0.1
# What the paper calls the lists that grow.
LIST_TYPES = {"targets": "Social group", "attributes": "Bias concept"}


class StudyKey(NamedTuple):
    """What one silhouette of a study is about; a plain tuple finds it as well."""

    metric: str
    bias_type: str
    vary: str
    model: str


@dataclass(frozen=True, eq=False, repr=False)
class SilhouetteStudy:
    """What :func:`silhouette_study` returns: all silhouettes, and the two tables of the paper.

    Attributes
    ----------
    silhouettes : dict
        From (metric, bias type, vary, model) to :class:`Silhouette`, such as
        ``study.silhouettes["WEAT-ES", "gender", "targets", "glove"]``.
    metrics, bias_types, vary, models : tuple of str
        What was asked, in that order. Metrics by the label of their score.
    unbiased, biased : str or None
        Names of the reference models.
    notes : tuple of str
        What has no value, and why; which lists were joined.

    Examples
    --------
    >>> from wefe.datasets import load_weat_queries
    >>> from wefe.silhouette import make_biased_embeddings, silhouette_study
    >>> query = load_weat_queries()[5]
    >>> models = {
    ...     "unbiased": make_biased_embeddings(query, 0.0, n_words=100, dim=50),
    ...     "biased": make_biased_embeddings(query, 0.5, n_words=100, dim=50),
    ... }
    >>> study = silhouette_study(
    ...     ["weat", "mac"], {"career": query}, models, vary="targets", n_runs=10
    ... )
    >>> study.to_frame()[["metric", "model", "robustness", "accuracy"]].round(2)
        metric     model  robustness  accuracy
    0  WEAT-ES  unbiased        0.73      0.81
    1  WEAT-ES    biased        0.98      0.81
    2      MAC  unbiased        0.99      0.50
    3      MAC    biased        0.99      0.50

    MAC hardly depends on the words, but does not tell the two models apart either.

    >>> study.silhouettes["WEAT-ES", "career", "targets", "biased"].value
    1.86
    """

    silhouettes: Mapping[tuple[str, str, str, str], Silhouette]
    metrics: tuple[str, ...]
    bias_types: tuple[str, ...]
    vary: tuple[Vary, ...]
    models: tuple[str, ...]
    unbiased: str | None = None
    biased: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def robustness(self) -> pd.DataFrame:
        """Robustness scores, Table 1 of the paper.

        One row per metric; columns (bias type, list type, model). Each in [0, 1]; NaN where a
        metric could not be asked.
        """
        return self._table(
            self._places_in_models(),
            lambda metric, bias_type, vary, model: (
                self.silhouettes[StudyKey(metric, bias_type, vary, model)].robustness
            ),
        )

    @property
    def accuracy(self) -> pd.DataFrame | None:
        """Accuracy scores, Table 2 of the paper; None without two reference models.

        One row per metric; columns (bias type, list type). Each in [0, 1]; 0.5: no difference.
        """
        if self.unbiased is None or self.biased is None:
            return None
        return self._table(
            self._places(),
            lambda metric, bias_type, vary: accuracy_score(*self._pair(metric, bias_type, vary)),
        )

    def best(
        self, table: Literal["robustness", "accuracy"] = "robustness", digits: int = 2
    ) -> pd.DataFrame:
        """Say where a metric is the best of its column; the paper has these scores in bold.

        Parameters
        ----------
        table : {'robustness', 'accuracy'}, default='robustness'
            Which table.
        digits : int, default=2
            Decimals that count; metrics that are equal in them are all best.

        Returns
        -------
        DataFrame of bool
            Of the shape of the table. Where a score is NaN, False. No robustness is best where the
            scores of the metric keep, in all models together, within a tenth of its range: it would
            be as high whatever the words.

        Raises
        ------
        ValueError
            If `table` is none of these, or there is no table of accuracy.
        """
        check_choice("table", table, ("robustness", "accuracy"))
        scores = self.robustness if table == "robustness" else self.accuracy
        if scores is None:
            raise ValueError("there is no table of accuracy, as no two reference models are named.")
        printed = scores.round(digits)
        if table == "robustness":
            printed = printed.mask(self._used_range() < _LEAST_USED)
        return printed.eq(printed.max())

    def _used_range(self) -> pd.DataFrame:
        """Return the share of its range that a metric uses for a list, in all models together."""

        def used(metric: str, bias_type: str, vary: str, model: str) -> float:
            low, high = self.silhouettes[metric, bias_type, vary, model].value_range
            keys = [(metric, bias_type, vary, each) for each in self.models]
            curves = [self.silhouettes[key].curves for key in keys if key in self.silhouettes]
            return float(np.ptp(np.concatenate([each.ravel() for each in curves]))) / (high - low)

        return self._table(self._places_in_models(), used)

    def to_frame(self) -> pd.DataFrame:
        """Return a tidy table: one row per silhouette.

        Returns
        -------
        DataFrame
            Columns 'metric', 'bias_type', 'list_type', 'model', 'query', 'robustness',
            'robustness_of_span', 'area', 'n_words', 'n_runs', 'score' (of the full lists),
            'no_bias_value', 'lowest', 'highest' (the range of the score), 'words_left_out' (how
            many), and 'accuracy', which is that of the two reference models and stands beside both
            of them; NaN beside others.
        """
        import pandas as pd

        accuracy = self.accuracy
        rows = []
        for (metric, bias_type, vary, model), one in self.silhouettes.items():
            shared: Any = np.nan
            if accuracy is not None and model in (self.unbiased, self.biased):
                shared = accuracy.loc[metric, (bias_type, LIST_TYPES[vary])]
            rows.append(
                {
                    "metric": metric,
                    "bias_type": bias_type,
                    "list_type": LIST_TYPES[vary],
                    "model": model,
                    "query": one.query_name,
                    "robustness": one.robustness,
                    "robustness_of_span": one.robustness_of_span,
                    "area": one.area,
                    "n_words": one.n_words,
                    "n_runs": one.n_runs,
                    "score": one.value,
                    "no_bias_value": one.no_bias_value,
                    "lowest": one.value_range[0],
                    "highest": one.value_range[1],
                    "words_left_out": len(one.words_left_out),
                    "accuracy": shared,
                }
            )
        return pd.DataFrame(rows)

    def plot(
        self,
        metric: str | None = None,
        bias_type: str | None = None,
        vary: Vary | None = None,
        *,
        full_range: bool = False,
    ) -> Figure:
        """Draw the silhouettes, see :func:`wefe.plotting.plot_silhouettes`.

        Parameters
        ----------
        metric, bias_type, vary : str, optional
            Only those of this metric (by its label), bias type or kind of list.
        full_range : bool, default=False
            Whether the vertical axes show all scores that there can be.

        Returns
        -------
        plotly.graph_objects.Figure
            The figure, not shown yet.

        Raises
        ------
        ValueError
            If the study has no such metric, bias type, kind of list or silhouette.
        """
        from wefe.plotting import plot_silhouettes

        wanted: dict[str, str | None] = {"metric": metric, "bias_type": bias_type, "vary": vary}
        known = {"metric": self.metrics, "bias_type": self.bias_types, "vary": self.vary}
        for name, value in wanted.items():
            if value is not None:
                check_choice(name, value, known[name])
        chosen = []
        for key, silhouette in self.silhouettes.items():
            facts = StudyKey(*key)._asdict()
            if all(value in (None, facts[name]) for name, value in wanted.items()):
                # A figure has little room, and the bias type says it.
                chosen.append(replace(silhouette, query_name=facts["bias_type"]))
        if not chosen:
            raise ValueError("there is no such silhouette in this study; see its notes.")
        return plot_silhouettes(
            chosen, unbiased=self.unbiased, biased=self.biased, full_range=full_range
        )

    def __repr__(self) -> str:
        n_runs = next((one.n_runs for one in self.silhouettes.values()), 0)
        several = len(self.metrics) > 1
        # Turned round: models and bias types are many, and have long names.
        parts = [f"Silhouette study, {n_runs} runs" + (" (*: best of the row)" if several else "")]
        marked, plain = ("{:.2f}*", "{:.2f} ") if several else ("{:.2f}", "{:.2f}")
        for table, title, scores in self._titled():
            cells = self._cells(table, scores, marked, plain).T
            cells.index.names = [None] * cells.index.nlevels
            cells.columns.name = None
            lines = [line.rstrip() for line in cells.to_string().splitlines()]
            parts.append("\n".join([title, *lines]))
        parts += ["\n".join(textwrap.wrap(note, 99, subsequent_indent="  ")) for note in self.notes]
        return "\n".join(parts)

    def _repr_html_(self) -> str:
        parts = []
        for table, title, scores in self._titled():
            cells = self._cells(table, scores, "<b>{:.2f}</b>", "{:.2f}")
            for names in ("index", "columns"):
                cells = cells.rename(lambda name: escape(str(name)), axis=names)
            parts.append(f"<p>{escape(title)}</p>{cells.to_html(escape=False)}")
        return "".join(parts) + "".join(f"<p>{escape(note)}</p>" for note in self.notes)

    def _titled(self) -> Iterator[tuple[Literal["robustness", "accuracy"], str, pd.DataFrame]]:
        yield "robustness", "Robustness (1: the score never depends on the words)", self.robustness
        if (accuracy := self.accuracy) is not None:
            models = f"{self.biased} as biased, {self.unbiased} as unbiased"
            yield "accuracy", f"Accuracy (0.5: no difference seen; {models})", accuracy

    def _cells(
        self,
        table: Literal["robustness", "accuracy"],
        scores: pd.DataFrame,
        marked: str,
        plain: str,
    ) -> pd.DataFrame:
        """Return scores as texts, the best of each column in another format."""
        best, values = self.best(table).to_numpy(), scores.to_numpy()
        cells = scores.astype(object)
        for row, column in np.ndindex(values.shape):
            text = marked if best[row, column] else plain
            cells.iat[row, column] = text.format(values[row, column])
        return cells

    def _places(self) -> list[tuple[str, str]]:
        return [(bias_type, vary) for bias_type in self.bias_types for vary in self.vary]

    def _places_in_models(self) -> list[tuple[str, str, str]]:
        return [(*place, model) for place in self._places() for model in self.models]

    def _pair(self, metric: str, bias_type: str, vary: str) -> list[Silhouette]:
        """Return the silhouettes of the reference models."""
        return [
            self.silhouettes[metric, bias_type, vary, str(name)]
            for name in (self.unbiased, self.biased)
        ]

    def _table(self, columns: Sequence[tuple[str, ...]], score: Any) -> pd.DataFrame:
        import pandas as pd

        values = np.full((len(self.metrics), len(columns)), np.nan)
        for row, metric in enumerate(self.metrics):
            for column, place in enumerate(columns):
                try:
                    values[row, column] = score(metric, *place)
                except KeyError:
                    continue  # it was left out, see the notes
        shown = [(bias_type, LIST_TYPES[vary], *rest) for bias_type, vary, *rest in columns]
        names = ["bias type", "list type", "model"][: len(columns[0])]
        return pd.DataFrame(
            values,
            index=pd.Index(self.metrics, name="metric"),
            columns=pd.MultiIndex.from_tuples(shown, names=names),
        )


class NothingMeasuredError(ValueError):
    """A study without any silhouette; it is kept, for its notes."""

    def __init__(self, study: SilhouetteStudy) -> None:
        super().__init__(f"nothing could be measured: {' '.join(study.notes)}")
        self.study = study


def silhouette_study(
    metrics: Sequence[AnyMetric] | AnyMetric,
    queries: Queries,
    models: Models,
    *,
    vary: Sequence[Vary] | Vary = ("targets", "attributes"),
    n_runs: int = 100,
    step: int | Mapping[Vary, int] | None = None,
    random_state: int | np.random.Generator | None = 0,
    n_jobs: int | None = None,
    unequal: UnequalLists = "exhaust",
    unbiased: str | None = None,
    biased: str | None = None,
    directory: str | os.PathLike[str] | None = None,
    metric_params: Mapping[Any, Mapping[str, Any]] | None = None,
    scales: Mapping[Any, Mapping[str, Any]] | None = None,
    progress: bool = True,
) -> SilhouetteStudy:
    """Measure how far metrics and word lists can be trusted: the study of the paper.

    Parameters
    ----------
    metrics : sequence of metric classes, instances or names
        For example ``["weat", "ect", "rnsb"]``.
    queries : mapping from bias type to Query, or sequence of Query
        The word lists: target sets are social groups, attribute sets concepts. Of a sequence,
        the names of the queries stand for the bias types.
    models : mapping from name to WordEmbeddingModel, or sequence of WordEmbeddingModel
        The models. A word of a query that one of them lacks is left out for all.
    vary : sequence of {'targets', 'attributes'}, or one of them
        Which lists grow; by default once the ones and once the others.
    n_runs : int, default=100
        Random orders per silhouette.
    step : int or mapping, optional
        Words added per step, or a mapping such as ``{"targets": 2, "attributes": 6}``, which is
        what the paper has and the default.
    random_state : int, Generator or None, default=0
        Draws the orders. Metrics and models that are asked about the same lists get the same
        words in the same order; see the notes for the exceptions.
    n_jobs : int, optional
        Workers of joblib; the result does not depend on it.
    unequal : {'exhaust', 'proportional', 'trim'}, default='exhaust'
        What becomes of lists of different lengths, see :func:`bias_silhouette`.
    unbiased, biased : str, optional
        Names of the reference models: one that is taken for free of the bias, and one that is
        taken for as biased as can be. By default models that are called just 'unbiased' and
        'biased'; without both there is no accuracy.
    directory : path, optional
        Folder where each silhouette is kept as JSON as soon as it is done; it is made if needed.
        A later call reads what it would compute again: metric and parameters, lists, vectors of
        their words, model name, runs, steps and seed are compared. Vectors of other words, and
        the code of a metric or function of your own, are not: take another folder when these
        change. With ``random_state=None`` nothing is ever read, as each call draws a seed of its
        own. Of a metric instance all attributes are compared, save those with an underscore that
        its class has as well: caches, which work fills.
    metric_params : mapping from metric to mapping, optional
        What `run_query` of a metric is called with, such as ``{"rnsb": {"holdout": True}}``.
    scales : mapping from metric to mapping, optional
        Other 'value_range' or 'no_bias_value' than the metric declares: the paper has
        ``{"rnsb": {"value_range": (0, 1)}, "ect": {"no_bias_value": 0}}``.
    progress : bool, default=True
        Whether long work shows a bar, with the time left.

    Returns
    -------
    SilhouetteStudy
        Tables of robustness and accuracy, all silhouettes, and a plot.

    Raises
    ------
    ValueError
        If names occur twice, a reference model is not among the models, a metric refuses its
        parameters, or nothing at all could be measured. All but the last before the first run.

    See Also
    --------
    wefe.silhouette.bias_silhouette : one metric, one query, one model.
    wefe.silhouette.make_biased_embeddings : reference models of which the bias is known.

    Notes
    -----
    What a model cannot answer, a score without bounds and the like is a note, and NaN in the
    tables; the rest of the study goes on.

    The same words come in at the same step for all metrics that take the same lists. Not so for a
    metric that takes one attribute set, where the attributes grow, as its joined list has an order
    of its own; nor for metrics of pairs (RIPA; Direct Bias by PCA), where the targets grow, as
    pairs come in together. Models are always compared with the same words.

    A metric that takes one attribute set, such as ECT, is asked with all attribute words of the
    query as one list; the paper does so. Where words of opposite concepts take each other's place
    in a sum, as in RND and RIPA, little is left of the score: ask these about one concept at a
    time. A query that fits a metric in no other way is left out, with a note: subqueries are other
    lists.

    References
    ----------
    Spliethöver and Wachsmuth, "Bias Silhouette Analysis: Towards Assessing the Quality of Bias
    Metrics for Word Embedding Models", IJCAI 2021, section 4.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.datasets import load_criterion, load_weat_queries
    >>> from wefe.debias import HardDebias
    >>> from wefe.silhouette import silhouette_study
    >>> model, gender = load_test_model(), load_criterion("gender", offline=True)
    >>> debiased = HardDebias().fit_transform(
    ...     model, criterion=gender, ignore=gender.specific_words
    ... )
    >>> study = silhouette_study(
    ...     ["weat", "ect"],
    ...     {"career": load_weat_queries()[5]},
    ...     {"original": model, "debiased": debiased},
    ...     vary="targets",
    ...     n_runs=10,
    ...     unbiased="debiased",
    ...     biased="original",
    ... )
    >>> study
    Silhouette study, 10 runs (*: best of the row)
    Robustness (1: the score never depends on the words)
                                 WEAT-ES    ECT
    career Social group original   0.74   0.85*
                        debiased   0.61   0.89*
    Accuracy (0.5: no difference seen; original as biased, debiased as unbiased)
                        WEAT-ES    ECT
    career Social group   0.64*  0.54
    ECT: all attribute sets of a query as one list.
    """
    checked_metrics = _check_metrics(metrics, metric_params, scales)
    asked = _check_queries(queries)
    compared = _check_models(models)
    names = [model.name for model in compared]
    lists: list[Vary] = list(
        dict.fromkeys([vary] if isinstance(vary, str) else check_sequence("vary", vary))
    )
    for each in lists:
        check_choice("vary", each, tuple(LIST_TYPES))
    if not lists:
        raise ValueError("vary is empty; it takes 'targets', 'attributes' or both.")
    references = _check_references(unbiased, biased, names)
    steps = dict.fromkeys(lists, step) if not isinstance(step, Mapping) else dict(step)
    check_known("step", steps, tuple(LIST_TYPES))
    for size in steps.values():
        if size is not None:
            check_positive_int("step", size)
    options = {
        "n_runs": check_positive_int("n_runs", n_runs),
        "random_state": as_seed(random_state),
        "unequal": check_choice("unequal", unequal, ("exhaust", "proportional", "trim")),
    }
    check_n_jobs(n_jobs)
    folder = None if directory is None else Path(directory)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)

    notes: list[str] = []
    tasks: list[_Task] = []
    done: dict[tuple[str, str, str, str], Silhouette] = {}
    with _each_message_once():
        for bias_type, query in asked.items():
            for label, metric, own in checked_metrics:
                fitting, note = _fitting(metric, label, query, bias_type)
                notes += [note] if note else []
                if fitting is None:
                    continue
                forms = own["metric_params"].get("preprocessors")
                alike = on_same_words(compared, [fitting], {"preprocessors": forms})
                for each in lists:
                    for model in alike:
                        key = StudyKey(label, bias_type, each, model.name)
                        call = {**own, **options, "vary": each, "step": steps.get(each)}
                        tasks.append(_Task(key, metric, fitting, model, call))
        for task in tasks:
            if folder is not None and (stored := _read(folder, task)) is not None:
                done[task.key] = stored
        left = [task for task in tasks if task.key not in done]
        if len(left) < len(tasks):
            logger.info("%d silhouettes read from %s", len(tasks) - len(left), folder)
        _check_params(left)
        with progress_bar(len(left), "silhouette study", "silhouette", progress) as bar:
            for task in left:
                try:
                    silhouette = task.run(n_jobs, progress)
                except ValueError as error:
                    where = f"{task.key.metric}, {task.key.bias_type}, {task.key.model}"
                    notes.append(f"nan: {where}: {error}")
                    logger.warning("%s has no silhouette: %s", where, error)
                else:
                    if folder is not None:
                        _write(folder, task, silhouette)
                    done[task.key] = silhouette
                bar.update()
    notes = list(dict.fromkeys(notes))
    study = SilhouetteStudy(
        {task.key: done[task.key] for task in tasks if task.key in done},
        tuple(label for label, _, _ in checked_metrics),
        tuple(asked),
        tuple(lists),
        tuple(names),
        *references,
        tuple(notes),
    )
    if not done:
        raise NothingMeasuredError(study)
    return study


def _check_params(tasks: Sequence[_Task]) -> None:
    """Let each metric refuse its parameters before the first one has worked for hours."""
    checked: set[tuple[str, str]] = set()
    for task in tasks:
        question = (task.key.metric, task.key.bias_type)
        if question in checked:
            continue
        params = {"lost_vocabulary_threshold": 1.0, **task.options["metric_params"]}
        try:
            Evaluation(task.metric, task.query, task.model, params)
        except UnanswerableError:
            continue  # this model is in the way, perhaps not the next one
        checked.add(question)


@dataclass
class _Task:
    """One silhouette that is wanted: all that determines it."""

    key: StudyKey
    metric: BaseMetric
    query: Query
    model: WordEmbeddingModel
    options: dict[str, Any]

    def run(self, n_jobs: int | None, progress: bool) -> Silhouette:
        return bias_silhouettes(
            self.metric, self.query, [self.model], n_jobs=n_jobs, progress=progress, **self.options
        )[0]

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Return what determines the silhouette, as plain data."""
        import joblib

        from wefe import __version__

        kind = type(self.metric)
        # A cache has a default in the class, and is filled as the metric works.
        state = {
            name: value
            for name, value in vars(self.metric).items()
            if not (name.startswith("_") and hasattr(kind, name))
        }
        content = {key: value for key, value in self.options.items() if key != "metric_params"}
        params = self.options["metric_params"]
        try:
            # Parameters may be arrays or functions.
            hashed = joblib.hash((params, state))
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise ValueError(
                f"the parameters of {self.key.metric} cannot be told from others ({error.args[0]}),"
                " so with a directory a later call could not know its silhouettes. Give a function "
                "that is defined by 'def' in a module, not a lambda or one within another "
                "function; or no directory."
            ) from error
        identity = {
            "wefe": __version__,
            "metric": f"{kind.__module__}.{kind.__qualname__}",
            "metric_params": hashed,
            "query": self.query.dict(),
            "model": self.model.name,
            "vectors": _fingerprint(
                self.model,
                self.query,
                params.get("preprocessors"),
                whole=self.metric.needs_vocabulary,
            ),
            **content,
        }
        # As it is after a way through a file: JSON has no tuples.
        return dict(json.loads(json.dumps(identity)))


def _fingerprint(
    model: WordEmbeddingModel, query: Query, preprocessors: Any, *, whole: bool = False
) -> str:
    """Return a hash of the vectors of all words that the query may look up, or of all there are."""
    asked = words_of([query], model.vocab_prefix, preprocessors)
    words = sorted(word for word in asked if word in model)
    vectors = np.ascontiguousarray(model.get_vectors(words))
    content = hashlib.sha256("\n".join([str(vectors.dtype), *words]).encode())
    content.update(vectors.tobytes())
    if whole and model.held != "selected":
        every = list(model.vocab)
        content.update("\n".join(every).encode("utf-8", "surrogatepass"))
        for start in range(0, len(every), CHUNK_ROWS):
            rows = np.arange(start, min(start + CHUNK_ROWS, len(every)))
            content.update(np.ascontiguousarray(model.rows(rows)).tobytes())
    return content.hexdigest()


def _path(folder: Path, task: _Task) -> Path:
    digest = hashlib.sha256(json.dumps(task.identity, sort_keys=True).encode()).hexdigest()[:12]
    # A name of a file may have 255 bytes, and a letter takes up to four.
    parts = [re.sub(r"[^\w-]+", "-", part).encode()[:40] for part in task.key]
    readable = "_".join(part.decode(errors="ignore") for part in parts)
    return folder / f"{readable}_{digest}.json"


def _read(folder: Path, task: _Task) -> Silhouette | None:
    """Return a silhouette that an earlier call computed; None if there is none."""
    path = _path(folder, task)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["computed_from"] != task.identity:
            raise ValueError("it is about something else than its name says")
        silhouette = Silhouette.from_json(json.dumps(content["silhouette"]))
        if silhouette.curves.shape != (task.options["n_runs"], len(silhouette.sizes)):
            raise ValueError(f"its curves have the shape {silhouette.curves.shape}")
        if not math.isfinite(silhouette.value):
            raise ValueError(f"its score is {silhouette.value}")
    except FileNotFoundError:
        return None
    except (ArithmeticError, AttributeError, LookupError, OSError, TypeError, ValueError) as error:
        logger.warning("%s is damaged and is computed anew: %s", path, error)
        return None
    return silhouette


def _write(folder: Path, task: _Task, silhouette: Silhouette) -> None:
    content = {"computed_from": task.identity, "silhouette": plain(silhouette)}
    try:
        with atomic_file(_path(folder, task)) as file:
            file.write(json.dumps(content).encode())
    except IsADirectoryError as error:
        logger.warning("a silhouette is not kept, as a folder is in its place: %s", error)


def _fitting(
    metric: BaseMetric, label: str, query: Query, bias_type: str
) -> tuple[Query | None, str | None]:
    """Return the query as a metric takes it, and what must be said about that."""
    if metric.accepts(query):
        return query, None
    if len(query.attribute_sets) > 1:
        words = dict.fromkeys(word for part in query.attribute_sets for word in part)
        heads, last = query.attribute_sets_names[:-1], query.attribute_sets_names[-1]
        joined = Query(
            query.target_sets,
            [list(words)],
            query.target_sets_names,
            [f"{', '.join(heads)} and {last}"],
        )
        if metric.accepts(joined):
            return joined, f"{label}: all attribute sets of a query as one list."
    return None, (
        f"nan: {label}, {bias_type}: it needs {metric._wanted_shape()}; the query has "
        f"{query.template[0]} and {query.template[1]}."
    )


def _check_metrics(
    metrics: object, metric_params: object, scales: object
) -> list[tuple[str, BaseMetric, dict[str, Any]]]:
    """Return label, metric, and its own options of `bias_silhouettes`."""
    single = isinstance(metrics, str | BaseMetric | type)
    instances = [
        as_metric(metric)
        for metric in ([metrics] if single else check_sequence("metrics", metrics))
    ]
    if not instances:
        raise ValueError("metrics is empty; one metric or more is needed.")
    params = _by_metric("metric_params", metric_params, instances)
    ranges = _by_metric("scales", scales, instances)
    checked: list[tuple[str, BaseMetric, dict[str, Any]]] = []
    for metric, own, scale in zip(instances, params, ranges, strict=True):
        known = metric.scale(**{**metric.subset_params, **own})
        label = known.label
        _check_scale(label, scale, known.value_range)
        if any(label == other for other, _, _ in checked):
            raise ValueError(f"two of the metrics are called {label}; make a study of each.")
        checked.append((label, metric, {"metric_params": own, **scale}))
    return checked


def _check_scale(label: str, scale: Mapping[str, Any], widest: tuple[float, float]) -> None:
    check_known("scales", scale, ("value_range", "no_bias_value"))
    given = scale.get("value_range")
    low, high = widest if given is None else check_range(given)
    no_bias = scale.get("no_bias_value")
    if no_bias is None:
        return
    if not (isinstance(no_bias, int | float | np.number) and low <= no_bias <= high):
        raise ValueError(
            f"no_bias_value of {label} must be within the range of the score, {(low, high)}; got "
            f"{found(no_bias)}."
        )


def _by_metric(name: str, given: object, metrics: Sequence[BaseMetric]) -> list[dict[str, Any]]:
    """Return for each metric what a mapping has under its name or class."""
    own: list[dict[str, Any]] = [{} for _ in metrics]
    if given is None:
        return own
    if not isinstance(given, Mapping):
        raise TypeError(f"{name} must map metrics to mappings; got {found(given)}.")
    for key, values in given.items():
        kind = type(as_metric(key))
        if kind not in map(type, metrics):
            raise ValueError(f"{name} names {key!r}, which is not among the metrics.")
        if not isinstance(values, Mapping):
            raise TypeError(f"{name}[{key!r}] must be a mapping; got {found(values)}.")
        for position, metric in enumerate(metrics):
            if type(metric) is kind:
                own[position] = dict(values)
    return own


def _check_queries(queries: object) -> dict[str, Query]:
    if isinstance(queries, Query):
        queries = [queries]
    if isinstance(queries, Mapping):
        asked = {str(name): query for name, query in queries.items()}
        for query in asked.values():
            check_query(query)
    else:
        asked = {}
        for query in check_sequence("queries", queries):
            check_query(query)
            if asked.setdefault(query.query_name, query) != query:
                raise ValueError(
                    f"two queries are called {query.query_name!r}; name them: "
                    "queries={'first name': query, 'second name': other}."
                )
    if not asked:
        raise ValueError("queries is empty; one query or more is needed.")
    return asked


def _check_models(models: object) -> list[WordEmbeddingModel]:
    if isinstance(models, WordEmbeddingModel):
        models = [models]
    if isinstance(models, Mapping):
        compared = []
        for name, model in models.items():
            check_model(model)
            compared.append(copy.copy(model))
            compared[-1].name = str(name)
    else:
        compared = list(check_sequence("models", models))
    for model in compared:
        check_model(model)
    if not compared:
        raise ValueError("models is empty; one model or more is needed.")
    names = [model.name for model in compared]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(
            f"two models are called {twice[0]!r}; name them: "
            "models={'first name': model, 'second name': other}."
        )
    return compared


def _check_references(
    unbiased: str | None, biased: str | None, names: Sequence[str]
) -> tuple[str | None, str | None]:
    if unbiased is None and biased is None:
        if {"unbiased", "biased"} <= set(names):
            return "unbiased", "biased"
        return None, None
    if unbiased is None or biased is None or unbiased == biased:
        raise ValueError(
            "accuracy compares two reference models; name both, unbiased and biased. Got "
            f"unbiased={unbiased!r}, biased={biased!r}."
        )
    return check_choice("unbiased", unbiased, names), check_choice("biased", biased, names)


@contextmanager
def _each_message_once() -> Iterator[None]:
    """Keep what concerns the words of a query from being said for each of its silhouettes."""
    seen: set[str] = set()

    def is_new(record: logging.LogRecord) -> bool:
        message = record.getMessage()
        return not (message in seen or seen.add(message))  # type: ignore[func-returns-value]

    names = ("wefe._same_words", "wefe.silhouette._silhouette", "wefe.embeddings")
    loggers = [logging.getLogger(name) for name in names]
    for each in loggers:
        each.addFilter(is_new)
    try:
        yield
    finally:
        for each in loggers:
            each.removeFilter(is_new)
