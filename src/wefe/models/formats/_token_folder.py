"""Find the files with the table and tokenizer of a model, locally or on Hugging Face."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from wefe._checks import found

T = TypeVar("T")

# Tables that were made for vectors of words (model2vec, StaticEmbedding of sentence-transformers),
# and the input tables of language models: Llama, Qwen, Gemma and the encoders and decoders of T5
# and BART; BERT; GPT-2; T5 and BART; ModernBERT and Mistral's own files; GPT-NeoX.
_TABLE = re.compile(
    r"embeddings|embedding\.weight"
    r"|(.+\.)?(embed_tokens|word_embeddings|wte|shared|tok_embeddings|embed_in)\.weight"
)

# One table that the encoder and the decoder share is often stored under several names. Where they
# do not share, the words of the input are those of the encoder.
_TIED = re.compile(r"\.(shared|(en|de)coder\.embed_tokens)\.weight\Z")


@dataclass(frozen=True)
class Module:
    """A part of a sentence-transformers model, as listed in modules.json."""

    type: str = ""
    path: str = ""


@dataclass(frozen=True)
class _Index:
    """The file of each tensor of a model in several files."""

    weight_map: dict[str, str]


def read_json(path: Path, kind: type[T]) -> T:
    """Read a JSON file of a known layout; a missing or damaged file is a ValueError."""
    # Whoever opens a text file does not pay for this import.
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(kind).validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "its text"
        raise ValueError(
            f"{path} is damaged: {place}: {first['msg']}; found {found(first['input'])}. Fetch or "
            "save it again."
        ) from error
    except FileNotFoundError as error:
        raise ValueError(f"{path} is missing. Fetch or save the model again.") from error


def find_local_files(path: Path) -> tuple[Path, tuple[Path, Path, list[str]]]:
    """Return the folder of a model and its `find_files`, given the folder, a part or a file."""
    root, weights = (path, None) if path.is_dir() else (path.parent, path.name)
    above, part = root.resolve().parent, root.resolve().name
    listed = above / "modules.json"
    modules = read_json(listed, list[Module]) if listed.is_file() else []
    if modules and modules[0].path == part:
        root, weights = above, weights and f"{part}/{weights}"
    names = [each.relative_to(root).as_posix() for each in (*root.glob("*"), *root.glob("*/*"))]
    return root, find_files(str(path), names, root.joinpath, weights)


def find_files(
    label: str, names: Collection[str], fetch: Callable[[str], Path], weights: str | None = None
) -> tuple[Path, Path, list[str]]:
    """Find and fetch the table (safetensors), the tokenizer.json and the pooling steps of a model.

    `names` are the files of the model, relative to its folder; no other is opened, whatever the
    configuration says. `fetch` returns the path of a file.
    """
    modules = read_json(fetch("modules.json"), list[Module]) if "modules.json" in names else []
    folder = PurePosixPath(modules[0].path if modules else "")
    weights = weights or _find_weights(label, names, fetch, folder)
    beside = PurePosixPath(weights).with_name
    # The tokenizer of sentence-transformers may also be in the folder of the whole model.
    places = [str(beside("tokenizer.json")), "tokenizer.json"]
    tokenizer = next((name for name in places if name in names), None)
    if tokenizer is None:
        raise missing(label, places[0], names)
    steps = [module.type.rpartition(".")[2] for module in modules[1:]]
    config = str(beside("config.json"))
    if config in names and read_json(fetch(config), dict[str, Any]).get("normalize") is True:
        steps.append("Normalize")  # as model2vec says it
    return fetch(weights), fetch(tokenizer), steps


def _find_weights(
    label: str, names: Collection[str], fetch: Callable[[str], Path], folder: PurePosixPath
) -> str:
    weights = str(folder / "model.safetensors")
    if weights in names:
        return weights
    paths = map(PurePosixPath, names)
    others = [str(each) for each in paths if (each.parent, each.suffix) == (folder, ".safetensors")]
    if (index := f"{weights}.index.json") in names:
        shards = read_json(fetch(index), _Index).weight_map
        weights = str(folder / shards[choose_table(f"{label}: {index}", shards)])
    elif len(others) == 1:
        weights = others[0]
    if weights not in names:
        raise missing(label, weights, names)
    return weights


def missing(label: str, wanted: str, names: Iterable[str]) -> ValueError:
    return ValueError(
        f"{label}: expected {wanted}; found {_some(names)}. A pickle (pytorch_model.bin) is never "
        "opened, as it can run code. transformers writes what is read here: AutoModel and "
        "AutoTokenizer open older files, save_pretrained(folder) writes model.safetensors and "
        "tokenizer.json. On Hugging Face some models have them in the revision 'refs/pr/1'."
    )


def choose_table(label: str, names: Iterable[str]) -> str:
    """Return the name of the tensor with a vector per token; refuse an ambiguous model."""
    names = list(names)
    candidates = [name for name in names if _TABLE.fullmatch(name)]
    if len({_TIED.sub("", f".{name}") for name in candidates}) == 1:
        # By the alphabet, 'shared' comes after 'encoder', and that after 'decoder'.
        return max(candidates)
    raise ValueError(
        f"{label}: expected one table with a name like {_TABLE.pattern}; found "
        f"{_some(candidates or names)}. Save the table that you mean in a file of its own."
    )


def _some(names: Iterable[str]) -> str:
    names = sorted(names, key=lambda name: (re.search("embed|pytorch", name) is None, name))
    return f"{names[:8]}{f' and {len(names) - 8:,} more' if len(names) > 8 else ''}"
