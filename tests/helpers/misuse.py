"""Wrong values for any parameter, and whether a call answers them with an error of ours."""

import linecache
import math
import re
import traceback
from pathlib import Path

import numpy as np

import wefe

_PACKAGE = str(Path(wefe.__file__).parent)

#: Wrong for nearly everything.
ANYTHING = {
    "None": None,
    "object": object(),
    "text": "text",
    "bytes": b"text",
    "bool": True,
    "float": 2.5,
    "negative": -1,
    "zero": 0,
    "huge": 1e300,
    "NaN": math.nan,
    "infinity": math.inf,
    "complex": 1j,
    "empty list": [],
    "empty dict": {},
    "set": {1.0, 2.0},
    "dict": {"text": 1},
    "class": int,
    "function": len,
    "iterator": iter([1.0, 2.0]),
    "numbers": [1.0, 2.0],
    "texts": ["text", "texts"],
    "nothing in nothing": [[]],
    "ragged": [[1.0, 2.0], [3.0]],
    "too deep": np.ones((2, 2, 2, 2, 2)),
    "an array without axes": np.array(1.0),
}


def complaint(call, culprit=""):
    """Say what is wrong with the outcome of a call with a wrong value; None if it is refused well.

    Returns 'accepted' if the call returns. A message has to name the culprit, a pattern.
    """
    try:
        call()
    except (TypeError, ValueError, LookupError, OSError) as error:
        if isinstance(error, LookupError) and not _is_ours(error):
            return f"{type(error).__name__}: {error}"
        if _is_ours(error):
            return None if re.search(culprit, str(error)) else f"does not name it: {error}"
        return f"not ours: {type(error).__name__}: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "accepted"


def _is_ours(error):
    """Whether a `raise` of the package made it, not an operation within."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    line = linecache.getline(last.filename, last.lineno)
    return last.filename.startswith(_PACKAGE) and line.lstrip().startswith("raise")
