"""Wrong values for any parameter, and whether a call answers them with an error."""

import math

import numpy as np

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


def is_refused(call):
    """Whether a call with a wrong value ends in an error that a user can understand."""
    try:
        call()
    except (ArithmeticError, AttributeError, LookupError, OSError, TypeError, ValueError):
        return True
    return False
