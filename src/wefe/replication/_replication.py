"""Run the study of a paper on given models, and compare the results with its printed values."""

from __future__ import annotations

import json
import os
import tempfile
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import pandas as pd

from wefe._checks import check_choice, plain_name
from wefe._files import write_text
from wefe._output import as_cells, is_number
from wefe._visible import as_csv, count, visible_data
from wefe.datasets import load_query_set
from wefe.models import WordEmbeddingModel, load_test_model
from wefe.quality import load_benchmark
from wefe.study import Study, StudyResults, study_file
from wefe.study._declaration import papers

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from wefe.query import Query
    from wefe.words import Words

T = TypeVar("T")

#: A model as users give it: a path or name, the model itself, or an entry of a study file.
ModelLike: TypeAlias = str | os.PathLike[str] | WordEmbeddingModel | Mapping[str, Any]
#: (item, score, model) -> value, with the names used for printed values.
Values: TypeAlias = dict[Any, float]
_KEY = ["item", "score", "model"]
#: How words of papers are looked up: as they are written, or in lower case.
LOOKUP: dict[str, Any] = {"preprocessors": [{}, {"lowercase": True}]}


class Findings(NamedTuple):
    """Results of a paper for the models of a run."""

    tables: dict[str, pd.DataFrame]
    figures: dict[str, go.Figure]
    measured: Values
    notes: Sequence[str] = ()
    # (item, model) of values computed without some out-of-vocabulary words.
    incomplete: Collection[tuple[str, str]] = ()


class Run(NamedTuple):
    """Everything that the module of a paper needs to compute its findings."""

    study: Study
    results: StudyResults
    printed: pd.DataFrame
    random_state: int

    def open_models(self, words: Words | None) -> dict[str, WordEmbeddingModel]:
        """Open the models that can be opened, with some words; None: all words, no encoders."""
        return {
            entry.label: entry.open(words)
            for entry in self.study.declaration.models
            if self.results.models[entry.label] and (words is not None or not entry.is_encoder)
        }

    def printed_in(self, table: str) -> pd.DataFrame:
        """Return the printed values of one table of the paper."""
        return self.printed[self.printed["table"] == table]


@dataclass(frozen=True, repr=False)
class Replication:
    """Tables and figures of a paper, computed for your models.

    Attributes
    ----------
    name : str
        Name of the replication.
    paper : dict
        Facts about the paper: 'title', 'reference', 'shows' and 'models'.
    tables, figures : dict
        Title -> DataFrame or plotly Figure, in the order of the paper.
    comparison : DataFrame
        One row per printed value: 'table', 'item', 'score', 'model', 'printed', 'value',
        'tolerance', 'verdict' ('agrees', 'differs' or 'not comparable'), 'reason', 'source'.
    notes : tuple of str
        Remarks on how to read the tables.
    results : StudyResults
        Results of the study.

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
        """Return how many printed values got each verdict, such as 'agrees' or 'differs'."""
        counts = self.comparison["verdict"].value_counts(sort=False)
        return {str(verdict): int(n) for verdict, n in counts.items()}

    def to_html(self) -> str:
        """Return one HTML page that works offline: tables and figures, then the study's report."""
        from wefe.report._figures import drawn, figures
        from wefe.report._render import html_page
        from wefe.report._summarize import summarize

        summary = summarize(self.results)
        own = dict(
            drawn(f"paper-{at}", figure, {"title": title})
            for at, (title, figure) in enumerate(self.figures.items())
        )
        compared = self.comparison.drop(columns="tolerance")
        shown = {
            **self.paper,
            "notes": [*self.notes],
            "verdicts": self.verdicts(),
            "tables": [_table(title, table.reset_index()) for title, table in self.tables.items()],
            "compared": _table("Printed values and those measured here", compared),
            "figures": list(own),
        }
        drawings = figures(self.results, summary) | own
        page = summary | {"figures": drawings, "paper": visible_data(shown, "\n")}
        return html_page("replication.html.jinja", **page)

    def write(self, folder: str | os.PathLike[str]) -> list[str]:
        """Write the report and all tables to a folder.

        Parameters
        ----------
        folder : path
            Folder of the files, created if needed.

        Returns
        -------
        list of str
            File names: 'report.html', 'comparison.csv', and one CSV file per table.
        """
        texts = {"report.html": self.to_html(), "comparison.csv": as_csv(self.comparison)}
        for number, table in enumerate(self.tables.values(), 1):
            texts[f"table_{number}.csv"] = as_csv(table.reset_index())
        for name, text in texts.items():
            write_text(Path(folder, name), text)
        return list(texts)

    def __repr__(self) -> str:
        made = f"{count(len(self.tables), 'table')}, {count(len(self.figures), 'figure')}"
        verdicts = ", ".join(f"{n} {verdict}" for verdict, n in self.verdicts().items())
        values = f"{len(self.comparison)} printed values ({verdicts})"
        return f"<Replication of {self.paper['reference']}: {made}, {values}>"


