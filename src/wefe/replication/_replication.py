"""A replication: a paper's study run on given models, its tables, figures and printed values."""

from __future__ import annotations

import json
import os
import tempfile
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from importlib import import_module, resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import pandas as pd

from wefe._checks import check_choice, found
from wefe._files import atomic_file
from wefe._visible import as_csv
from wefe.datasets import load_query_set
from wefe.models import WordEmbeddingModel, load, load_test_model
from wefe.models._load import words_of
from wefe.quality import load_benchmark
from wefe.study import Study, StudyResults, study_file

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from wefe.query import Query

T = TypeVar("T")

_FILES = resources.files("wefe.replication")

#: What a model may be given as: where it is, the model itself, or an entry of a study file.
ModelLike: TypeAlias = str | os.PathLike[str] | WordEmbeddingModel | Mapping[str, Any]
#: (item, score, model) -> value, by the names of the printed values.
Values: TypeAlias = dict[Any, float]
_KEY = ["item", "score", "model"]


class Findings(NamedTuple):
    """What a paper shows, computed for the models of a run."""

    tables: dict[str, pd.DataFrame]
    figures: dict[str, go.Figure]
    measured: Values
    notes: Sequence[str] = ()
    # (item, model) of values for which the model lacks some words.
    incomplete: Collection[tuple[str, str]] = ()


class Run(NamedTuple):
    """What a paper's module makes its findings of."""

    study: Study
    results: StudyResults
    printed: pd.DataFrame
    random_state: int
    n_jobs: int | None
    progress: bool
    # Where slow parts may be kept.
    folder: Path

    def open_models(self, words: Iterable[str | Query] | None) -> dict[str, WordEmbeddingModel]:
        """Open the models: words and those of queries, or None for all, which encoders lack."""
        return {
            entry.label: _opened(entry, words)
            for entry in self.study.declaration.models
            if words is not None or not entry.is_encoder
        }

    def printed_in(self, table: str) -> pd.DataFrame:
        """Return the values that one table of the paper prints."""
        return self.printed[self.printed["table"] == table]


@dataclass(frozen=True, repr=False)
class Replication:
    """A paper's tables and figures, computed for your models.

    Attributes
    ----------
    name : str
        Name of the replication.
    paper : dict
        What is known of the paper: 'title', 'reference', 'shows', 'minutes', 'models'.
    tables : dict of str to DataFrame
        Title -> table, in the paper's order and shape.
    figures : dict of str to plotly Figure
        Title -> figure.
    comparison : DataFrame
        One row per printed value: 'table', 'item', 'score', 'model', 'printed', 'value',
        'tolerance', 'verdict' ('agrees', 'differs' or 'not comparable'), 'reason', 'source'.
    notes : tuple of str
        What to know before you read the tables.
    results : StudyResults
        The results of the study.

    Examples
    --------
    >>> from wefe import replicate
    >>> replicate("weat", progress=False)
    <Replication of Caliskan, Bryson and Narayanan, Science 356, 2017: ... 20 printed values (20 not
    comparable)>
    """

    name: str
    paper: Mapping[str, Any]
    tables: Mapping[str, pd.DataFrame]
    figures: Mapping[str, go.Figure]
    comparison: pd.DataFrame
    notes: tuple[str, ...]
    results: StudyResults

    def verdicts(self) -> dict[str, int]:
        """Return how many printed values agree, differ or cannot be compared.

        Returns
        -------
        dict of str to int
            Verdict -> number of printed values, without verdicts that do not occur.
        """
        counts = self.comparison["verdict"].value_counts(sort=False)
        return {str(verdict): int(n) for verdict, n in counts.items()}

    def to_html(self) -> str:
        """Return the report as one HTML file: the paper's tables and figures, then the study.

        Returns
        -------
        str
            It needs and allows no network, as :func:`wefe.report.to_html`.
        """
        from wefe.replication._page import replication_html

        parts = {name: value for name, value in vars(self).items() if name != "name"}
        return replication_html(**parts)

    def write(self, folder: str | os.PathLike[str]) -> list[str]:
        """Write the report and every table.

        Parameters
        ----------
        folder : path
            It is made if it does not exist.

        Returns
        -------
        list of str
            Names of the files: 'report.html', 'comparison.csv', then a CSV file per table.

        Raises
        ------
        OSError
            If a file cannot be written.
        """
        texts = {"report.html": self.to_html(), "comparison.csv": as_csv(self.comparison)}
        for number, table in enumerate(self.tables.values(), 1):
            texts[f"table_{number}.csv"] = as_csv(table.reset_index())
        for name, text in texts.items():
            with atomic_file(Path(folder, name)) as file:
                file.write(text.encode())
        return list(texts)

    def __repr__(self) -> str:
        parts = [
            f"{len(things)} {what}{'' if len(things) == 1 else 's'}"
            for what, things in {"table": self.tables, "figure": self.figures}.items()
        ]
        verdicts = ", ".join(f"{n} {verdict}" for verdict, n in self.verdicts().items())
        parts.append(f"{len(self.comparison)} printed values ({verdicts})")
        return f"<{type(self).__name__} of {self.paper['reference']}: {', '.join(parts)}>"


