"""Several metrics, queries and models: the two tables of Bias Silhouette Analysis."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from wefe._checks import as_seed, check_choice, check_positive_int, logger, noted, progress_bar
from wefe._same_words import on_same_words
from wefe._visible import by_name
from wefe.metrics._base import BaseMetric
from wefe.metrics._registry import MetricLike, as_metrics
from wefe.models._word_embedding_model import WordEmbeddingModel, check_models
from wefe.query import Query, check_queries
from wefe.silhouette._silhouette import Silhouette, Vary, accuracy_score, bias_silhouettes

Metrics: TypeAlias = Mapping[MetricLike, Mapping[str, Any]] | Sequence[MetricLike] | MetricLike
# Metric, bias type, vary and model.
Key: TypeAlias = tuple[str, str, str, str]
Table: TypeAlias = Literal["robustness", "accuracy"]

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

    :func:`wefe.plotting.plot_silhouettes` draws it, all or one bias type.

    Attributes
    ----------
    found : dict
        From (metric, bias type, vary, model) to :class:`Silhouette`, or to the reason why there is
        none. Metrics are named by the label of their score.
    unbiased, biased : str or None
        Names of the reference models.
    remarks : tuple of str
        Which lists were joined.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.datasets import load_weat_queries
    >>> query, model = load_weat_queries()[5], load_test_model()
    >>> study = silhouette_study(["weat", "mac"], {"career": query}, {"demo": model}, n_runs=10)
    >>> study.to_frame()["robustness"].round(2).tolist()
    [0.74, 0.88, 0.99, 0.99]
    """

    found: Mapping[Key, Silhouette | str]
    unbiased: str | None = None
    biased: str | None = None
    remarks: Sequence[str] = ()

    def __post_init__(self) -> None:
        if not self.silhouettes:
            raise ValueError(f"nothing could be measured: {' '.join(self.notes)}")

    @cached_property
    def silhouettes(self) -> dict[Key, Silhouette]:
        """Those that could be measured: ``silhouettes["MAC", "gender", "targets", "glove"]``."""
        return {key: each for key, each in self.found.items() if isinstance(each, Silhouette)}

    @property
    def notes(self) -> tuple[str, ...]:
        """What has no value and why, and which lists were joined."""
        lost = [
            f"nan: {metric}, {bias_type}, {model}: {why}"
            for (metric, bias_type, _, model), why in self.found.items()
            if isinstance(why, str)
        ]
        return tuple(dict.fromkeys([*self.remarks, *lost]))

    @property
    def robustness(self) -> pd.DataFrame:
        """Robustness, in [0, 1]: Table 1 of the paper. One row per metric.

        Columns: (bias type, list type, model). NaN where a metric could not be measured.
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
            raise ValueError("accuracy needs two reference models; pass unbiased=..., biased=...")
        printed = scores.round(2)
        if table == "robustness":
            printed = printed.mask(self._pivot("used") < _LEAST_USED)
        return printed.eq(printed.max())

    def to_frame(self) -> pd.DataFrame:
        """Return a tidy table with one row per silhouette.

        Columns 'metric', 'bias_type', 'list_type', 'model', 'query', 'robustness',
        'robustness_of_span', 'area', 'n_words', 'n_runs', 'score' (of the full lists),
        'no_bias_value', 'lowest' and 'highest' (range of the score), 'words_left_out' (their
        number), 'accuracy' (for the two reference models; otherwise NaN) and 'used' (share of the
        range that the scores of all models cover).
        """
        return pd.DataFrame([self._row(*each) for each in self.silhouettes.items()])

    def _row(self, key: Key, one: Silhouette) -> dict[str, Any]:
        alike: Any = {k[3]: each for k, each in self.silhouettes.items() if k[:3] == key[:3]}
        curves = np.concatenate([each.curves for each in alike.values()], axis=None)
        low, high = one.value_range
        pair = [alike.get(self.unbiased), alike.get(self.biased)]
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
            "accuracy": accuracy_score(*pair) if all(pair) and one in pair else np.nan,
            "used": np.ptp(curves) / (high - low),
        }

    def _pivot(self, values: str, n_levels: int = 3) -> pd.DataFrame:
        metrics, bias_types, vary, models = map(dict.fromkeys, zip(*self.found, strict=True))
        levels = [list(bias_types), [LIST_TYPES[each] for each in vary], list(models)][:n_levels]
        names = ["bias_type", "list_type", "model"][:n_levels]
        wide = self.to_frame().pivot_table(values, "metric", names, aggfunc="first")
        columns = pd.MultiIndex.from_product(levels, names=[n.replace("_", " ") for n in names])
        return wide.reindex(index=pd.Index(metrics, name="metric"), columns=columns)

    def _tables(self) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield titles and formatted scores: metrics in columns, a star for the best in a row."""
        for name, title in _TITLES.items():
            if (table := getattr(self, name)) is not None:
                # As wide as a star, so that digits are aligned.
                stars = np.where(self.best(name), "*", " ") if len(table) > 1 else ""
                shown = (table.map("{:.2f}".format) + stars).T
                yield title.format(biased=self.biased, unbiased=self.unbiased), shown

    def __repr__(self) -> str:
        n_runs = next(iter(self.silhouettes.values())).n_runs
        stars = " (*: best in the row)" * (len(self.robustness) > 1)
        parts = [f"Silhouette study, {n_runs} runs{stars}"]
        for title, cells in self._tables():
            cells.index.names = [None] * cells.index.nlevels
            shown = cells.rename_axis(columns=None).to_string()
            parts += [title, *map(str.rstrip, shown.splitlines())]
        parts += [textwrap.fill(note, 99, subsequent_indent="  ") for note in self.notes]
        return "\n".join(parts)