def list_replications() -> pd.DataFrame:
    """List the papers that you can replicate.

    Returns
    -------
    DataFrame
        Indexed by name. Columns: 'title', 'reference', 'shows' and 'models' (names of the
        original models -> where to find them).

    Examples
    --------
    >>> list_replications().loc["weat", "title"]
    'The ten association tests'
    """
    return pd.DataFrame.from_dict(papers(), orient="index").rename_axis("name")


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
        Name of a replication; see :func:`list_replications`.
    models : mapping of str to path, WordEmbeddingModel or dict, optional
        Name -> anything that :func:`wefe.load` opens, an open model, or an entry of a study file
        such as ``{"encoder": "folder"}``. Name a model as in the paper (for example 'GloVe') to
        compare it with the printed values. By default the packaged vectors and a control: the same
        vectors, randomly assigned to words.
    folder : path, optional
        Folder for the results; repeat the call to continue an interrupted run. By default results
        are not kept.
    n_jobs, random_state, progress : optional
        As in :meth:`wefe.study.Study.run`, and the seed of everything random, by default 0.

    Returns
    -------
    Replication
        Tables, figures, and every printed value with a verdict.

    Raises
    ------
    ValueError, ConnectionError
        If no model can be opened, or word lists of the paper cannot be downloaded.

    Examples
    --------
    >>> from wefe import load_test_model, replicate
    >>> replication = replicate("weat", {"mine": load_test_model()}, progress=False)
    >>> table, *_ = replication.tables.values()
    >>> round(float(table.loc["test 6", "d, mine"]), 2)
    1.01
    """
    paper = papers()[check_choice("name", name, list(papers()))]
    module = import_module(f"wefe.replication._{name}")
    with tempfile.TemporaryDirectory() if folder is None else nullcontext(folder) as where:
        place = Path(where)
        place.mkdir(parents=True, exist_ok=True)
        notes = []
        if models is None:
            _, *others = packaged_models(*getattr(module, "DIMS", ()))
            models = {"packaged": "demo", **{model.name: model for model in others}}
            notes.append(
                "The models are packaged vectors and a shuffled control, not those of the paper."
            )
        entries = [
            _entry(*pair, place / f"model_{position}.safetensors")
            for position, pair in enumerate(models.items())
        ]
        declared = tomllib.loads(study_file(name))
        declared |= {"models": entries, "random_state": random_state}
        replaced = _stand_in(declared["queries"], getattr(module, "STAND_INS", {}), place)
        if hasattr(module, "adapt"):
            notes += module.adapt(declared)
        study = Study(declared)
        results = study.run(place / "study.db", n_jobs=n_jobs, progress=progress)
        failed = results.failures()[["model_name", "reason"]]
        notes += [f"{model}: {reason}" for model, reason in failed.itertuples(index=False)]
        if not any(results.models.values()):
            raise ValueError(f"no model can be opened: {'; '.join(notes)}.")
        printed = _printed(name)
        made: Findings = module.findings(Run(study, results, printed, random_state))
        measured = dict.fromkeys(made.measured, np.nan) if replaced else made.measured
        comparison = compared(printed, measured, made.incomplete)
        notes += [*replaced, *made.notes]
        return Replication(
            *(name, paper, made.tables, made.figures, comparison, tuple(notes), results)
        )


def compared(
    printed: pd.DataFrame, measured: Values, incomplete: Collection[tuple[str, str]] = ()
) -> pd.DataFrame:
    """Return printed and measured values with verdicts; a tolerance of 'x10' is a factor."""
    known = {
        (item, score, plain_name(model)): value for (item, score, model), value in measured.items()
    }
    given = {model for _, _, model in known}
    lacking = {(item, plain_name(model)) for item, model in incomplete}
    rows = []
    for row in printed.to_dict("records"):
        item, model = row["item"], plain_name(row["model"])
        value = known.get((item, row["score"], model), np.nan)
        verdict, reason = _verdict(row, value, model in given, (item, model) in lacking)
        rows.append(row | {"value": value, "verdict": verdict, "reason": reason})
    columns = ["table", *_KEY, "printed", "value", "tolerance", "verdict", "reason", "source"]
    return pd.DataFrame(rows, columns=columns)


def _verdict(
    row: Mapping[Any, Any], value: float, is_given: bool, lacks_words: bool
) -> tuple[str, str]:
    """Return a verdict and its reason; known reasons are stored with the printed values."""
    if not is_given:
        return "not comparable", f"no model called {row['model']!r} was given"
    if np.isnan(value):
        return "not comparable", "words are missing in the model, or were not downloaded"
    bound = float(row["tolerance"].removeprefix("x"))
    agrees = abs(value - row["printed"]) <= bound + 1e-12
    if row["tolerance"].startswith("x"):
        agrees = 1 / bound <= value / row["printed"] <= bound
    lacks = "the model lacks some of its words" if lacks_words else "not known"
    return ("agrees", "") if agrees else ("differs", row["reason"] or lacks)


def found_in(
    models: Mapping[str, WordEmbeddingModel], find: Callable[[WordEmbeddingModel], T]
) -> tuple[dict[str, T], list[str]]:
    """Return the result of `find` for each model, and notes on models that lack words for it."""
    findings, notes = {}, []
    for name, model in models.items():
        try:
            findings[name] = find(model)
        except ValueError as error:
            notes.append(f"Some tables and figures leave out {name}: {error}")
    return findings, notes


def beside_printed(
    measured: Values, printed: pd.DataFrame, rows: list[str], columns: list[str]
) -> pd.DataFrame:
    """Return measured and printed values in one table; of repeated values the first is kept."""
    own = pd.Series(measured, dtype=float).rename_axis(_KEY).rename("value").reset_index()
    of_paper = printed.assign(model=printed["model"] + " (printed)", value=printed["printed"])
    values = pd.concat([own, of_paper]).drop_duplicates(_KEY)
    # Keep the order in which items first occur.
    values = values.sort_values("item", key=lambda items: pd.factorize(items)[0], kind="stable")
    values["head"] = values[columns].agg(", ".join, axis=1)
    return values.set_index([*rows, "head"])["value"].unstack(sort=False).rename_axis(columns=None)


def aggregates(results: StudyResults, query_sets: Iterable[str]) -> Values:
    return {
        (name, metric, model): score
        for name in query_sets
        for metric, scores in results.aggregated(name).items()
        for model, score in scores.items()
    }


def why(error: Exception) -> str:
    """Return the short reason why a download or an import failed."""
    return str(getattr(error, "short", error)).rstrip(".")


def _printed(name: str) -> pd.DataFrame:
    path = Path(__file__).with_name("printed") / f"{name}.csv"
    return pd.read_csv(path, dtype={"item": str, "tolerance": str}, keep_default_na=False)


def packaged_models(*dims: int) -> list[WordEmbeddingModel]:
    """Return the packaged vectors, versions with fewer dimensions, and a shuffled control."""
    model = load_test_model()
    words = list(model.vocab)
    # The dimensions are principal components, so the first ones keep most of the variance.
    tables = {f"first {dim} dims": model.vectors[:, :dim].copy() for dim in dims}
    tables["shuffled control"] = np.random.default_rng(0).permutation(model.vectors)
    return [model, *(WordEmbeddingModel((words, rows), name) for name, rows in tables.items())]


def benchmarks_at_hand(names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the benchmarks that can be opened, and notes on the others."""
    at_hand, notes = [], []
    for name in names:
        try:
            load_benchmark(name)
            at_hand.append(name)
        except (ConnectionError, ImportError) as error:
            notes.append(
                f"The benchmark {name} is left out, because it cannot be opened: {why(error)}."
            )
    return at_hand, notes