def list_replications() -> pd.DataFrame:
    """Return the papers whose experiments can be replicated.

    Returns
    -------
    DataFrame
        Indexed by name; columns 'title', 'reference', 'shows', 'minutes' (on the packaged vectors)
        and 'models': a dict with the names of the original models and where they are found.

    Examples
    --------
    >>> list_replications().loc["weat", "title"]
    'The ten association tests'
    """
    return pd.DataFrame.from_dict(_papers(), orient="index").rename_axis("name")


def replicate(
    name: str,
    models: Mapping[str, ModelLike] | None = None,
    *,
    folder: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    random_state: int = 0,
    progress: bool = True,
) -> Replication:
    """Compute the tables and figures of a paper for your models.

    Parameters
    ----------
    name : str
        Name of a replication, which :func:`list_replications` lists.
    models : mapping of str to path, WordEmbeddingModel or dict, optional
        Name -> model: whatever :func:`wefe.load` opens, an open model, or an entry of a study file
        such as ``{"encoder": "folder"}``. Printed values are compared with models of the paper's
        own names ('GloVe'). By default the packaged vectors and a control: the same vectors, dealt
        out to other words.
    folder : path, optional
        Where results are kept (study.db), so that the same call goes on where it ended. By default
        they are not kept.
    n_jobs : int, optional
        Number of worker processes, as of :meth:`wefe.study.Study.run`.
    random_state : int, default=0
        Seed of all that is random.
    progress : bool, default=True
        Whether a bar shows progress, on a terminal.

    Returns
    -------
    Replication
        The paper's tables and figures, and every printed value with a verdict.

    Raises
    ------
    ValueError
        If there is no such replication, or no model can be opened.
    ConnectionError
        If word lists of the paper cannot be downloaded.

    See Also
    --------
    wefe.study.study_file : the studies that replications run, to be changed.

    Examples
    --------
    >>> from wefe import load_test_model, replicate
    >>> replication = replicate("weat", {"mine": load_test_model()}, progress=False)
    >>> table, *_ = replication.tables.values()
    >>> round(float(table.loc["test 6", "d, mine"]), 2)
    1.01
    """
    paper = _papers()[check_choice("name", name, list(_papers()))]
    module = import_module(f"wefe.replication._{name}")
    with tempfile.TemporaryDirectory() if folder is None else nullcontext(folder) as where:
        place = Path(where)
        place.mkdir(parents=True, exist_ok=True)
        notes = []
        if models is None:
            models = _packaged(getattr(module, "DIMS", ()))
            notes.append("These are the packaged vectors and a control, not the paper's models.")
        entries = [
            _entry(*pair, place / f"model_{position}.safetensors")
            for position, pair in enumerate(models.items())
        ]
        declared = tomllib.loads(study_file(name))
        declared |= {"models": entries, "random_state": random_state}
        others = _stand_in(declared["queries"], getattr(module, "STAND_INS", {}), place)
        if hasattr(module, "adapt"):
            notes += module.adapt(declared)
        study = Study(declared)
        results = study.run(place / "study.db", n_jobs=n_jobs, progress=progress)
        failed = results.failures()[["model_name", "reason"]]
        notes += [f"{model}: {reason}" for model, reason in failed.itertuples(index=False)]
        if not any(results.models.values()):
            raise ValueError(f"no model could be opened. {'; '.join(notes)}")
        printed = _printed(name)
        run = Run(study, results, printed, random_state, n_jobs, progress, place)
        made: Findings = module.findings(run)
        measured = dict.fromkeys(made.measured, np.nan) if others else made.measured
        comparison = compared(printed, measured, made.incomplete)
        notes += [*others, *made.notes]
        return Replication(
            *(name, paper, made.tables, made.figures, comparison, tuple(notes), results)
        )


def compared(
    printed: pd.DataFrame, measured: Values, incomplete: Collection[tuple[str, str]] = ()
) -> pd.DataFrame:
    """Return the printed values beside those measured, with verdicts.

    Names of models are compared without case and punctuation. A tolerance of 'x10' is a factor.
    """
    known = {
        (item, score, _plain(model)): value for (item, score, model), value in measured.items()
    }
    given = {model for _, _, model in known}
    lacking = {(item, _plain(model)) for item, model in incomplete}
    rows = []
    for row in printed.to_dict("records"):
        item, model = row["item"], _plain(row["model"])
        value = known.get((item, row["score"], model), np.nan)
        row |= {"value": value, "verdict": _verdict(value, row["printed"], row["tolerance"])}
        row["reason"] = _reason(row, model in given, (item, model) in lacking)
        rows.append(row)
    columns = ["table", *_KEY, "printed", "value", "tolerance", "verdict", "reason", "source"]
    return pd.DataFrame(rows, columns=columns)


def _verdict(value: float, printed: float, tolerance: str) -> str:
    if np.isnan(value):
        return "not comparable"
    if tolerance.startswith("x"):
        factor = float(tolerance[1:])
        agrees = 1 / factor <= value / printed <= factor
    else:
        agrees = abs(value - printed) <= float(tolerance) + 1e-12
    return "agrees" if agrees else "differs"


