"""The encoder behind a contextual model: tokens, batches, hidden states and the cache."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import itertools
import json
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from wefe._checks import progress_bar
from wefe.contextual._cache import VectorCache, vector_key
from wefe.models.formats._tokens import SPACES, UNSPACED, marks_spaces

if TYPE_CHECKING:
    from pathlib import Path

    import torch

Vectors: TypeAlias = npt.NDArray[np.float32]
#: Takes places and, of shape (n_layers, n_places, dim), their vectors.
Sink: TypeAlias = Callable[[Sequence[int], Vectors], None]

#: How the vectors of tokens become one; 'auto' is settled when an encoder is opened.
Pooling: TypeAlias = Literal["auto", "mean", "first", "cls", "sentence"]


def within(pooling: Pooling) -> Pooling:
    """Return how a word in a text is pooled: 'auto' takes the mean there."""
    return "mean" if pooling == "auto" else pooling


# A batch takes more texts than `batch_size` where they are shorter than this.
_USUAL_LENGTH = 64

# Half of a character, which no tokenizer takes.
SURROGATE = re.compile("[\ud800-\udfff]")

# What a configuration says about libraries and files, and not about the network.
_IRRELEVANT = {"transformers_version", "architectures", "dtype", "torch_dtype", "use_cache"}


class Context(NamedTuple):
    """A word in a text: a named tuple.

    Parameters
    ----------
    text : str
        The text, usually a sentence.
    start, end : int
        The word is ``text[start:end]``: 0 <= start < end <= len(text). Encoders check this.

    Examples
    --------
    >>> Context("She is a nurse.", 9, 14).word
    'nurse'
    """

    text: str
    start: int
    end: int

    @property
    def word(self) -> str:
        """The word itself."""
        return self.text[self.start : self.end]


class Tokens(NamedTuple):
    """A text as an encoder reads it; `word` has the places of the tokens of the word."""

    text: str
    ids: Sequence[int] = ()
    types: Sequence[int] = ()
    word: Sequence[int] = ()


_ONE_TOKEN = Tokens("a", [0], [0], [0])


@dataclass(eq=False, repr=False)
class Encoder:
    """A network with its tokenizer, and the SentenceTransformer (if any) that starts with it.

    `network` has no head and decoder. `prompt` precedes each text; None: a pipeline's default.
    """

    network: Any
    tokenizer: InitVar[Any]  # large: only a copy of its fast part stays
    pipeline: Any
    label: str
    max_length: int | None
    prompt: str | None
    batch_size: int
    progress: bool

    def __post_init__(self, tokenizer: Any) -> None:
        network = self.network
        self._whole = network if self.pipeline is None else self.pipeline
        self._tokenizer = self._copied(tokenizer)
        self._add_space = marks_spaces(self._tokenizer)
        # A space by itself says no more of a word than an unknown token.
        spaces = map(self._tokenizer.token_to_id, SPACES)
        self._meaningless = frozenset([*tokenizer.all_special_ids, *spaces])
        # Without a token for padding any will do: it is never attended to.
        self._pad_id = tokenizer.pad_token_id or 0
        accepted = {*inspect.signature(network.forward).parameters}
        self._has_types = "token_type_ids" in accepted.intersection(tokenizer.model_input_names)
        self._options = {"use_cache": False} if "use_cache" in accepted else {}
        self._lock = threading.RLock()
        self._versions = self._count_changes()
        limits = (tokenizer.model_max_length, getattr(self.pipeline, "max_seq_length", None))
        limit = min(_max_positions(network), *(int(each) for each in limits if each))
        if (self.max_length or 0) > limit:
            raise ValueError(
                f"max_length is at most {limit} for {self.label}; got {self.max_length}."
            )
        self.max_length = self.max_length or limit
        self._tokenizer_json = self._tokenizer.to_str()
        self._tokenizer.enable_truncation(self.max_length, direction=tokenizer.truncation_side)
        self.dims = self._probe()
        self.n_layers = len(self.dims)

    @cached_property
    def has_first_token(self) -> bool:
        """Whether every text begins with a special token."""
        return bool(self._tokenizer.encode("a").special_tokens_mask[:1] == [1])

    @cached_property
    def pipeline_dim(self) -> int:
        try:
            with self._inference():
                return int(self._encoded_whole([_ONE_TOKEN]).shape[-1])
        except (KeyError, AttributeError) as error:
            raise TypeError(
                f"{self.label} returns no single vector for a text. A late-interaction model has "
                "one for each token: choose pooling='mean' for the mean over those of a word."
            ) from error

    def _copied(self, tokenizer: Any) -> Any:
        """Return the inner tokenizer without padding and truncation."""
        from tokenizers import Tokenizer, normalizers

        if not getattr(tokenizer, "is_fast", False):
            raise TypeError(
                f"{self.label} needs a tokenizer that reports the positions of tokens; got "
                f"{type(tokenizer).__name__}. Use a fast one, as AutoTokenizer makes."
            )
        theirs = tokenizer.backend_tokenizer
        ours = Tokenizer.from_str(theirs.to_str())
        ours.encode_special_tokens = theirs.encode_special_tokens
        ours.no_padding()
        ours.no_truncation()
        if self.pipeline is not None and getattr(self.pipeline[0], "do_lower_case", False):
            steps = [normalizers.Lowercase(), ours.normalizer]
            ours.normalizer = normalizers.Sequence([step for step in steps if step is not None])
        return ours

    def _count_changes(self) -> list[int | None]:
        weights = self._whole.parameters()
        return [None if each.is_inference() else each._version for each in weights]

    def _probe(self) -> list[int]:
        """Return the number of dimensions of each hidden state."""
        try:
            with self._inference():
                states = _states(self._run([_ONE_TOKEN], every=True))
            return [int(each.shape[-1]) for each in states]
        except (TypeError, ValueError, KeyError, AttributeError, RuntimeError) as error:
            kind = type(self.network).__name__
            raise TypeError(f"{kind} does not return hidden states of texts: {error}") from error

    def tokenize(self, contexts: Sequence[Context]) -> list[Tokens | str]:
        """Return the tokens of each context, or the reason why its word has none."""
        prompt = self.prompt or ""
        texts = ["" if SURROGATE.search(text) else prompt + text for text, _, _ in contexts]
        return [*map(self._tokens, contexts, self._tokenizer.encode_batch(texts))]

    def _tokens(self, context: Context, encoding: Any) -> Tokens | str:
        shift = len(self.prompt or "")
        start, end = context.start + shift, context.end + shift
        if any(_places(part, start, end) for part in encoding.overflowing):
            return f"it is cut off, because only max_length={self.max_length} tokens are read"
        word = _places(encoding, start, end)
        if not word:
            return "the tokenizer has no token for it"
        if self._meaningless.issuperset(encoding.ids[place] for place in word):
            return "the tokenizer has only unknown or special tokens for it"
        return Tokens(context.text, encoding.ids, encoding.type_ids, word)

    def alone(self, word: str) -> Context:
        """Return a word by itself, tokenized as inside a sentence: ' he', not the end of 'the'."""
        bare = not self._add_space or self.prompt or word[:1].isspace() or UNSPACED.match(word)
        return Context(word, 0, len(word)) if bare else Context(f" {word}", 1, len(word) + 1)

    def encode(
        self, tokens: Sequence[Tokens], layers: Sequence[int], pooling: Pooling, *, sink: Sink
    ) -> None:
        """Encode texts in batches of similar length; `sink` takes each batch."""
        label = f"encoding with {self.label}"
        with self._inference(), progress_bar(len(tokens), label, "text", self.progress) as bar:
            for places in self._batches(tokens):
                batch = [tokens[place] for place in places]
                whole = pooling == "auto"
                own = self._encoded_whole(batch) if whole else self._encoded(batch, layers, pooling)
                sink(places, own)
                bar.update(len(places))

    def _encoded_whole(self, batch: Sequence[Tokens]) -> Vectors:
        """Return the vectors of the SentenceTransformer, of shape (1, n_texts, dim)."""
        vectors = self.pipeline.encode(
            [each.text for each in batch],
            prompt=self.prompt,
            batch_size=len(batch),
            convert_to_tensor=True,
            show_progress_bar=False,
        )
        array: Vectors = vectors.float().cpu().numpy()[None]
        return array

    def _encoded(self, batch: Sequence[Tokens], layers: Sequence[int], pooling: Pooling) -> Vectors:
        """Return the vectors of texts at layers, of shape (n_layers, n_texts, dim)."""
        import torch

        only_last = tuple(layers) == (self.n_layers - 1,)
        states = _states(self._run(batch, every=not only_last))
        weights = torch.from_numpy(token_weights(pooling, batch)).unsqueeze(1).to(states[-1].device)
        chosen = [states[layer - self.n_layers].float() for layer in layers]
        return np.stack([torch.bmm(weights, each).squeeze(1).cpu().numpy() for each in chosen])

    def _batches(self, tokens: Sequence[Tokens]) -> Iterator[list[int]]:
        """Yield indices of texts of similar length, the longest first."""
        order = sorted(range(len(tokens)), key=lambda place: -len(tokens[place].ids))
        start = 0
        while start < len(order):
            longest = len(tokens[order[start]].ids)
            stop = start + self.batch_size * max(1, _USUAL_LENGTH // longest)
            yield order[start:stop]
            start = stop

    @contextlib.contextmanager
    def _inference(self) -> Iterator[None]:
        """Refuse changed weights, and keep the mode (training or not) of the network."""
        import torch

        if self._count_changes() != self._versions:
            raise RuntimeError(
                f"the weights of {self.label} were changed after load_encoder. Call it again."
            )
        with self._lock, torch.inference_mode():
            training = [module for module in self._whole.modules() if module.training]
            self._whole.eval()
            try:
                yield
            finally:
                for module in training:
                    module.training = True

    def _run(self, batch: Sequence[Tokens], *, every: bool) -> Any:
        import torch
        from torch.nn.utils.rnn import pad_sequence

        def padded(rows: Sequence[Any], filler: int) -> Any:
            # At the right, whatever the tokenizer does: positions are those of the text alone.
            return pad_sequence(list(map(torch.tensor, rows)), True, filler)

        ids, types, ones = zip(*((t.ids, t.types, [1] * len(t.ids)) for t in batch), strict=True)
        inputs = {"input_ids": padded(ids, self._pad_id), "attention_mask": padded(ones, 0)}
        if self._has_types:
            inputs["token_type_ids"] = padded(types, 0)
        n_known = self.network.get_input_embeddings().weight.shape[0]
        if inputs["input_ids"].max() >= n_known:
            raise ValueError(f"use the tokenizer that belongs to {self.label}: it knows {n_known}.")
        device = next(self.network.parameters()).device
        inputs = {name: each.to(device) for name, each in inputs.items()}
        return self.network(**inputs, output_hidden_states=every, return_dict=True, **self._options)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of weights (but a pooler's, which may be random), configuration and tokenizer."""
        import torch

        hashed = hashlib.blake2b(digest_size=16)
        for name, tensor in self._whole.state_dict().items():
            if "pooler" not in name.split("."):
                hashed.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}\n".encode())
                raw = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
                hashed.update(hashlib.blake2b(raw.numpy().data, digest_size=16).digest())
                del raw  # before the next tensor is copied
        config = self.network.config.to_dict().items()
        hashed.update(_as_json({k: v for k, v in config if k[0] != "_" and k not in _IRRELEVANT}))
        hashed.update(self._tokenizer_json.encode())
        return hashed.hexdigest()

    def settings(self, layer: int, pooling: Pooling) -> bytes:
        """Return everything else that a vector depends on."""
        if pooling == "auto":
            names = ("prompts", "default_prompt_name", "max_seq_length", "truncate_dim")
            own = {name: getattr(self.pipeline, name, None) for name in names}
            own["modules"] = [
                (type(each).__name__, getattr(each, "get_config_dict", dict)())
                for each in self.pipeline
            ]
        else:
            own = {"layer": layer, "max_length": self.max_length, "types": self._has_types}
        tokenizer = self._tokenizer.truncation["direction"], self._tokenizer.encode_special_tokens
        dtype = str(next(self.network.parameters()).dtype)
        return _as_json({"pooling": pooling, "as": [self.prompt, dtype, *tokenizer], **own})


