"""Types that the modules of models share."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from wefe._checks import check_bool, check_choice, check_given, check_positive_int

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

#: The words of a matrix: themselves, or the file that has them.
Vocabulary: TypeAlias = str | os.PathLike[str] | Sequence[str]


@dataclass(frozen=True)
class Reading:
    """Options for reading; see `wefe.models.load`."""

    limit: int | None = None
    lowercase: Lowercase | None = None
    keep: Callable[[str], bool] | None = None
    min_count: int | None = None
    subwords: Subwords | None = None
    vocabulary: Vocabulary | None = None
    on_error: Literal["raise", "skip"] = "raise"
    trust_pickle: bool = False
    token: str | bool | None = None
    n_jobs: int | None = None
    progress: bool = True

    def __post_init__(self) -> None:
        check_choice("on_error", self.on_error, ("raise", "skip"))
        check_bool("trust_pickle", self.trust_pickle)
        numbers = {"limit": self.limit, "min_count": self.min_count, "n_jobs": self.n_jobs}
        check_given(check_positive_int, **numbers)
        check_given(partial(check_choice, choices=get_args(Subwords)), subwords=self.subwords)
        check_given(partial(check_choice, choices=get_args(Lowercase)), lowercase=self.lowercase)