def silhouette_study(
    metrics: Metrics,
    queries: Mapping[str, Query] | Sequence[Query],
    models: Mapping[str, WordEmbeddingModel] | Sequence[WordEmbeddingModel],
    *,
    vary: Sequence[Vary] | Vary = ("targets", "attributes"),
    unbiased: str | None = None,
    biased: str | None = None,
    progress: bool = True,
    **options: Any,
) -> SilhouetteStudy:
    """Measure how reliable metrics and word lists are: the study of the paper.

    See Spliethöver and Wachsmuth, IJCAI 2021, section 4, and :func:`bias_silhouettes`.

    Parameters
    ----------
    metrics : sequence of metric classes, instances or names, or mapping from them to options
        For example ``["weat", "ect", "rnsb"]``. The options are those of :func:`bias_silhouettes`,
        such as 'metric_params', 'value_range' and 'no_bias_value'. The paper uses ``{"weat": {},
        "rnsb": {"value_range": (0, 1)}, "ect": {"no_bias_value": 0}}``.
    queries : mapping from bias type to Query, or sequence of Query
        The word lists: target sets are social groups, attribute sets concepts.
    models : mapping from name to WordEmbeddingModel, or sequence of WordEmbeddingModel
        A word of a query that one of the models lacks is left out for all.
    vary : sequence of {'targets', 'attributes'}, or one of them
        Which lists grow; by default each kind in turn.
    unbiased, biased : str, optional
        Names of the reference models, one assumed to be free of the bias and one assumed to be as
        biased as possible. By default models named 'unbiased' and 'biased'; without both there is
        no accuracy.
    progress : bool, default=True
        Show a progress bar with the time left.
    **options
        Options of :func:`bias_silhouettes` for all metrics, such as `n_runs`, `step` and `n_jobs`.
        Pairs and joined lists have their own orders.

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
        If two metrics have the same name, a reference model is not among the models, a metric
        rejects its parameters, or (after the runs) nothing could be measured.

    Examples
    --------
    >>> from wefe.datasets import load_weat_queries
    >>> from wefe.silhouette import make_biased_embeddings
    >>> query, strengths = load_weat_queries()[5], {"unbiased": 0.0, "biased": 0.5}
    >>> models = {n: make_biased_embeddings(query, b, 100, 50) for n, b in strengths.items()}
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
    check_positive_int("n_runs", options.get("n_runs", 1))
    options |= {"random_state": as_seed(options.get("random_state", 0)), "progress": progress}
    measured = _checked_metrics(metrics, options)
    queries, models = by_name(queries, "query_name", "queries"), by_name(models)
    check_queries([*queries.values()])
    given = check_models([*models.values()])
    lists = list(dict.fromkeys([vary] if isinstance(vary, str) else vary))
    for each in lists:
        check_choice("vary", each, tuple(LIST_TYPES))
    references = checked_references(unbiased, biased, [*models])
    found: dict[Key, Silhouette | str] = {}
    notes: list[str] = []
    n_silhouettes = len(queries) * len(measured) * len(lists) * len(models)
    with (
        noted([], quiet=False),
        progress_bar(n_silhouettes, "silhouette study", "silhouette", progress) as bar,
    ):
        pairs = product(queries.items(), measured.items())
        for (bias_type, query), (label, (metric, own)) in pairs:
            (fitting,) = metric._on_one_list(query)
            if fitting is not query:
                notes.append(f"{label}: all attribute sets of a query as one list.")
            # As bias_silhouettes does, which gets one model at a time here.
            lookup = {"lost_vocabulary_threshold": 1.0, **own.get("metric_params", {})}
            alike = on_same_words(given, [fitting], lookup)
            for each, (name, model) in product(lists, zip(models, alike, strict=True)):
                key = label, bias_type, each, name
                try:
                    (one,) = bias_silhouettes(metric, fitting, [model], each, **own)
                    found[key] = replace(one, model_name=name)
                except ValueError as error:
                    found[key] = str(error)
                    logger.warning("%s has no silhouette: %s", ", ".join(key), error)
                bar.update()
    return SilhouetteStudy(found, *references, notes)


def _checked_metrics(metrics: Any, shared: Any) -> dict[str, tuple[BaseMetric, dict[str, Any]]]:
    """Return each metric with its options of `bias_silhouettes`, by label."""
    given = metrics if isinstance(metrics, Mapping) else {m: {} for m in as_metrics(metrics)}
    checked: dict[str, tuple[BaseMetric, dict[str, Any]]] = {}
    for metric, own in zip(as_metrics([*given]), given.values(), strict=True):
        params = {**shared, **own}.get("metric_params", {})
        metric._with_params(**params)
        label = metric.scale(**{**metric.subset_params, **params}).label
        if label in checked:
            raise ValueError(f"metrics must differ; two are called {label}. Remove one.")
        checked[label] = metric, {**shared, **own}
    return checked


def checked_references(
    unbiased: str | None, biased: str | None, names: Sequence[str]
) -> tuple[str | None, str | None]:
    if unbiased is biased is None:
        return ("unbiased", "biased") if {"unbiased", "biased"} <= {*names} else (None, None)
    if unbiased == biased:
        raise ValueError(f"unbiased and biased must be two models; both are {biased!r}.")
    return check_choice("unbiased", unbiased, names), check_choice("biased", biased, names)