@dataclass(eq=False, repr=False)
class CachedEncoder:
    """An Encoder or FunctionEncoder with a cache in `folder` (None for no cache).

    For `dim`, `normalize` and `max_texts` see `load_encoder`.
    """

    encoder: Any
    folder: Path | None
    dim: int | None = None
    normalize: bool = False
    max_texts: int | None = None
    n_encoded: int = field(default=0, init=False)

    @cached_property
    def cache(self) -> VectorCache:
        return VectorCache(self.folder and self.folder / f"{self.encoder.fingerprint}.sqlite")

    def width(self, layer: int, pooling: Pooling) -> int:
        encoder = self.encoder
        if encoder.dims[layer] is None:  # a function shows it with its first vector
            return int(self.vectors([encoder.alone("a")], layer, pooling).shape[-1])
        return self._kept(encoder.pipeline_dim if pooling == "auto" else encoder.dims[layer])

    def _kept(self, n_dims: int) -> int:
        if self.dim is not None and self.dim > n_dims:
            raise ValueError(
                f"dim must be at most {n_dims}, those of {self.encoder.label}; got {self.dim}."
            )
        return self.dim or n_dims

    def vectors(self, contexts: Sequence[Context], layer: int, pooling: Pooling) -> Vectors:
        """Return the vectors of words in texts, of shape (n_contexts, dim)."""
        blocks: dict[Context, Vectors] = {}
        kinds = {each: pooling if each.word == each.text else within(pooling) for each in contexts}
        for own in dict.fromkeys(kinds.values()):
            blocks |= self._blocks([each for each in kinds if kinds[each] == own], [layer], own)
        widths = {block.shape[-1] for block in blocks.values()}
        if len(widths) > 1:
            raise ValueError(
                f"{self.encoder.label} has vectors of {sorted(widths)} dimensions for these texts. "
                "Choose another pooling, or, if a function changed, another revision."
            )
        if self.encoder.dims == [None]:
            self.encoder.dims = [*widths]
        whole = np.stack([blocks[context][0] for context in contexts])
        vectors: Vectors = whole[:, : self._kept(*widths)]
        if self.normalize:
            lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
            vectors = (vectors / np.where(lengths == 0, 1, lengths)).astype(np.float32)
        return vectors

    def _blocks(
        self, contexts: Sequence[Context], layers: Sequence[int], pooling: Pooling
    ) -> dict[Context, Vectors]:
        """Return the vectors of each context, of shape (n_layers, whole dim)."""
        settings = [self.encoder.settings(layer, pooling) for layer in layers]
        # Where the word stands does not matter for 'cls' and 'sentence'.
        of_word = pooling not in ("cls", "sentence")
        keys = {
            each: tuple(vector_key(own, *(each if of_word else each[:1])) for own in settings)
            for each in contexts
        }
        known = self.cache.get([*itertools.chain(*keys.values())])
        missing = {own: each for each, own in keys.items() if not known.keys() >= {*own}}
        rows = [*missing]

        def take(places: Sequence[int], vectors: Vectors) -> None:
            new: dict[bytes, Vectors] = {}
            for place, of_text in zip(places, vectors.swapaxes(0, 1), strict=True):
                new.update(zip(rows[place], of_text, strict=True))
            known.update(new)
            self.cache.put(new)  # at once, so that it is there after Ctrl-C

        if missing:
            self.encoder.encode(self._tokenized([*missing.values()]), layers, pooling, sink=take)
        return {each: np.stack([known[key] for key in own]) for each, own in keys.items()}

    def _tokenized(self, contexts: Sequence[Context]) -> list[Any]:
        tokens: list[Any] = self.encoder.tokenize(contexts)
        for context, each in zip(contexts, tokens, strict=True):
            if isinstance(each, str):
                raise ValueError(
                    f"{self.encoder.label} has no vector for {shortened(context.word)} in "
                    f"{shortened(context.text)}: {each}. See can_encode."
                )
        if self.max_texts is not None and self.n_encoded + len(tokens) > self.max_texts:
            n_characters = sum(len(context.text) for context in contexts)
            raise ValueError(
                f"{self.encoder.label} needs vectors of {len(tokens):,} texts that are not in the "
                f"cache ({n_characters:,} characters), after {self.n_encoded:,} in this session; "
                f"max_texts is {self.max_texts:,}. Raise it, or use fewer words."
            )
        self.n_encoded += len(tokens)
        return tokens


