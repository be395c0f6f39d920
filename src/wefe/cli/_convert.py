"""`wefe convert`: write vectors to a file that opens at once."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from wefe.cli import _options as opt
from wefe.models import convert as convert_model


@opt.command
def convert(
    source: str,
    path: Path,
    *,
    dtype: Literal["float32", "float16", "int8"] = "float32",
    limit: int | None = None,
    lowercase: bool = False,
    only_prefix: str = "",
    skip_damaged: bool = False,
    trust_pickle: bool = False,
) -> None:
    """Write vectors to a file that opens in milliseconds.

    Reads IN once, with little memory, and writes a safetensors file. OUT appears only when it is
    complete.

    Example: wefe convert glove.840B.300d.zip glove.safetensors --dtype float16

    Parameters
    ----------
    source : IN
        Anything that 'wefe measure --model' accepts.
    path : OUT
        File to write, ending in .safetensors.
    dtype
        float16 takes half the space of float32, int8 a quarter (one scale per word).
    limit : N
        Keep only the first N words; most files begin with frequent words.
    lowercase
        Convert words to lower case. If words become equal, keep the first.
    only_prefix : PREFIX
        Keep only words with this prefix, for example '/c/en/' for the English words of ConceptNet.
    skip_damaged
        Skip damaged lines, and report their number.
    """
    model = convert_model(
        source,
        path,
        dtype,
        limit=limit,
        lowercase="first" if lowercase else None,
        keep=(lambda word: word.startswith(only_prefix)) if only_prefix else None,
        on_error="skip" if skip_damaged else "raise",
        trust_pickle=trust_pickle,
    )
    print(
        f"{path}: {len(model):,} words of {model.dim} dims, {dtype}, "
        f"{path.stat().st_size / 1e6:,.1f} MB"
    )
