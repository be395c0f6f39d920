"""Open models and queries as options name them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from wefe.datasets._opened import OpenedQueries
    from wefe.models import WordEmbeddingModel

logger = logging.getLogger(__name__)


def preprocessors(lowercase: bool) -> list[dict[str, Any]]:
    """Return the look-up options: words as written, then in lower case if requested."""
    return [{}, {"lowercase": True}] if lowercase else [{}]


def declared_models(
    models: Sequence[str],
    encoders: Sequence[str],
    of_tables: Mapping[str, Any],
    options: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """Return --model and --encoder as study-file entries; `options` are those of encoders."""
    if not models and not encoders:
        raise ValueError("there is no model: give --model or --encoder, for example --model demo.")
    of_encoders = {key: options[key] for key in ("layer", "pooling", "dim")}
    of_encoders |= {"templates": options["template"] or None, "prompt": options["prompt"] or None}
    asked = [("source", text, of_tables) for text in models]
    asked += [("encoder", text, of_encoders) for text in encoders]
    entries = []
    for kind, text, options in asked:
        name, where = split_name(text)
        given = {key: value for key, value in options.items() if value is not None}
        entries.append({kind: where, "name": name, **given})
    return entries


def declared_queries(names: Sequence[str]) -> list[dict[str, Any]]:
    """Return --queries as study-file entries."""
    from wefe.datasets._queries import QUERY_SETS
    from wefe.study._schema import existing_file

    def declared(name: str) -> dict[str, Any]:
        if name in QUERY_SETS:
            return {"set": name}
        try:
            return {"file": existing_file(name, ".", list(QUERY_SETS))}
        except FileNotFoundError as error:
            raise FileNotFoundError(f"--queries: {error}") from error

    return [declared(name) for name in dict.fromkeys(names)]


def open_queries(names: Sequence[str], offline: bool) -> list[OpenedQueries]:
    """Open the sets of --queries; after a failed download, try no other."""
    from wefe.datasets._opened import open_query_set

    opened: list[OpenedQueries] = []
    for name in dict.fromkeys(names):
        opened.append(open_query_set(name, offline, "--queries"))
        offline = offline or opened[-1].offline
    return opened


def open_models(
    declared: Sequence[dict[str, Any]], words: Collection[str]
) -> tuple[list[WordEmbeddingModel], dict[str, str]]:
    """Return the opened models, and the reasons why others failed; if all fail, raise."""
    from wefe.contextual import load_encoder
    from wefe.models import load
    from wefe.study._entries import EncoderEntry, TableEntry

    opened: list[WordEmbeddingModel] = []
    errors: dict[str, Exception] = {}
    for each in declared:
        entry = EncoderEntry(**each) if "encoder" in each else TableEntry(**each)
        options = entry.load_options()
        try:
            if entry.is_encoder:
                opened.append(load_encoder(entry.place, name=entry.label, **options))
            else:
                opened.append(load(entry.place, entry.name, words=words, **options))
        except (ValueError, TypeError, OSError, ImportError) as error:
            errors[entry.label] = error
    if not opened:
        raise next(iter(errors.values()))
    return opened, {name: " ".join(str(error).split()) for name, error in errors.items()}


def open_model(
    text: str, load: Callable[..., WordEmbeddingModel], **options: Any
) -> WordEmbeddingModel:
    """Open the model of --model, also as NAME=FILE."""
    name, source = split_name(text)
    return load(source, name, **options)


def end(failures: Mapping[str, str]) -> None:
    """Report the models that could not be opened, if any, and exit with code 1."""
    for name, reason in failures.items():
        logger.error("%s: %s", name, reason)
    if failures:
        raise typer.Exit(1)


def split_name(text: str) -> tuple[str | None, str]:
    """Split NAME=REST; without a name, NAME is None. If '=' is ambiguous, REST is what exists.

    >>> split_name("mine=glove.txt"), split_name("glove.txt")
    (('mine', 'glove.txt'), (None, 'glove.txt'))
    """
    if "=" not in text or is_there(text):
        return None, text
    parts = text.split("=")
    ways = [("=".join(parts[:cut]), "=".join(parts[cut:])) for cut in range(1, len(parts))]
    name, rest = next((way for way in ways if is_there(way[1])), ways[0])
    if not name.strip():
        raise ValueError(
            f"{short(text)}: there is no name before '='. Give a name, or leave out '='."
        )
    if not rest:
        raise ValueError(f"{short(text)}: expected a file, a name or a list after '='.")
    return name, rest


def read_lines(option: str, path: Path) -> list[str]:
    try:
        # Not splitlines, which splits at further characters that words may contain.
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{option} {path} is not UTF-8 text: {error}.") from error
    return [line.strip() for line in lines if line.strip()]


def is_there(text: str) -> bool:
    """Return whether a text is the path of a file or folder, or of a file in an archive."""
    path = Path(text)
    try:
        return bool(text) and (path.exists() or any(part.is_file() for part in path.parents))
    except (OSError, ValueError):
        # The text is too long for a path, or has a character that paths cannot have.
        return False


def short(text: str, most: int = 80) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
