"""Several metrics, queries and models: the two tables of Bias Silhouette Analysis."""

from __future__ import annotations

import copy
import logging
import math
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from itertools import product
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import numpy as np
import pandas as pd

from wefe._checks import (
    as_seed,
    check_choice,
    check_known,
    check_n_jobs,
    check_positive_int,
    check_sequence,
)
from wefe._progress import noted, progress_bar
from wefe._same_words import on_same_words
from wefe._visible import draw
from wefe.metrics._base import BaseMetric, has_own_run_query
from wefe.metrics._registry import MetricLike, as_metric, as_metrics
from wefe.models._word_embedding_model import WordEmbeddingModel, check_model
from wefe.query import Query, check_query
from wefe.silhouette._silhouette import (
    Silhouette,
    Vary,
    accuracy_score,
    bias_silhouettes,
    scale_with,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

logger = logging.getLogger(__name__)

Queries: TypeAlias = Mapping[str, Query] | Sequence[Query] | Query
Models: TypeAlias = (
    Mapping[str, WordEmbeddingModel] | Sequence[WordEmbeddingModel] | WordEmbeddingModel
)
# Metric, bias type, vary and model.
Key: TypeAlias = tuple[str, str, str, str]
Table: TypeAlias = Literal["robustness", "accuracy"]
Task: TypeAlias = partial[list[Silhouette]]

T = TypeVar("T")

# A metric that uses less of its range is robust for that reason alone.
_LEAST_USED = 0.1
# What the paper calls the lists that grow.
LIST_TYPES = {"targets": "Social group", "attributes": "Bias concept"}
# The tables of the paper.
_TITLES: dict[Table, str] = {
    "robustness": "Robustness (1: the score never depends on the words)",
    "accuracy": "Accuracy (0.5: no difference seen; {biased} as biased, {unbiased} as unbiased)",
}
_FACTS = ("robustness", "robustness_of_span", "area", "n_words", "n_runs")


@dataclass(frozen=True, eq=False, repr=False)
class SilhouetteStudy:
    """Result of :func:`silhouette_study`: all silhouettes, and the two tables of the paper.

    Attributes
    ----------
    silhouettes : dict
        From (metric, bias type, vary, model) to :class:`Silhouette`; for example
        ``study.silhouettes["WEAT-ES", "gender", "targets", "glove"]``.
    metrics, bias_types, vary, models : tuple of str
        What was measured, in this order. Metrics are named by the label of their score.
    unbiased, biased : str or None
        Names of the reference models.
    notes : tuple of str
        What has no value and why, and which lists were joined.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.datasets import load_weat_queries
    >>> query, model = load_weat_queries()[5], load_test_model()
    >>> silhouette_study(["weat", "mac"], query, model, vary="targets", n_runs=10).metrics
    ('WEAT-ES', 'MAC')
    """

    silhouettes: Mapping[Key, Silhouette]
    metrics: tuple[str, ...]
    bias_types: tuple[str, ...]
    vary: tuple[Vary, ...]
    models: tuple[str, ...]
    unbiased: str | None = None
    biased: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def robustness(self) -> pd.DataFrame:
        """Robustness scores, in [0, 1]: Table 1 of the paper.

        One row per metric; columns (bias type, list type, model). NaN where a metric could not be
        measured.
        """
        return self._pivot("robustness")

    @property
    def accuracy(self) -> pd.DataFrame | None:
        """Accuracy scores, in [0, 1]: Table 2 of the paper; None without two reference models.

        One row per metric; columns (bias type, list type). 0.5 means no difference.
        """
        return None if self.unbiased is None else self._pivot("accuracy", n_levels=2)

    def best(self, table: Table = "robustness") -> pd.DataFrame:
        """Tell which metrics are the best of their column; the paper prints these scores in bold.

        Parameters
        ----------
        table : {'robustness', 'accuracy'}, default='robustness'
            Which table. Two decimals are compared; metrics that tie are all best.

        Returns
        -------
        DataFrame of bool
            In the shape of the table; False for NaN. A metric whose scores, over all models, use
            less than a tenth of its range is never the most robust, because it would be as robust
            for any words.
        """
        scores: pd.DataFrame | None = getattr(self, check_choice("table", table, tuple(_TITLES)))
        if scores is None:
            raise ValueError(
                "the table of accuracy needs two reference models; this study has none. Pass their "
                "names to silhouette_study: unbiased=..., biased=..."
            )
        printed = scores.round(2)
        if table == "robustness":
            printed = printed.mask(self._pivot("used") < _LEAST_USED)
        return printed.eq(printed.max())

    def to_frame(self) -> pd.DataFrame:
        """Return a tidy table with one row per silhouette.

        Columns 'metric', 'bias_type', 'list_type', 'model', 'query', 'robustness',
        'robustness_of_span', 'area', 'n_words', 'n_runs', 'score' (of the full lists),
        'no_bias_value', 'lowest' and 'highest' (range of the score), 'words_left_out' (their
        number) and 'accuracy' (for the two reference models; otherwise NaN).
        """
        return self._frame().drop(columns="used")

    def _frame(self) -> pd.DataFrame:
        return pd.DataFrame(map(self._row, *zip(*self.silhouettes.items(), strict=True)))

    def _row(self, key: Key, one: Silhouette) -> dict[str, Any]:
        alike: Any = {k[3]: each for k, each in self.silhouettes.items() if k[:3] == key[:3]}
        curves = np.concatenate([each.curves.ravel() for each in alike.values()])
        low, high = one.value_range
        pair = [alike.get(name) for name in (self.unbiased, self.biased)]
        return {
            "metric": key[0],
            "bias_type": key[1],
            "list_type": LIST_TYPES[key[2]],
            "model": key[3],
            "query": one.query_name,
            **{name: getattr(one, name) for name in _FACTS},
            "score": one.value,
            "no_bias_value": one.no_bias_value,
            "lowest": low,
            "highest": high,
            "words_left_out": len(one.words_left_out),
            "accuracy": accuracy_score(*pair) if all(pair) and one in pair else math.nan,
            "used": np.ptp(curves) / (high - low),
        }

    def _pivot(self, values: str, n_levels: int = 3) -> pd.DataFrame:
        levels = [self.bias_types, [LIST_TYPES[vary] for vary in self.vary], self.models][:n_levels]
        names = ["bias_type", "list_type", "model"][:n_levels]
        wide = self._frame().pivot_table(values, "metric", names, aggfunc="first")
        columns = pd.MultiIndex.from_product(levels, names=[n.replace("_", " ") for n in names])
        return wide.reindex(index=pd.Index(self.metrics, name="metric"), columns=columns)

    def plot(
        self,
        metric: str | None = None,
        bias_type: str | None = None,
        vary: Vary | None = None,
        *,
        full_range: bool = False,
    ) -> Figure:
        """Draw the silhouettes; see :func:`wefe.plotting.plot_silhouettes`.

        Parameters
        ----------
        metric, bias_type, vary : str, optional
            Draw only this metric (by its label), bias type or kind of list.
        full_range : bool, default=False
            Make the vertical axes cover the whole range of the score.

        Returns
        -------
        plotly.graph_objects.Figure
            The figure, not shown yet.
        """
        known = {"metric": self.metrics, "bias_type": self.bias_types, "vary": self.vary}
        chosen = self.silhouettes
        for place, (name, wanted) in enumerate(zip(known, (metric, bias_type, vary), strict=True)):
            if wanted is not None:
                check_choice(name, wanted, known[name])
                chosen = {key: one for key, one in chosen.items() if key[place] == wanted}
        # A figure has little room, and the bias type identifies the query.
        shown = [replace(one, query_name=key[1]) for key, one in chosen.items()]
        return draw(
            "plot_silhouettes",
            shown,
            unbiased=self.unbiased,
            biased=self.biased,
            full_range=full_range,
        )

    def _tables(self) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield titles and formatted scores: metrics in columns, a star for the best in a row."""
        for name, title in _TITLES.items():
            if (table := getattr(self, name)) is not None:
                stars = np.where(self.best(name) & (len(self.metrics) > 1), "*", "")
                shown = (table.map("{:.2f}".format) + stars).T
                yield title.format(biased=self.biased, unbiased=self.unbiased), shown

    def __repr__(self) -> str:
        n_runs = next((one.n_runs for one in self.silhouettes.values()), 0)
        several = len(self.metrics) > 1
        parts = [f"Silhouette study, {n_runs} runs" + " (*: best in the row)" * several]
        for title, cells in self._tables():
            # Align the digits.
            padded = cells.map(f"{{:{4 + several}}}".format).rename_axis(columns=None)
            padded.index.names = [None] * padded.index.nlevels
            parts += [title, *map(str.rstrip, padded.to_string().splitlines())]
        parts += [textwrap.fill(note, 99, subsequent_indent="  ") for note in self.notes]
        return "\n".join(parts)

    def _repr_html_(self) -> str:
        tables = [f"<p>{escape(title)}</p>{cells.to_html()}" for title, cells in self._tables()]
        return "".join(tables) + "".join(f"<p>{escape(note)}</p>" for note in self.notes)


def tabulated(
    found: Mapping[Key, Silhouette | str],
    references: tuple[str | None, str | None],
    notes: Sequence[str] = (),
) -> SilhouetteStudy:
    """Return the study of silhouettes, and of reasons why there is none."""
    done = {key: each for key, each in found.items() if isinstance(each, Silhouette)}
    lost = [
        f"nan: {key[0]}, {key[1]}, {key[3]}: {why}"
        for key, why in found.items()
        if isinstance(why, str)
    ]
    notes = [*dict.fromkeys([*notes, *lost])]
    if not done:
        raise ValueError(f"nothing could be measured: {' '.join(notes)}")
    parts: Any = zip(*found, strict=True)
    metrics, bias_types, vary, models = (tuple(dict.fromkeys(part)) for part in parts)
    return SilhouetteStudy(done, metrics, bias_types, vary, models, *references, tuple(notes))


def silhouette_study(
    metrics: MetricLike | Sequence[MetricLike],
    queries: Queries,
    models: Models,
    *,
    vary: Sequence[Vary] | Vary = ("targets", "attributes"),
    n_runs: int = 100,
    step: int | None = None,
    random_state: int | np.random.Generator | None = 0,
    n_jobs: int | None = None,
    unbiased: str | None = None,
    biased: str | None = None,
    metric_params: Mapping[Any, Mapping[str, Any]] | None = None,
    scales: Mapping[Any, Mapping[str, Any]] | None = None,
    progress: bool = True,
) -> SilhouetteStudy:
    """Measure how reliable metrics and word lists are: the study of the paper.

    See Spliethöver and Wachsmuth, IJCAI 2021, section 4, and :func:`bias_silhouette`.

    Parameters
    ----------
    metrics : sequence of metric classes, instances or names
        For example ``["weat", "ect", "rnsb"]``.
    queries : mapping from bias type to Query, or sequence of Query
        The word lists: target sets are social groups, attribute sets concepts. For a sequence, the
        names of the queries are the bias types.
    models : mapping from name to WordEmbeddingModel, or sequence of WordEmbeddingModel
        A word of a query that one of the models lacks is left out for all.
    vary : sequence of {'targets', 'attributes'}, or one of them
        Which lists grow; by default each kind in turn.
    n_runs, step, random_state, n_jobs : optional
        As for :func:`bias_silhouettes`. Pairs and joined lists have their own orders.
    unbiased, biased : str, optional
        Names of the reference models, one assumed to be free of the bias and one assumed to be as
        biased as possible. By default models named 'unbiased' and 'biased'; without both there is
        no accuracy.
    metric_params : mapping from metric to mapping, optional
        Parameters of `run_query`, such as ``{"rnsb": {"holdout": True}}``.
    scales : mapping from metric to mapping, optional
        'value_range' or 'no_bias_value' that replace those of the metric. The paper uses ``{"rnsb":
        {"value_range": (0, 1)}, "ect": {"no_bias_value": 0}}``.
    progress : bool, default=True
        Show a progress bar with the time left.

    Returns
    -------
    SilhouetteStudy
        A silhouette that cannot be measured is NaN in its tables, with a note that says why.
        Metrics that take one attribute set, such as ECT, get all attribute words of the query as
        one list, as in the paper. For RND and RIPA, words of opposite concepts then cancel, so pass
        one concept at a time. A query that still does not fit a metric is left out, with a note.

    Raises
    ------
    ValueError
        If names are not unique, a reference model is not among the models, a metric rejects its
        parameters, or (after the runs) nothing could be measured.

    Examples
    --------
    >>> from wefe.datasets import load_weat_queries
    >>> from wefe.silhouette import make_biased_embeddings
    >>> query = load_weat_queries()[5]
    >>> models = {
    ...     "unbiased": make_biased_embeddings(query, 0.0, n_words=100, dim=50),
    ...     "biased": make_biased_embeddings(query, 0.5, n_words=100, dim=50),
    ... }
    >>> silhouette_study("weat", {"career": query}, models, vary="targets", n_runs=10)
    Silhouette study, 10 runs
    Robustness (1: the score never depends on the words)
                                 WEAT-ES
    career Social group unbiased    0.73
                        biased      0.98
    Accuracy (0.5: no difference seen; biased as biased, unbiased as unbiased)
                        WEAT-ES
    career Social group    0.81
    """
    measured = _checked_metrics(metrics, metric_params, scales)
    asked = _by_name("queries", queries, check_query, "query_name")
    compared = _by_name("models", models, check_model, "name")
    lists = list(dict.fromkeys([vary] if isinstance(vary, str) else check_sequence("vary", vary)))
    for each in _not_empty("vary", lists):
        check_choice("vary", each, tuple(LIST_TYPES))
    shared: dict[str, Any] = {
        "n_runs": check_positive_int("n_runs", n_runs),
        "step": None if step is None else check_positive_int("step", step),
        "random_state": as_seed(random_state),
        "n_jobs": n_jobs,
        "progress": progress,
    }
    check_n_jobs(n_jobs)
    references = checked_references(unbiased, biased, list(compared))
    found: dict[Key, Silhouette | str] = {}
    notes: list[str] = []
    n_silhouettes = len(asked) * len(measured) * len(lists) * len(compared)
    with (
        noted([], quiet=False),
        progress_bar(n_silhouettes, "silhouette study", "silhouette", progress) as bar,
    ):
        for (bias_type, query), (label, measure) in product(asked.items(), measured.items()):
            (metric,) = measure.args
            (fitting,) = metric._on_one_list(query)
            if fitting is not query:
                notes.append(f"{label}: all attribute sets of a query as one list.")
            # As bias_silhouettes does, which gets one model at a time here.
            lookup = {"lost_vocabulary_threshold": 1.0, **measure.keywords["metric_params"]}
            alike = on_same_words(list(compared.values()), [fitting], lookup)
            for each, (name, model) in product(lists, zip(compared, alike, strict=True)):
                named = copy.copy(model)
                named.name = name
                key = label, bias_type, each, name
                try:
                    (found[key],) = measure(fitting, [named], each, **shared)
                except ValueError as error:
                    found[key] = str(error)
                    logger.warning("%s has no silhouette: %s", ", ".join(key), error)
                bar.update()
    return tabulated(found, references, notes)


def _checked_metrics(metrics: Any, metric_params: object, scales: object) -> dict[str, Task]:
    """Return `bias_silhouettes` of each metric with its own options, by label."""
    instances = as_metrics(metrics)
    params = _by_metric("metric_params", metric_params, instances)
    ranges = _by_metric("scales", scales, instances)
    checked: dict[str, Task] = {}
    for metric in instances:
        own, scale = params.get(type(metric), {}), ranges.get(type(metric), {})
        if not has_own_run_query(metric):
            metric._with_params(**own)
        declared = metric.scale(**{**metric.subset_params, **own})
        check_known("scales", scale, ("value_range", "no_bias_value"))
        scale_with(declared, **scale)
        if declared.label in checked:
            raise ValueError(f"metrics must differ; two are called {declared.label}. Remove one.")
        checked[declared.label] = partial(bias_silhouettes, metric, metric_params=own, **scale)
    return _not_empty("metrics", checked)


def _by_metric(name: str, given: Any, metrics: Sequence[BaseMetric]) -> dict[type, dict[str, Any]]:
    """Return the values of a mapping from metrics (names or classes), by class."""
    own = {type(as_metric(key)): dict(values) for key, values in (given or {}).items()}
    known = [type(metric).__name__ for metric in metrics]
    check_known(name, [kind.__name__ for kind in own], known)
    return own


def _by_name(what: str, given: Any, check: Callable[[Any], object], name_of: str) -> dict[str, Any]:
    """Return what was given by name; names must be unique."""
    if isinstance(given, Query | WordEmbeddingModel):
        given = [given]
    pairs = (
        list(given.items())
        if isinstance(given, Mapping)
        else [(getattr(each, name_of, ""), each) for each in check_sequence(what, given)]
    )
    named: dict[str, Any] = {}
    for name, each in pairs:
        check(each)
        if named.setdefault(str(name), each) != each:
            raise ValueError(
                f"{what} must have different names; two are called {name!r}. Pass a dict."
            )
    return _not_empty(what, named)


def _not_empty(what: str, several: T) -> T:
    if not several:
        raise ValueError(f"{what} is empty; pass at least one.")
    return several


def checked_references(
    unbiased: str | None, biased: str | None, names: Sequence[str]
) -> tuple[str | None, str | None]:
    if unbiased is biased is None:
        return ("unbiased", "biased") if {"unbiased", "biased"} <= {*names} else (None, None)
    if unbiased == biased:
        raise ValueError(f"unbiased and biased must be two models; both are {biased!r}.")
    return check_choice("unbiased", unbiased, names), check_choice("biased", biased, names)