def _stand_in(
    entries: list[dict[str, Any]], stand_ins: Mapping[str, Callable[[], list[Query]]], folder: Path
) -> list[str]:
    """Replace query sets that cannot be downloaded by packaged queries; return notes."""
    notes = []
    for entry in [each for each in entries if each.get("set") in stand_ins]:
        try:
            load_query_set(entry["set"])
        except ConnectionError as error:
            name = entry.pop("set")
            # The file name becomes the name of the query set.
            file = folder / f"{name}.json"
            file.write_text(json.dumps([query.dict() for query in stand_ins[name]()]), "utf-8")
            entry["file"] = str(file)
            notes.append(
                f"The words of {name!r} cannot be downloaded ({why(error)}). Packaged words "
                "replace them, so the results are not compared with printed values."
            )
    return notes


def _entry(name: str, model: ModelLike, file: Path) -> dict[str, Any]:
    """Return the study-file entry of a model; an open model is saved to `file`."""
    if isinstance(model, Mapping):
        return {**model, "name": name}
    if isinstance(model, WordEmbeddingModel):
        model.save(file, progress=False)
        model = file
    source = os.fspath(model)
    return {"name": name, "source": os.path.abspath(source) if Path(source).exists() else source}


def _table(title: str, frame: pd.DataFrame) -> dict[str, Any]:
    cells = as_cells(frame)
    rows = cells.to_numpy().tolist()
    return {"title": title, "heads": [*cells], "is_number": is_number(frame), "rows": rows}
