"""A study: declared in a file, run as far as results are missing, read from its results file."""

from __future__ import annotations

import logging
import os
import platform
import sqlite3
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from wefe._checks import check_bool, check_choice, found
from wefe._progress import progress_bar
from wefe.study._plan import Plan
from wefe.study._results import Outcome, StudyResults
from wefe.study._store import Store, now
from wefe.study._work import Done, Message, Opened, Unit

if TYPE_CHECKING:
    from wefe.study._declaration import Declaration
    from wefe.study._planning import Planned

logger = logging.getLogger(__name__)

Engine: TypeAlias = Literal["local", "dask"]

_EXAMPLE: Mapping[str, Any] = {
    "name": "Example",
    "offline": True,
    "models": [{"source": "demo", "name": "minilm-words"}],
    "queries": [
        {
            "name": "Gender",
            "query": [
                {
                    "targets": {"Female terms": ["she", "woman"], "Male terms": ["he", "man"]},
                    "attributes": {
                        "Family": ["home", "children", "parents"],
                        "Career": ["office", "salary", "business"],
                    },
                }
            ],
        }
    ],
    "metrics": [{"metric": "weat-es"}, {"metric": "ect"}],
    "mitigations": [{"method": "hard-debias", "criterion": "gender"}],
}
_PACKAGES = ("numpy", "scipy", "pandas", "scikit-learn", "torch", "transformers")


