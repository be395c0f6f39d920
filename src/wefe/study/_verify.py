"""Check whether the numbers in a results file are reproduced."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from wefe._checks import check_positive_int
from wefe.study._results import StudyResults
from wefe.study._study import Study


def verify(
    study: Study,
    results: StudyResults,
    n: int = 20,
    *,
    tolerance: float = 1e-9,
    random_state: int | None = None,
    n_jobs: int | None = None,
    progress: bool = True,
) -> pd.DataFrame:
    """Recompute a random sample of results and compare them.

    Parameters
    ----------
    study : Study
        The study; its models must be available.
    results : StudyResults
        The results to verify.
    n : int, default=20
        Number of results to draw; all of them if there are fewer.
    tolerance : float, default=1e-9
        Largest difference of two numbers that counts as equal. On one machine they agree exactly.
    random_state : int, optional
        Seed of the draw; None for a new sample each time.
    n_jobs, progress : optional
        As in :meth:`Study.run`.

    Returns
    -------
    DataFrame
        One row per result: 'kind', 'model_name', 'place', 'largest_difference' (infinite if
        anything but a number differs), 'passed', and 'reason' if the result is not reproduced.

    Raises
    ------
    ValueError
        If `n` is less than 1, no result is available, or the study file changed since the run.

    Examples
    --------
    >>> from wefe.study import Study, verify
    >>> study = Study.example()
    >>> results = study.run(":memory:", progress=False)
    >>> bool(verify(study, results, n=3, progress=False)["passed"].all())
    True
    """
    check_positive_int("n", n)
    done = [at for at, outcome in enumerate(results.outcomes) if outcome.status == "done"]
    if not done:
        raise ValueError("there are no results to verify yet. Run the study first.")
    asked, was_asked = ([(t.model, t.digest) for t in p.tasks] for p in (study.plan, results.plan))
    if asked != was_asked:
        raise ValueError(
            "the study file has changed since the study was run. Run it again, or verify with the "
            "old file."
        )
    generator = np.random.default_rng(random_state)
    drawn = sorted(generator.choice(done, min(n, len(done)), replace=False).tolist())
    again = study._again(set(drawn), n_jobs, progress)
    rows = []
    for at in drawn:
        task, before, after = results.plan.tasks[at], results.outcomes[at], again.outcomes[at]
        difference = _difference(_shown(before.value), _shown(after.value))
        passed = difference <= tolerance
        reason = None if passed else after.reason or "the numbers, texts or words differ"
        if not passed and after.status == "done" and before.key != after.key:
            reason = "the vectors of the model or the version of wefe have changed"
        place = ", ".join(task.place.values())
        rows.append((task.kind, task.model, place, difference, passed, reason))
    columns = ["kind", "model_name", "place", "largest_difference", "passed", "reason"]
    return pd.DataFrame(rows, columns=columns)


def _shown(value: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a result without the encoded resamples of its interval."""
    return {key: part for key, part in (value or {}).items() if key != "distances"}


def _difference(one: Any, other: Any) -> float:
    """Return the largest difference of the numbers in plain data; infinite if more differs."""
    if isinstance(one, bool) or isinstance(other, bool) or one is None or other is None:
        return 0.0 if one is other else math.inf
    if isinstance(one, int | float) and isinstance(other, int | float):
        return abs(one - other)
    if isinstance(one, Mapping) and isinstance(other, Mapping) and list(one) == list(other):
        return max((_difference(one[key], other[key]) for key in one), default=0.0)
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return max(map(_difference, one, other), default=0.0)
    return 0.0 if one == other else math.inf
