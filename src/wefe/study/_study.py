"""A study: declared in a file, computed where results are missing, read from its results file."""

from __future__ import annotations

import math
import os
import platform
import sys
import time
import tomllib
from collections.abc import Callable, Mapping
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from wefe._checks import check_choice, check_n_jobs, check_positive_int, logger
from wefe._visible import count
from wefe.study._declaration import Declaration, check_declaration
from wefe.study._plan import PLAN, Plan, Task
from wefe.study._results import StudyResults
from wefe.study._store import STUDY, Store, now

if TYPE_CHECKING:
    from wefe.study._planning import Planned

Engine: TypeAlias = Literal["local", "dask"]

_QUERY = {
    "targets": {"Female terms": ["she", "woman"], "Male terms": ["he", "man"]},
    "attributes": {
        "Family": ["home", "children", "parents"],
        "Career": ["office", "salary", "business"],
    },
}
_EXAMPLE: Mapping[str, Any] = {
    "name": "Example",
    "offline": True,
    "models": [{"source": "demo", "name": "minilm-words"}],
    "queries": [{"name": "Gender", "query": [_QUERY]}],
    "metrics": [{"metric": "weat-es"}, {"metric": "ect"}],
    "mitigations": [{"method": "hard-debias", "criterion": "gender"}],
}
_PACKAGES = ("numpy", "scipy", "pandas", "scikit-learn")
_LARGE_PACKAGES = ("torch", "transformers")