def _reason(row: Mapping[Any, Any], is_given: bool, lacks_words: bool) -> str:
    """Return why a value does not agree; the printed values hold reasons that are known."""
    if row["verdict"] == "agrees":
        return ""
    if not is_given:
        return f"no model called {row['model']!r} was given"
    if row["verdict"] == "not comparable":
        return "words are missing: the model lacks them, or they were not downloaded"
    lacks = "the model lacks some of its words" if lacks_words else "not known"
    return row["reason"] or lacks


def found_in(
    models: Mapping[str, WordEmbeddingModel], find: Callable[[WordEmbeddingModel], T]
) -> tuple[dict[str, T], list[str]]:
    """Return what `find` finds in each model, and notes on models that lack words for it."""
    findings, notes = {}, []
    for name, model in models.items():
        try:
            findings[name] = find(model)
        except ValueError as error:
            notes.append(f"{name} is not in all tables and figures: {error}")
    return findings, notes


def beside_printed(
    measured: Values, printed: pd.DataFrame, rows: list[str], columns: list[str]
) -> pd.DataFrame:
    """Return measured values, then printed ones, in rows and columns by item, score and model.

    Of a value that is printed twice, the first one counts.
    """
    own = pd.Series(measured, dtype=float).rename_axis(_KEY).rename("value").reset_index()
    of_paper = printed.assign(model=printed["model"] + " (printed)", value=printed["printed"])
    values = pd.concat([own, of_paper]).drop_duplicates(_KEY)
    # Items stay in the order in which they come first.
    values = values.sort_values("item", key=lambda items: pd.factorize(items)[0], kind="stable")
    values["head"] = values[columns].agg(", ".join, axis=1)
    return values.set_index([*rows, "head"])["value"].unstack(sort=False).rename_axis(columns=None)


def why(error: Exception) -> str:
    """Return why something could not be downloaded or imported, in short."""
    return str(getattr(error, "short", error)).rstrip(".")


def _papers() -> dict[str, dict[str, Any]]:
    return tomllib.loads(_FILES.joinpath("papers.toml").read_text("utf-8"))


def _printed(name: str) -> pd.DataFrame:
    """Return the values that a paper prints."""
    with resources.as_file(_FILES / "printed" / f"{name}.csv") as path:
        return pd.read_csv(path, dtype={"item": str, "tolerance": str}, keep_default_na=False)


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _packaged(dims: Sequence[int] = ()) -> dict[str, ModelLike]:
    """Return the packaged vectors, a control, and their first dimensions."""
    model = load_test_model()
    tables = {"shuffled control": np.random.default_rng(0).permutation(model.vectors)}
    # Principal components come in order, so the first ones are the best short version.
    tables |= {f"first {dim} dimensions": model.vectors[:, :dim].copy() for dim in dims}
    words = list(model.vocab)
    made = {
        name: WordEmbeddingModel.from_arrays(words, rows, name) for name, rows in tables.items()
    }
    return {"packaged": "demo", **made}


def benchmarks_at_hand(names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the benchmarks that can be opened, and notes on the others."""
    at_hand, notes = [], []
    for name in names:
        try:
            load_benchmark(name)
            at_hand.append(name)
        except (ConnectionError, ImportError) as error:
            notes.append(f"{name} is left out: {why(error)}.")
    return at_hand, notes


def _stand_in(
    entries: list[dict[str, Any]],
    stand_ins: Mapping[str, Callable[[], list[Query]]],
    folder: Path,
) -> list[str]:
    """Put queries that ship in the place of sets that cannot be downloaded; return notes."""
    notes = []
    for entry in entries:
        name = entry.get("set", "")
        if name not in stand_ins:
            continue
        try:
            load_query_set(name)
        except ConnectionError as error:
            # The name of the file is that of the set.
            file = folder / f"{entry.pop('set')}.json"
            file.write_text(json.dumps([query.dict() for query in stand_ins[name]()]), "utf-8")
            entry["file"] = str(file)
            notes.append(
                f"Words that ship replace those of {name!r}, which are a download ({why(error)}). "
                "Printed values belong to the latter."
            )
    return notes


def _entry(name: str, model: ModelLike, file: Path) -> dict[str, Any]:
    """Return how a study file declares a model; one that is open is written to a file."""
    if isinstance(model, Mapping):
        return {**model, "name": name}
    if isinstance(model, WordEmbeddingModel):
        model.save(file, progress=False)
        model = file
    if not isinstance(model, str | os.PathLike):
        raise TypeError(f"models[{name!r}] must be a path or a model; got {found(model)}.")
    source = os.fspath(model)
    return {"name": name, "source": os.path.abspath(source) if Path(source).exists() else source}


def _opened(entry: Any, words: Iterable[str | Query] | None) -> WordEmbeddingModel:
    if entry.is_encoder:
        from wefe.contextual import load_encoder

        return load_encoder(entry.place, name=entry.label, **entry.load_options())
    words = None if words is None else words_of(words)
    return load(entry.place, entry.label, words=words, **entry.load_options())