def shortened(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")


def _states(output: Any) -> list[torch.Tensor]:
    """Return the hidden states; the last one is the output of the network."""
    return [*(output.hidden_states or ())[:-1], output.last_hidden_state]


def token_weights(pooling: Pooling, batch: Sequence[Tokens]) -> npt.NDArray[np.float32]:
    """Return the weights of tokens, of shape (n_texts, most tokens); each row sums to 1."""
    weights = np.zeros((len(batch), max(len(each.ids) for each in batch)), dtype=np.float32)
    for row, (_, ids, _, word) in zip(weights, batch, strict=True):
        pooled = {"mean": word, "first": word[:1], "cls": [0], "sentence": range(len(ids))}[pooling]
        row[list(pooled)] = 1 / len(pooled)
    return weights


def _places(encoding: Any, start: int, end: int) -> list[int]:
    """Return the indices of the tokens that share a character with a span."""
    tokens = zip(encoding.offsets, encoding.special_tokens_mask, strict=True)
    return [
        place
        for place, ((first, last), special) in enumerate(tokens)
        if first < end and last > start and not special
    ]


def _max_positions(network: Any) -> int:
    for name, module in network.named_modules():
        padding = getattr(module, "padding_idx", None)
        # RoBERTa and its kin count positions from behind the one of padding.
        if name.endswith("position_embeddings") and padding is not None:
            return int(module.num_embeddings - padding - 1)
    limit = getattr(network.config, "max_position_embeddings", None) or 0
    return limit if limit > 0 else 2**31


def _as_json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, default=str).encode()
