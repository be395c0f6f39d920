"""Open models and queries as options name them, and run studies in memory."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from wefe.contextual import load_encoder
from wefe.datasets._opened import OpenedQueries, open_query_set
from wefe.datasets._queries import QUERY_SETS
from wefe.models import WordEmbeddingModel, load
from wefe.study import StudyResults
from wefe.study._entries import EncoderEntry, TableEntry
from wefe.study._schema import existing_file

logger = logging.getLogger(__name__)


def preprocessors(lowercase: bool) -> list[dict[str, Any]]:
    """Return the look-up options: words as written, then in lower case if requested."""
    return [{}, {"lowercase": True}] if lowercase else [{}]


def declared_queries(names: Sequence[str]) -> list[dict[str, Any]]:
    """Return --queries as study-file entries."""

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
    opened: list[OpenedQueries] = []
    for name in dict.fromkeys(names):
        opened.append(open_query_set(name, offline, "--queries"))
        offline = offline or opened[-1].offline
    return opened


def open_models(
    declared: Sequence[dict[str, Any]], words: Collection[str]
) -> tuple[list[WordEmbeddingModel], dict[str, str]]:
    """Return the opened models, and the reasons why others failed; if all fail, raise."""
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


def failures_of(results: StudyResults) -> dict[str, str]:
    """Return why models failed; if all failed, raise."""
    failures = dict(results.failures()[["model_name", "reason"]].to_numpy())
    if len(failures) == len(results.plan.models):
        raise ValueError("; ".join(f"{name}: {reason}" for name, reason in failures.items()))
    return failures


def end(failures: Mapping[str, str]) -> None:
    """Report the models that could not be opened, if any, and exit with code 1."""
    for name, reason in failures.items():
        logger.error("%s: %s", name, reason)
    if failures:
        raise typer.Exit(1)


def read_lines(option: str, path: Path) -> list[str]:
    try:
        # Not splitlines, which splits at further characters that words may contain.
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{option} {path} is not UTF-8 text: {error}.") from error
    return [line.strip() for line in lines if line.strip()]
