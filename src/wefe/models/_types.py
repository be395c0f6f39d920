"""Types that the modules of models share."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.floating[Any]]

#: Words and their vectors, one per row.
Block: TypeAlias = tuple[list[str], FloatArray]

#: Where the vectors of a model are: parsed for the words asked for, in a file and read when they
#: are used, or in memory.
Held: TypeAlias = Literal["selected", "mapped", "memory"]

#: The vector of a word that is several subwords: that of the first, their mean, or none.
Subwords: TypeAlias = Literal["first", "mean", "refuse"]

#: What becomes of words that differ in case only: the first counts, or their mean.
Lowercase: TypeAlias = Literal["first", "mean"]

# Rows that are worked on at once: bounds the temporary memory to some tens of MB.
CHUNK_ROWS = 16_384