class Study:
    """Models, queries and metrics, declared once; run as far as results are missing.

    Parameters
    ----------
    declaration : Declaration or dict
        What a study file holds.
    base : path, default='.'
        Folder that relative paths start from.
    path : path, optional
        The study file; the results are kept beside it.

    Raises
    ------
    ValueError
        If the declaration is wrong: one line for each key.

    See Also
    --------
    wefe.study.Study.from_file : the usual way to make one.
    wefe.study.StudyResults : what it returns.

    Examples
    --------
    >>> study = Study.example()
    >>> study
    <Study 'Example': 2 models, 1 query set, 2 metrics, 8 tasks>
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
        from wefe.study._declaration import Declaration, check_declaration

        if not isinstance(declaration, Declaration):
            declaration = check_declaration(declaration)
        self.declaration = declaration
        self._base = Path(base).absolute()
        self.path = None if path is None else Path(path)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Study:
        """Read a study file (TOML).

        Parameters
        ----------
        path : path
            The file; :func:`wefe.study.study_file` has two to begin with.

        Returns
        -------
        Study
            Checked, and not run yet. Paths in the file are relative to its folder.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            If it is no TOML, or declares no study: one line for each key that is wrong.
        """
        from wefe.study._declaration import read_declaration

        return cls(read_declaration(path), Path(path).absolute().parent, path)

    @classmethod
    def example(cls) -> Study:
        """Return a small study that needs no files, for tests and documentation.

        Returns
        -------
        Study
            The packaged vectors as they are and hard-debiased, one query, two metrics.
        """
        return cls(_EXAMPLE)

    def _make_plan(self) -> Planned:
        from wefe.study._planning import Planner

        try:
            return Planner(self.declaration, self._base).plan()
        except (OSError, ValueError, ImportError) as error:
            if self.path is None or self.path.name in str(error):
                raise
            kinds = (FileNotFoundError, ConnectionError, ImportError, OSError)
            kind = next((kind for kind in kinds if isinstance(error, kind)), ValueError)
            raise kind(f"{self.path.name}: {error}") from error

    @cached_property
    def plan(self) -> Plan:
        """What there is to be computed. Files are looked at for it, models are not opened."""
        return self._make_plan().plan

    @property
    def results_path(self) -> Path:
        """Where results are kept unless another file is named."""
        return self.declaration.results_path(
            self._base / ("study.toml" if self.path is None else self.path.name)
        )

    def run(
        self,
        results: str | os.PathLike[str] | None = None,
        *,
        n_jobs: int | None = None,
        engine: Engine = "local",
        scheduler: str | None = None,
        reopen: bool = False,
        progress: bool = True,
    ) -> StudyResults:
        """Compute what is missing, and return everything.

        Parameters
        ----------
        results : path, optional
            The results file, by default `results_path`; ':memory:' for none. It is made if
            it does not exist. What it holds already is not computed again: results are kept under
            a hash of the vectors, the query, the metric, its parameters and the version of wefe.
        n_jobs : int, optional
            Number of processes, each of which opens one model at a time; None is 1: this one.
            -1 is one for each core. The results are the same.
        engine : {'local', 'dask'}, default='local'
            Where to compute: on this machine, or on a cluster (``wefe[dask]``).
        scheduler : str, optional
            Address of the Dask scheduler, 'tcp://host:8786'. Its workers need wefe, and the same
            paths to the models. By default the client of this process, or a cluster of its own.
        reopen : bool, default=False
            Open every model, also those whose files have the size and time that they had.
        progress : bool, default=True
            Whether a bar shows progress and the time left, on a terminal.

        Returns
        -------
        StudyResults
            With failures, if there are any: a model that cannot be opened fails its own tasks, and
            no others.

        Raises
        ------
        ValueError
            If an option is wrong, something that the study names is wrong, or the results file
            is damaged or of another version.
        FileNotFoundError
            If a file that the study names does not exist.
        ImportError
            If ``wefe[dask]`` or what else the study needs is not installed.
        TimeoutError
            If another run keeps the results file locked.
        OSError
            If the results file cannot be written.
        KeyboardInterrupt
            On Ctrl-C. What was finished is in the results file.
        """
        check_choice("engine", engine, ("local", "dask"))
        check_bool("reopen", reopen)
        check_bool("progress", progress)
        if scheduler is not None and engine != "dask":
            raise ValueError("scheduler is for engine='dask'.")
        n_processes = _n_processes(n_jobs)
        # Anew each time, as files may have changed since.
        planned = self._make_plan()
        start = time.perf_counter()
        file = None if self.path is None else self.path.name
        run = {"started": now(), **_environment(), "engine": engine, "study_file": file}
        with Store(self.results_path if results is None else results) as store:
            other = store.study_file(planned.plan.name)
            if other is not None and other != file:
                logger.warning(
                    "%s had a study called %r of %s; what is shown of it is now that of %s",
                    *(store.path, planned.plan.name, other, file),
                )
            store.add_study(planned.plan, planned.requests, planned.models, run)
            ledger = _Ledger(planned, store)
            units = ledger.units(reopen=reopen, n_processes=n_processes)
            total = sum(len(unit.positions) for unit in units)
            with (
                _messages(units, ledger, n_processes, engine, scheduler) as messages,
                progress_bar(total, planned.plan.name, "task", progress) as bar,
            ):
                for message in messages:
                    bar.update(ledger.enter(message))
            run |= {
                "finished": now(),
                "seconds": time.perf_counter() - start,
                "n_computed": ledger.n_computed,
            }
            store.add_study(planned.plan, planned.requests, planned.models, run)
            return read_results(store, planned.plan.name)

    def results(self, results: str | os.PathLike[str] | None = None) -> StudyResults:
        """Return what was computed so far, without computing anything.

        Parameters
        ----------
        results : path, optional
            The results file, by default `results_path`.

        Returns
        -------
        StudyResults
            Tasks that were not computed yet are 'missing' in it.

        Raises
        ------
        FileNotFoundError
            If there is no such file.

        Notes
        -----
        If the study file is as it was when it was run, the models are not looked at: results are
        those of the last run, whatever became of the files since.
        """
        path = self.results_path if results is None else results
        with Store(path, create=False) as store:
            if self.declaration.name in store.studies():
                kept = read_results(store, self.declaration.name)
                if self._declares(kept.plan):
                    return kept
            # Changed since it was run: what is there of it as it is now.
            planned = self._make_plan()
            return _results(store, planned.plan, planned.requests, planned.models, {})

    def _declares(self, plan: Plan) -> bool:
        """Tell whether a plan is of this very declaration."""
        from wefe.study._planning import settings_of

        return dict(plan.settings) == settings_of(self.declaration)

    def __repr__(self) -> str:
        plan = self.plan
        counts = {
            "model": len(plan.models),
            "query set": len(plan.query_sets),
            "metric": len(plan.metrics),
            "task": len(plan.tasks),
        }
        listed = ", ".join(f"{n} {what}{'' if n == 1 else 's'}" for what, n in counts.items())
        return f"<{type(self).__name__} {plan.name!r}: {listed}>"


class _Ledger:
    """Keeps what units report, and knows what is missing."""

    def __init__(self, planned: Planned, store: Store) -> None:
        self._planned, self._store = planned, store
        self._keys: dict[int, str] = {}
        # A key that is being computed, with the other tasks that wait for it.
        self._in_work: dict[str, list[int]] = {}
        self.n_computed = 0

    def units(self, *, reopen: bool, n_processes: int) -> list[Unit]:
        """Return the units with the tasks of which nothing tells that they are done."""
        from wefe.models.formats._source import available_cores

        done = set() if reopen else self._store.done(self._planned.requests)
        units = []
        for unit in self._planned.units:
            variants = []
            for variant in unit.variants:
                unsure = reopen or variant.label in self._planned.to_open
                left = tuple(
                    (position, task)
                    for position, task in variant.tasks
                    if unsure or self._planned.requests[position] not in done
                )
                if left:
                    variants.append(replace(variant, tasks=left))
            if variants:
                units.append(replace(unit, variants=tuple(variants)))
        n_processes = min(n_processes, len(units))
        if n_processes > 1:
            # Side by side, so that more threads than cores would be in each other's way.
            n_threads = max(1, available_cores() // n_processes)
            units = [replace(unit, n_threads=n_threads) for unit in units]
        return units

    def missing(self, opened: Opened) -> set[int]:
        """Keep which results the tasks of a model have now; return the tasks without."""
        requests = self._planned.requests
        present = self._store.link({requests[at]: key for at, key in opened.keys.items()})
        self._store.add_model(self._planned.models[opened.label], opened.info)
        self._keys |= opened.keys
        wanted: set[int] = set()
        for position, key in opened.keys.items():
            if key in present:
                continue
            if key not in self._in_work:
                wanted.add(position)
            self._in_work.setdefault(key, []).append(position)
        return wanted

    def enter(self, message: Message) -> int:
        """Keep a message; return how many tasks it settles."""
        requests = self._planned.requests
        if isinstance(message, Opened):
            # Those that are in work are counted when they are done.
            return sum(
                self._keys[at] not in self._in_work or at not in self._in_work[self._keys[at]]
                for at in message.keys
            )
        if isinstance(message, Done):
            (position,) = message.positions
            key = self._keys[position]
            kind = self._planned.plan.tasks[position].kind
            self._store.add(key, kind, message.value, message.seconds)
            self.n_computed += 1
            return len(self._in_work.pop(key))
        positions = [
            other
            for position in message.positions
            for other in self._in_work.pop(self._keys.get(position, ""), [position])
        ]
        self._store.add_failures([requests[at] for at in positions], message.reason)
        for label in dict.fromkeys(self._planned.plan.tasks[at].model for at in positions):
            logger.info("%s failed: %s", label, message.reason)
        return len(positions)


def read_results(store: Store, name: str) -> StudyResults:
    """Return the results of a study from a results file."""
    try:
        plan, requests, models, run = store.study(name)
        if len(requests) != len(plan.tasks):
            raise ValueError("it has more or fewer results than tasks")
        return _results(store, plan, requests, models, run)
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise ValueError(f"{store.path} is damaged: {type(error).__name__}: {error}.") from error
    except sqlite3.Error as error:
        raise ValueError(f"{store.path} is damaged: {error}.") from error


def _results(
    store: Store,
    plan: Plan,
    requests: Sequence[str],
    models: Mapping[str, str],
    run: Mapping[str, Any],
) -> StudyResults:
    outcomes = tuple(Outcome(**outcome) for outcome in store.outcomes(requests))
    return StudyResults(plan, outcomes, store.models(models), run)


def _n_processes(n_jobs: int | None) -> int:
    import joblib

    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs == 0:
        raise ValueError(
            f"n_jobs must be a number of processes, or -1 for one per core; got {found(n_jobs)}."
        )
    # Not joblib.parallel_config's number: its backends are not ours.
    return int(joblib.effective_n_jobs(n_jobs))


@contextmanager
def _messages(
    units: Sequence[Unit],
    ledger: _Ledger,
    n_processes: int,
    engine: Engine,
    scheduler: str | None,
) -> Iterator[Iterator[Message]]:
    from wefe.study import _engine

    if not units:
        yield iter(())
    elif engine == "dask":
        with _client(scheduler) as client:
            yield _engine.run_on_dask(units, ledger.missing, client)
    elif min(n_processes, len(units)) > 1:
        messages = _engine.run_in_processes(units, ledger.missing, n_processes)
        try:
            yield messages
        finally:
            # Ends the workers, also after an error here.
            messages.close()  # type: ignore[attr-defined]
    else:
        yield _engine.run_here(units, ledger.missing)


def _client(scheduler: str | None) -> Any:
    try:
        import distributed
    except ImportError as error:
        raise ImportError(
            "engine='dask' needs dask.distributed: pip install 'wefe[dask]'."
        ) from error
    if scheduler is None:
        try:
            return nullcontext(distributed.get_client())
        except ValueError:
            pass
    return distributed.Client(scheduler)  # type: ignore[no-untyped-call]


def _environment() -> dict[str, Any]:
    from wefe import __version__

    packages = {}
    for name in _PACKAGES:
        # Not those that are merely installed.
        module = {"scikit-learn": "sklearn"}.get(name, name)
        if module in sys.modules or name in ("numpy", "scipy", "pandas", "scikit-learn"):
            packages[name] = metadata.version(name)
    return {
        "wefe": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": packages,
    }