class Study:
    """Models, queries and metrics, declared once; running a study computes missing results.

    Parameters
    ----------
    declaration : Declaration or dict
        Content of a study file.
    base : path, default='.'
        Folder that relative paths start from.
    path : path, optional
        The study file. The results are stored in the same folder.

    Examples
    --------
    >>> study = Study.example()
    >>> study
    <Study 'Example': 2 models, 1 query set, 2 metrics, 9 tasks>
    >>> results = study.run(":memory:", progress=False)
    >>> results.aggregated("Gender").round(3).loc["minilm-words"].to_dict()
    {'WEAT-ES': 0.235, 'ECT': 0.5}
    """

    def __init__(
        self,
        declaration: Declaration | Mapping[str, Any],
        base: str | os.PathLike[str] = ".",
        path: str | os.PathLike[str] | None = None,
    ) -> None:
        if not isinstance(declaration, Declaration):
            declaration = check_declaration(declaration)
        self.declaration = declaration
        self._base = Path(base).absolute()
        self.path = None if path is None else Path(path)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Study:
        """Read a study file without running it.

        Parameters
        ----------
        path : path
            A TOML file; ``wefe init`` creates one with explanations. Nothing in it can run code.

        Returns
        -------
        Study
            Relative paths in the file start from its folder.

        Raises
        ------
        FileNotFoundError, ValueError
            If the file does not exist, is not valid TOML, or has an invalid value: one line per
            problem, with its place and the allowed values.
        """
        path = Path(path)
        if not path.is_file():
            raise FileNotFoundError(f"there is no study file {path}. Create one with 'wefe init'.")
        try:
            data = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path} is not TOML: {error}.") from error
        declaration = check_declaration(data, path.name)
        trusted = [model.label for model in declaration.models if model.trust_pickle]
        if trusted:
            risk = "a pickle can run any code that its author put there"
            logger.warning("%s sets trust_pickle for %s: %s", path.name, ", ".join(trusted), risk)
        return cls(declaration, path.absolute().parent, path)

    @classmethod
    def example(cls) -> Study:
        """Return a study without files: packaged vectors, hard-debiased too, 1 query, 2 metrics."""
        return cls(_EXAMPLE)

    def _make_plan(self) -> Planned:
        from wefe.study._planning import Planned

        return Planned(self.declaration, self._base)

    @cached_property
    def plan(self) -> Plan:
        """The tasks of the study. Checks files, but opens no model."""
        return self._make_plan().plan

    @property
    def results_path(self) -> Path:
        """Default path of the results file: beside the study file, with its name and '.db'."""
        name = "study.toml" if self.path is None else self.path.name
        return (self._base / name).with_suffix(".db")

    def run(
        self,
        results: str | os.PathLike[str] | None = None,
        *,
        n_jobs: int | None = None,
        engine: Engine = "local",
        scheduler: str | None = None,
        progress: bool = True,
    ) -> StudyResults:
        """Compute missing results and return all of them.

        Parameters
        ----------
        results : path, optional
            The results file, by default `results_path`; ':memory:' for none. Results of the same
            vectors, query, metric, parameters and version of wefe are reused.
        n_jobs : int, optional
            Worker processes; -1: one per core; None: this one. If one dies, only its model fails.
        engine : {'local', 'dask'}, default='local'
            Compute on this machine or on a Dask cluster (``wefe[dask]``).
        scheduler : str, optional
            Address of the Dask scheduler, 'tcp://host:8786', whose workers find the models at the
            same paths. Default: a new local cluster.
        progress : bool, default=True
            Whether to show a progress bar on a terminal.

        Returns
        -------
        StudyResults
            Includes failures: if a model cannot be opened, only its own tasks fail.

        Raises
        ------
        ValueError, FileNotFoundError, ImportError
            If an option or a name is invalid, the results file is damaged or of another version, or
            a file or an optional package that the study needs does not exist.
        TimeoutError, OSError, KeyboardInterrupt
            If another run locks the results file, it cannot be written, or on Ctrl-C. Finished
            results are stored.
        """
        from wefe.study._run import compute, executors_of

        check_choice("engine", engine, ("local", "dask"))
        if scheduler is not None and engine != "dask":
            raise ValueError(f"scheduler={scheduler!r} is for engine='dask'.")
        check_n_jobs(n_jobs)
        # Plan again, because files may have changed.
        planned = self._make_plan()
        start = time.perf_counter()
        file = None if self.path is None else self.path.name
        run = {"started": now(), **_environment(), "engine": engine, "study_file": file}
        with Store(self.results_path if results is None else results) as store:
            _keep_study(store, planned, run)
            every = set(range(len(planned.plan.tasks)))
            with executors_of(engine, scheduler, n_jobs) as executors:
                n_computed = compute(planned, store, executors, every, progress=progress)
            run |= {
                "finished": now(),
                "seconds": time.perf_counter() - start,
                "n_computed": n_computed,
            }
            _keep_study(store, planned, run)
            return StudyResults._from_store(store)

    def _again(
        self, is_asked: Callable[[int, Task], bool], n_jobs: int | None, progress: bool = True
    ) -> StudyResults:
        """Compute the tasks that are asked for, and store nothing."""
        from wefe.study._run import compute, executors_of

        check_n_jobs(n_jobs)
        planned = self._make_plan()
        only = {at for at, task in enumerate(planned.plan.tasks) if is_asked(at, task)}
        with Store(":memory:") as store, executors_of("local", None, n_jobs) as executors:
            compute(planned, store, executors, only, progress=progress)
            return StudyResults._of(store, planned.plan, planned.model_keys, {})

    def results(self, results: str | os.PathLike[str] | None = None) -> StudyResults:
        """Return the results so far, without computing anything.

        Parameters
        ----------
        results : path, optional
            The results file, by default `results_path`. FileNotFoundError if it does not exist.

        Returns
        -------
        StudyResults
            Tasks not computed yet have the status 'missing'. If the study file is unchanged since
            the last run, the models are not checked for changes.
        """
        path = self.results_path if results is None else results
        with Store(path, create=False) as store:
            kept = StudyResults._from_store(store)
            if kept.plan.settings == self.declaration.canonical():
                return kept
            # The study changed since its run: return what still applies.
            planned = self._make_plan()
            return StudyResults._of(store, planned.plan, planned.model_keys, {})

    def __repr__(self) -> str:
        plan = self.plan
        parts = (plan.models, "model"), (plan.query_sets, "query set"), (plan.metrics, "metric")
        counts = [count(len(each), what) for each, what in (*parts, (plan.tasks, "task"))]
        return f"<{type(self).__name__} {plan.name!r}: {', '.join(counts)}>"


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
        The study, with its models.
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
        One row per result: 'kind', 'model_name', 'place', 'largest_difference' (infinite if more
        than numbers differ), 'passed' and 'reason'.

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
    if [task.id for task in study.plan.tasks] != [task.id for task in results.plan.tasks]:
        raise ValueError(
            "the study file has changed since the study was run. Run it again, or verify with the "
            "old file."
        )
    generator = np.random.default_rng(random_state)
    drawn = sorted(generator.choice(done, min(n, len(done)), replace=False).tolist())
    again = study._again(lambda at, _: at in drawn, n_jobs, progress)
    rows = []
    for at in drawn:
        task, before, after = results.plan.tasks[at], results.outcomes[at], again.outcomes[at]
        difference = _difference(_shown(before.value), _shown(after.value))
        passed = difference <= tolerance
        reason = after.failure or "the numbers, texts or words differ"
        if after.status == "done" and before.key != after.key:
            reason = "the vectors of the model or the version of wefe have changed"
        place = ", ".join(task.place.values())
        shown_reason = None if passed else reason
        rows.append((task.kind, task.model, place, difference, passed, shown_reason))
    columns = ["kind", "model_name", "place", "largest_difference", "passed", "reason"]
    return pd.DataFrame(rows, columns=columns)


def _shown(value: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a result without the encoded resamples of its interval."""
    return {key: part for key, part in (value or {}).items() if key != "distances"}


def _difference(one: Any, other: Any) -> float:
    """Return the largest difference of the numbers in plain data; infinite if more differs."""
    kinds = {type(one), type(other)}
    if kinds <= {int, float}:  # a bool is no number here
        return float(abs(one - other))
    if kinds == {dict}:
        return _difference([*map(list, one.items())], [*map(list, other.items())])
    if kinds == {list} and len(one) == len(other):
        return max(map(_difference, one, other), default=0.0)
    return 0.0 if repr(one) == repr(other) else math.inf  # True == 1


def _keep_study(store: Store, planned: Planned, run: Mapping[str, Any]) -> None:
    """Store the study itself, so that results can be read without the study file."""
    plan = PLAN.dump_python(planned.plan, mode="json")
    value = {"plan": plan, "models": planned.model_keys, "run": run}
    store.put([(STUDY, "study", value, 0.0)])


def _environment() -> dict[str, Any]:
    from wefe import __version__

    # Of large packages, only those in use.
    used = [*_PACKAGES, *(name for name in _LARGE_PACKAGES if name in sys.modules)]
    return {
        "wefe": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: metadata.version(name) for name in used},
    }
