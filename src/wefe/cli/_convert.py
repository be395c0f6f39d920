"""`wefe convert`: a file that opens at once."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from wefe.cli import _options as opt


class Dtype(StrEnum):
    """How numbers are kept."""

    float32 = "float32"
    float16 = "float16"
    int8 = "int8"


def convert(
    source: Annotated[
        str, typer.Argument(metavar="IN", help="Whatever 'wefe measure --model' takes.")
    ],
    path: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write, .safetensors.")],
    dtype: Annotated[
        Dtype,
        typer.Option(
            help="float16 takes half the room of float32, int8 a quarter (one scale per word)."
        ),
    ] = Dtype.float32,
    limit: Annotated[
        int | None, typer.Option(help="Only the first words; files are sorted by frequency.")
    ] = None,
    lowercase: Annotated[
        bool, typer.Option("--lowercase", help="Lower the case; the first of equal words stays.")
    ] = False,
    only_prefix: Annotated[
        str, typer.Option(help="Only words that start so, '/c/en/' for ConceptNet's English ones.")
    ] = "",
    skip_damaged: Annotated[
        bool, typer.Option("--skip-damaged", help="Leave out damaged lines, and count them.")
    ] = False,
    trust_pickle: opt.TrustPickle = False,
) -> None:
    """Write vectors in the native format, which opens in milliseconds whatever its size.

    Reads IN once, in bounded memory, and writes one safetensors file with matrix and vocabulary.
    OUT appears when it is complete; an interrupted conversion leaves nothing that looks whole.

    Example: wefe convert glove.840B.300d.zip glove.safetensors --dtype float16
    """
    from wefe.models import convert as convert_model

    model = convert_model(
        source,
        path,
        dtype.value,
        limit=limit,
        lowercase="first" if lowercase else None,
        keep=(lambda word: word.startswith(only_prefix)) if only_prefix else None,
        on_error="skip" if skip_damaged else "raise",
        trust_pickle=trust_pickle,
    )
    print(
        f"{path}: {len(model):,} words of {model.dim} dims, {dtype.value}, "
        f"{path.stat().st_size / 1e6:,.1f} MB"
    )
