"""Models and queries, opened as options name them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from wefe.cli._options import Pooling

if TYPE_CHECKING:
    from wefe.datasets._opened import OpenedQueries
    from wefe.models import WordEmbeddingModel

logger = logging.getLogger(__name__)


def preprocessors(lowercase: bool) -> list[dict[str, Any]]:
    """Return how words are looked up: as they are, and in lower case if asked for."""
    return [{}, {"lowercase": True}] if lowercase else [{}]


def open_queries(names: Sequence[str], offline: bool) -> list[OpenedQueries]:
    """Open what --queries names; after one download that fails, none is tried."""
    from wefe.datasets._opened import open_query_set

    opened: list[OpenedQueries] = []
    for name in dict.fromkeys(names):
        opened.append(open_query_set(name, offline, "--queries"))
        offline = offline or opened[-1].offline
    return opened


def open_models(
    models: Sequence[str],
    encoders: Sequence[str],
    layer: int,
    pooling: Pooling,
    templates: Sequence[str],
    **options: Any,
) -> tuple[list[WordEmbeddingModel], dict[str, str]]:
    """Open what --model and --encoder name, with the options of `wefe.load`.

    A model that cannot be opened is no reason to lose the others: it comes second, as its name and
    the reason. If none can be opened, the first error is raised.
    """
    from wefe.contextual import load_encoder
    from wefe.models import load

    # A number without these says little, and tables have no other place for them.
    said = [f"layer {layer}"] if layer != -1 else []
    said += [pooling.value] if pooling is not Pooling.auto else []
    said += ["in templates"] if templates else []
    of_encoders = {"layer": layer, "pooling": pooling.value, "templates": list(templates) or None}
    opened: list[WordEmbeddingModel] = []
    errors: dict[str, Exception] = {}
    asked: list[tuple[str, Callable[..., WordEmbeddingModel], dict[str, Any]]] = [
        *((text, load, options) for text in models),
        *((text, load_encoder, of_encoders) for text in encoders),
    ]
    for text, loader, how in asked:
        try:
            opened.append(open_model(text, loader, **how))
            if loader is load_encoder:
                opened[-1].name = ", ".join([opened[-1].name, *said])
        except (ValueError, TypeError, OSError, ImportError) as error:
            errors[split_name(text)[0] or text] = error
    if not opened:
        raise next(iter(errors.values()))
    return opened, {name: " ".join(str(error).split()) for name, error in errors.items()}


def open_model(
    text: str, load: Callable[..., WordEmbeddingModel], **options: Any
) -> WordEmbeddingModel:
    """Open what --model names, NAME=FILE included."""
    name, source = split_name(text)
    return load(source, name, **options)


def end(failures: Mapping[str, str]) -> None:
    """Name the models that could not be opened, if any, and end with exit code 1."""
    for name, reason in failures.items():
        logger.error("%s: %s", name, reason)
    if failures:
        raise typer.Exit(1)


def check_for_encoders(
    models: Sequence[str],
    encoders: Sequence[str],
    layer: int,
    pooling: Pooling,
    templates: Sequence[str],
) -> None:
    """Refuse a call without models, and options that would change nothing."""
    if not models and not encoders:
        raise ValueError("say which models: --model or --encoder, for example --model demo.")
    if not encoders and (layer != -1 or pooling is not Pooling.auto or templates):
        raise ValueError("--layer, --pooling and --template are for --encoder, and there is none.")


def split_name(text: str) -> tuple[str | None, str]:
    """Return NAME and the rest of NAME=REST, the name None if there is none.

    Paths and names may hold '=' themselves: what follows a name is then what is there.

    Examples
    --------
    >>> split_name("mine=glove.txt"), split_name("glove.txt")
    (('mine', 'glove.txt'), (None, 'glove.txt'))
    """
    if "=" not in text or is_there(text):
        return None, text
    parts = text.split("=")
    ways = [("=".join(parts[:cut]), "=".join(parts[cut:])) for cut in range(1, len(parts))]
    name, rest = next((way for way in ways if is_there(way[1])), ways[0])
    if not name.strip():
        raise ValueError(f"{short(text)}: there is no name before '='; give one, or leave it out.")
    if not rest:
        raise ValueError(f"{short(text)}: there is nothing after '='.")
    return name, rest


def is_there(text: str) -> bool:
    """Tell whether a text is the path of a file or folder, or of a file in an archive."""
    path = Path(text)
    try:
        return bool(text) and (path.exists() or any(part.is_file() for part in path.parents))
    except (OSError, ValueError):
        # No path is that long, or has such a character.
        return False


def short(text: str, most: int = 80) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
