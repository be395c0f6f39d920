"""Results of a study: tidy tables, score and rank matrices, and all other results."""

from __future__ import annotations

import base64
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pandas as pd
from pydantic import ValidationError

from wefe._checks import check_known
from wefe._visible import html_table
from wefe.aggregation import aggregated, heading_of, matrix_of
from wefe.comparison import paired_test
from wefe.metrics._declaration import Scale
from wefe.metrics._registry import as_metric
from wefe.ranking import calculate_ranking_correlations, overall_scores, ranked, score_column
from wefe.running import facts_of, scores_matrix, tidy_frame
from wefe.study._explored import explored
from wefe.study._export import Format, write_tables
from wefe.study._plan import OVERALL, PLAN, Outcome, Plan, Status, Task
from wefe.study._store import STUDY, Store

if TYPE_CHECKING:
    import os

    from wefe.retrieval import RankingAudit
    from wefe.silhouette import Silhouette, SilhouetteStudy


@dataclass(frozen=True, repr=False)
class StudyResults:
    """The results of a study.

    Attributes
    ----------
    plan : Plan
        The study: models, query sets, metrics, tasks, settings.
    outcomes : tuple of Outcome
        Outcome of each task, in the order of ``plan.tasks``.
    models : dict of dict
        Model label -> 'n_words_read', 'dim', 'dtype', 'held', 'fingerprint' (of the vectors read),
        'prompt' (encoders) and 'mitigation'. Empty for a model never opened.
    run : dict
        The last run: 'started', 'finished', 'wefe', 'python', 'platform', 'packages', 'n_computed',
        'seconds'.

    Examples
    --------
    >>> from wefe.study import Study
    >>> results = Study.example().run(":memory:", progress=False)
    >>> results
    <StudyResults of 'Example': 2 models, 6 scores, all done>
    >>> results.rankings("Gender").astype(int).to_dict("index")["minilm-words"]
    {'WEAT-ES': 2, 'ECT': 2}
    """

    plan: Plan
    outcomes: tuple[Outcome, ...]
    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    run: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> StudyResults:
        """Read a results file. The study file is not needed.

        Parameters
        ----------
        path : path
            A results file written by :meth:`Study.run` or ``wefe run``.

        Returns
        -------
        StudyResults
            Results of the last run.

        Raises
        ------
        FileNotFoundError, ValueError
            If the file does not exist, or is damaged or no results file.
        """
        with Store(path, create=False) as store:
            return cls._from_store(store)

    @classmethod
    def _from_store(cls, store: Store) -> StudyResults:
        try:
            study = store.one(STUDY)
            plan = PLAN.validate_python(study["plan"])
            return cls._of(store, plan, study["models"], study["run"])
        except (LookupError, TypeError, ValidationError, RecursionError, sqlite3.Error) as error:
            text = f"{store.path} is damaged: {type(error).__name__}: {error}."
            raise ValueError(text) from error

    @classmethod
    def _of(
        cls, store: Store, plan: Plan, model_keys: Mapping[str, str], run: Mapping[str, Any]
    ) -> StudyResults:
        """Return the available results of a plan."""
        known = {label: store.one(key) or _UNKNOWN for label, key in model_keys.items()}
        abouts = {model.label: known[model.base] for model in plan.models}
        keys = [abouts[task.model]["keys"].get(task.id) for task in plan.tasks]
        stored = store.get(filter(None, keys))
        # Of a model that could not be opened, the tasks have no keys.
        unopened = {
            label: Outcome("failed" if about["failure"] else "missing", failure=about["failure"])
            for label, about in abouts.items()
        }
        outcomes = tuple(
            stored.get(key, unopened[task.model])
            for task, key in zip(plan.tasks, keys, strict=True)
        )
        models = {label: dict(about["info"]) for label, about in abouts.items()}
        results = cls(plan, outcomes, models, run)
        for task, outcome in results.of_kind("mitigation"):
            if outcome.value:
                models[task.model]["mitigation"] = outcome.value
        return results

    # Outcomes

    @cached_property
    def _pairs(self) -> list[tuple[Task, Outcome]]:
        return list(zip(self.plan.tasks, self.outcomes, strict=True))

    @cached_property
    def _by_place(self) -> dict[tuple[str, ...], Outcome]:
        """Outcomes by kind, model and place of the task."""
        return {(task.kind, task.model, *task.place.values()): found for task, found in self._pairs}

    def of_kind(self, kind: str) -> list[tuple[Task, Outcome]]:
        """Return the tasks of one kind with their outcomes.

        Parameters
        ----------
        kind : str
            A kind of :class:`Task`, such as 'score' or 'words'.

        Returns
        -------
        list of (Task, Outcome)
            In the order of ``plan.tasks``.
        """
        return [pair for pair in self._pairs if pair[0].kind == kind]

    def _values(self, kind: str, key: str) -> Iterator[tuple[Task, Any]]:
        """Yield a part of the values of a kind of tasks, where there is any."""
        for task, outcome in self.of_kind(kind):
            if part := (outcome.value or {}).get(key):
                yield task, part

    @property
    def n_tasks(self) -> dict[str, int]:
        """How many tasks are 'done', 'failed' and 'missing'."""
        statuses = [outcome.status for outcome in self.outcomes]
        return {status: statuses.count(status) for status in get_args(Status)}

    @property
    def is_complete(self) -> bool:
        """Whether every task is done."""
        return self.n_tasks["done"] == len(self.outcomes)

    def failures(self) -> pd.DataFrame:
        """Return a DataFrame of failures by model and reason: 'model_name', 'reason', 'n_tasks'."""
        columns = ["model_name", "reason"]
        reasons = [(task.model, each.failure) for task, each in self._pairs if each.failure]
        grouped = pd.DataFrame(reasons, columns=columns).groupby(columns, sort=False)
        return grouped.size().rename("n_tasks").reset_index()

    # Scores

    def to_frame(self) -> pd.DataFrame:
        """Return the tidy table: one row per model, query set, query and metric.

        Columns of :func:`wefe.running.measure`, and 'base_model', 'mitigation', 'status',
        'failure', 'key', 'seconds', 'finished' and 'wefe_version'.
        """
        return self._tidy.drop(columns=["identity", "distances"])

    def scores(self, metric: str, query_set: str) -> pd.DataFrame:
        """Return the score matrix of one metric (WEFE paper, section 3.2), with an aggregate.

        Parameters
        ----------
        metric, query_set : str
            The metric by its label ('WEAT-ES') or name ('weat-es'), and the name of the query set.

        Returns
        -------
        DataFrame of shape (n_models, n_queries + 1)
            The last column is the aggregate, without queries that some model has no score for
            (or without such models: ``missing = "models"``) and models with a failed task.
        """
        of_name = [part.label for part in self.plan.metrics if part.metric == metric]
        if metric not in self.plan._metrics and len(of_name) == 1:
            metric = of_name[0]
        check_known("metric", [metric], self.plan._metrics)
        check_known("query_set", [query_set], list(self.plan._metrics[metric].query_sets))
        scores, totals = (_at(each, metric, query_set) for each in (self._tidy, self.totals))
        matrix = scores_matrix(scores)
        return matrix.assign(**{heading_of(totals): totals["score"].to_numpy()})

    def aggregated(self, query_set: str | None = None) -> pd.DataFrame:
        """Return aggregated scores, one column per metric.

        Parameters
        ----------
        query_set : str, optional
            A query set; by default 'Overall', the weighted mean over the query sets of a metric.

        Returns
        -------
        DataFrame of shape (n_models, n_metrics)
            By default (``aggregation.function``) the mean distance from the no-bias value, 0 or
            more. NaN for a model with a failed task or without scores.
        """
        totals = self._totals_of(query_set)
        return matrix_of(totals, "metric").reindex([*self.plan._models])

    def rankings(self, query_set: str | None = None) -> pd.DataFrame:
        """Return the ranks of the models by each metric; rank 1 is the least bias measured.

        Parameters
        ----------
        query_set : str, optional
            A query set, or 'Overall' (the default), which also ranks the external columns and the
            quality column, each in its own order.

        Returns
        -------
        DataFrame of shape (n_models, n_metrics)
            NaN for a model without a score.
        """
        # So a column is called by its metric alone.
        tables = [self._totals_of(query_set).assign(aggregation=None)]
        if query_set in (None, OVERALL):
            tables += self._external()
        ties = self.plan.settings["aggregation"]["ties"]
        return ranked(tables, ties).reindex([*self.plan._models])

    def correlations(self, query_set: str | None = None) -> pd.DataFrame:
        """Return the rank correlations of the columns of :meth:`rankings`.

        Parameters
        ----------
        query_set : str, optional
            As in :meth:`rankings`.

        Returns
        -------
        DataFrame of shape (n_rankings, n_rankings)
            In [-1, 1]; NaN for rankings with fewer than 3 models in common.
        """
        method = self.plan.settings["aggregation"]["correlation"]
        return calculate_ranking_correlations(self.rankings(query_set), method)

    def compare_models(self, one: str, other: str) -> pd.DataFrame:
        """Compare two models by each metric, for each query set and overall.

        As :func:`wefe.comparison.compare_models`, with queries weighted as in :meth:`aggregated`.

        Parameters
        ----------
        one, other : str
            Labels of the models.

        Returns
        -------
        DataFrame
            'query_set', 'metric', 'n_queries', 'difference' (how much farther from no bias the
            second model is, on average), 'lower', 'upper', 'p_value' (two-sided). Empty without
            ``[intervals] n_bootstrap``.
        """
        check_known("model", (one, other), self.plan._models)
        rows = []
        for label, metric in self.plan._metrics.items():
            places = {name: self._of_both(label, name, one, other) for name in metric.query_sets}
            if len(places) > 1:
                places[OVERALL] = pd.concat(places.values())
            for name, pairs in places.items():
                if not pairs["weight"].sum():
                    continue
                values = paired_test(
                    pairs[["bias_x", "bias_y"]].to_numpy(),
                    pairs[["distances_x", "distances_y"]].map(_resampled).to_numpy().tolist(),
                    pairs["weight"].tolist(),
                    self.plan.settings["intervals"]["confidence"],
                )
                rows.append((name, label, len(pairs), *values))
        columns = ["query_set", "metric", "n_queries", "difference", "lower", "upper", "p_value"]
        return pd.DataFrame(rows, columns=columns)

    def _of_both(self, metric: str, query_set: str, one: str, other: str) -> pd.DataFrame:
        """Return the queries' weights, and both models' distances from no bias with resamples."""
        left_out = _at(self.totals, metric, query_set)["left_out"].iloc[0]
        part = _at(self._tidy, metric, query_set)
        part = part[~part["query_name"].isin(left_out)].dropna(subset=["bias", "distances"])
        first, second = (part[part["model_name"] == model] for model in (one, other))
        pairs = first.merge(second, on="query_name")
        return pairs.assign(weight=self.plan._query_sets[query_set].weight / max(1, len(pairs)))

    # Other results

    def silhouettes(self) -> list[tuple[Task, Silhouette]]:
        """Return a list of pairs (Task, Silhouette), of those that could be computed."""
        found = [(pair[0], silhouette_of(*pair)) for pair in self.of_kind("silhouette")]
        return [(task, each) for task, each in found if not isinstance(each, str)]

    def silhouette_study(
        self, unbiased: str | None = None, biased: str | None = None
    ) -> SilhouetteStudy:
        """Return the silhouettes in the tables of Bias Silhouette Analysis.

        Parameters
        ----------
        unbiased, biased : str, optional
            Names of the reference models, as in :func:`wefe.silhouette.silhouette_study`.

        Returns
        -------
        SilhouetteStudy
            Robustness and accuracy. Bias types are the names of queries, with the query set if two
            have the same name. ValueError without silhouettes, or if a reference model is missing.
        """
        from wefe.silhouette import SilhouetteStudy
        from wefe.silhouette._study import checked_references

        asked = [each for each in self.of_kind("silhouette") if each[1].status != "failed"]
        places = {(task.place["query_set"], task.place["query"]) for task, _ in asked}
        n_sets = Counter(map(itemgetter(1), places))
        found: dict[tuple[str, str, str, str], Silhouette | str] = {}
        for task, outcome in asked:
            metric, query_set, query, vary = task.place.values()
            bias_type = query if n_sets[query] == 1 else f"{query} ({query_set})"
            found[metric, bias_type, vary, task.model] = silhouette_of(task, outcome)
        references = checked_references(unbiased, biased, [*map(itemgetter(3), found)])
        return SilhouetteStudy(found, *references)

    def directions(self) -> list[tuple[Task, Mapping[str, Any]]]:
        """Return pairs (Task, data of ``DirectionAudit.to_json``), one per model and criterion."""
        found = self._values("direction", "audit")
        return [(task, {**audit, "model_name": task.model}) for task, audit in found]

    def retrieval(self) -> list[tuple[Task, RankingAudit]]:
        """Return pairs (Task, RankingAudit without scores), of those that could be computed."""
        from wefe.retrieval import RankingAudit

        found = self._values("retrieval", "audit")
        return [(task, RankingAudit._from_dict(audit)) for task, audit in found]

    def retrieval_tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables of every :class:`wefe.retrieval.RankingAudit`; {} if there is none.

        The columns 'audit' and 'model_name' are first.
        """
        found: dict[str, list[pd.DataFrame]] = {}
        for task, audit in self.retrieval():
            place = {"audit": task.place["audit"], "model_name": task.model}
            for name, table in vars(audit).items():
                if isinstance(table, pd.DataFrame):
                    found.setdefault(name, []).append(pd.DataFrame(place, table.index).join(table))
        return {name: pd.concat(tables, ignore_index=True) for name, tables in found.items()}

    def quality(self) -> pd.DataFrame | None:
        """Return scores (n_models, n_benchmarks), NaN if undefined; None without benchmarks."""
        if not self.of_kind("quality"):
            return None
        return matrix_of(self._quality_table(), "benchmark").rename_axis(columns=None)

    def explore(self) -> dict[str, pd.DataFrame]:
        """Return words along bias directions: tidy tables, empty if the study explores nothing.

        They begin with 'model_name' and 'criterion'. Projections are cosines in [-1, 1], for a
        mitigated model on the directions of its original.

        Returns
        -------
        dict of DataFrame
            - 'models': one row per model and criterion: 'n_sets' and 'n_sets_lost' (complete and
              incomplete definitional sets), 'explained_variance' (share along the first principal
              direction), 'n_words_lost' (out-of-vocabulary words of 'distribution'), then
              'nan_reason', 'status', 'failure', 'key', 'seconds', 'finished' and 'wefe_version'.
            - 'distribution': one row per word set: 'set', 'group' (None if there are two groups;
              positive projections are then on the side of the first), 'n', 'mean', 'std',
              'mean_abs', and quantiles '1 %' to '99 %'.
            - 'extremes': one row per word with an extreme projection: 'group', 'rank', 'word',
              'projection'.
            - 'words': one row per requested word and group: 'word', 'group', 'projection' onto it,
              'neighbor_share' (neighbours on its side), 'chance_low' and 'chance_high' (interval of
              that share for random words of similar frequency); then, equal for all groups,
              'leans_to' (a group, or 'no clear direction'), 'direct_bias', 'percentile',
              'proximity_bias' and its interval 'proximity_low' to 'proximity_high', 'n_neighbors',
              'nan_reason', 'status' and so on. A word without results has one row.
            - 'neighbors': one row per neighbour: 'word', 'rank', 'neighbor', 'cosine', 'leans_to',
              'projection', 'indirect_bias', 'biased'.
        """
        return explored(self.of_kind("explore"))

    # Output

    def export(self, folder: str | os.PathLike[str], format: Format = "csv") -> list[str]:  # noqa: A002
        """Write every table to a folder, with all digits.

        Parameters
        ----------
        folder : path
            Created if needed. Files with the same names are replaced.
        format : {'csv', 'json', 'parquet'}, default='csv'
            'json' is a list of records, with null for NaN. In 'csv', an apostrophe stands before
            what a spreadsheet would read as a formula.

        Returns
        -------
        list of str
            Names of the files: 'results' (the tidy table), 'failures', further tables, then
            'aggregated', 'rankings' and 'correlations' (rows of each query set and overall). The
            last file, 'provenance.json', describes models, versions, settings and words.

        Raises
        ------
        ImportError
            If 'parquet' needs pyarrow (``wefe[parquet]``).

        Examples
        --------
        >>> import tempfile
        >>> from wefe.study import Study
        >>> results = Study.example().run(":memory:", progress=False)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     results.export(folder)[:2]
        ['results.csv', 'failures.csv']
        """
        from wefe import __version__

        # The table of results has the relevant columns of jobs.
        plan = PLAN.dump_python(self.plan, mode="json", exclude={"jobs"})
        provenance = {
            "study": self.plan.name,
            "exported_by": f"wefe {__version__}",
            "tasks": self.n_tasks,
            "run": self.run,
            "models": self.models,
            "plan": plan,
        }
        return write_tables(self._tables(), provenance, folder, format)

    def _tables(self) -> dict[str, pd.DataFrame]:
        tables = {"results": self.to_frame(), "failures": self.failures()}
        if self.of_kind("quality"):
            tables["quality"] = self._quality_table()
        if self.of_kind("explore"):
            tables |= {f"explore_{name}": table for name, table in self.explore().items()}
        tables |= {f"retrieval_{name}": table for name, table in self.retrieval_tables().items()}
        places = [place for place in self._places if self.rankings(place).size]
        of_rows = {"aggregated": "model_name", "rankings": "model_name", "correlations": "ranking"}
        for name, index in of_rows.items() if places else ():
            matrices = {place: getattr(self, name)(place) for place in places}
            tables[name] = pd.concat(matrices, names=["query_set", index]).reset_index()
        return tables

    def _quality_table(self) -> pd.DataFrame:
        """Return the tidy table of quality: one row per model and benchmark."""
        rows = [row_of(*pair) for pair in self.of_kind("quality")]
        columns = ["model_name", "benchmark", "kind", "score", "n_used", "n_items", "nan_reason"]
        types: dict[str, Any] = {"score": float, "n_used": "Int64", "n_items": "Int64"}
        return pd.DataFrame(rows, columns=[*columns, *Outcome().provenance]).astype(types)

    def __repr__(self) -> str:
        n_scores = len(self.of_kind("score"))
        parts = [f"{len(self.plan.models)} models", f"{n_scores} scores"]
        others = [f"{n} {status}" for status, n in self.n_tasks.items() if n and status != "done"]
        parts.append(" and ".join(others) if others else "all done")
        return f"<{type(self).__name__} of {self.plan.name!r}: {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        ranks = self.rankings().reset_index()
        return html_table(f"{self!r}; ranks (1: least bias measured)", ranks)

    # Internals

    @cached_property
    def _places(self) -> list[str]:
        asked = {name for metric in self.plan.metrics for name in metric.query_sets}
        return [OVERALL, *(name for name in self.plan._query_sets if name in asked)]

    @cached_property
    def _tidy(self) -> pd.DataFrame:
        """The tidy table, with the identity of each task and the resamples of its interval."""
        rows = [self._row(*pair) for pair in self.of_kind("score")]
        tidy = tidy_frame(rows).join(pd.DataFrame(rows, columns=[*_OF_MODEL, *_OF_TASK]))
        columns = ["query_set", "model_name", *_OF_MODEL, *tidy.columns.drop(_OF_MODEL)]
        tidy = tidy[list(dict.fromkeys(columns))].astype({"seconds": float})
        places = tidy.groupby(["metric", "query_set"], sort=False).ngroup()
        return tidy.loc[places.sort_values(kind="stable").index].reset_index(drop=True)

    def _row(self, task: Task, outcome: Outcome) -> dict[str, Any]:
        """Return a score with its interval and the warnings of its audit, its scale and place."""
        model, row = self.plan._models[task.model], row_of(task, outcome)
        place = task.model, *task.place.values()
        interval, warnings = (self._by_place.get((k, *place)) for k in ("interval", "warnings"))
        if outcome.value is not None and interval is not None:
            row |= interval.value or {"interval_nan_reason": interval.why}
        if outcome.value is not None and warnings is not None and warnings.value is not None:
            row["warnings"] = [*(row.get("warnings") or ()), *warnings.value["warnings"]]
        return {
            **facts_of(self._scale(task)),
            **row,
            "base_model": model.base,
            "mitigation": model.mitigation,
            "query_name": task.place["query"],
            "n_queries": len(self.plan._query_sets[task.place["query_set"]].queries),
        }

    def _scale(self, task: Task) -> Scale:
        """Return the scale on which the score of a query is read."""
        what = task.identity
        try:
            query = self.plan.queries[what["query"]]
            return as_metric(what["metric"]).scale(query, **what["params"])
        # A third-party metric may not be installed here.
        except (LookupError, TypeError, ValueError):
            return self.plan._metrics[task.place["metric"]].scale

    @cached_property
    def totals(self) -> pd.DataFrame:
        """Aggregated scores: one row per query set or 'Overall', metric and model.

        The columns are those of :func:`wefe.aggregation.aggregate`.
        """
        if self._tidy.empty:
            return _NO_TOTALS.astype({"score": float})
        places = self._tidy.groupby(["metric", "query_set"], sort=False)
        totals = pd.concat(self._total(scores) for _, scores in places)
        weights = {name: part.weight for name, part in self.plan._query_sets.items()}
        return pd.concat([overall_scores(totals, weights), totals], ignore_index=True)

    def _total(self, scores: pd.DataFrame) -> pd.DataFrame:
        """Return the aggregated scores of all models; NaN for models that are left out."""
        # A model that could not be opened must not remove queries from the others.
        out = set(scores["model_name"][scores["status"] != "done"])
        if self.plan.settings["aggregation"]["missing"] == "models":
            is_answered = scores["score"].notna().groupby(scores["query_name"]).transform("any")
            out |= set(scores["model_name"][is_answered & scores["score"].isna()])
        totals, _ = aggregated(scores, self.plan.settings["aggregation"]["function"], without=out)
        return totals

    def _totals_of(self, query_set: str | None) -> pd.DataFrame:
        place = OVERALL if query_set is None else query_set
        check_known("query_set", [place], [OVERALL, *self.plan._query_sets])
        return self.totals[self.totals["query_set"] == place]

    def _external(self) -> Iterator[pd.DataFrame]:
        """Yield the columns of the overall ranking that are not scores of metrics."""
        for part in self.plan.settings["external"]:
            yield score_column(part["scores"], part["name"], part["best"])
        if self.of_kind("quality"):
            from wefe.quality import quality_ranking

            yield quality_ranking(self._quality_table(), self.plan.settings["quality"]["name"])


# Columns of the tidy table about the model and about the task.
_OF_MODEL = ["base_model", "mitigation"]
_OF_TASK = [*Outcome().provenance, "identity", "distances"]
_NO_TOTALS = pd.DataFrame(columns=["query_set", "metric", "model_name", "score", "best"])
# What is known of a model that was not opened yet.
_UNKNOWN: Mapping[str, Any] = {"keys": {}, "failure": None, "info": {}}


def _at(table: pd.DataFrame, metric: str, query_set: str) -> pd.DataFrame:
    return table[(table["metric"] == metric) & (table["query_set"] == query_set)]


def row_of(task: Task, outcome: Outcome) -> dict[str, Any]:
    """Return a result with its place and how it was computed, for a row of a table."""
    facts = {"nan_reason": None, **(outcome.value or {"nan_reason": outcome.why})}
    place = {"model_name": task.model, **task.place}
    return {**facts, **place, **outcome.provenance, "identity": task.identity}


def silhouette_of(task: Task, outcome: Outcome) -> Silhouette | str:
    """Return a silhouette, or the reason why there is none."""
    from wefe.silhouette import Silhouette

    value = outcome.value or {"nan_reason": outcome.why}
    if value["nan_reason"] is not None:
        return str(value["nan_reason"])
    return Silhouette._of({**value["silhouette"], "model_name": task.model})


def _resampled(distances: str) -> np.ndarray:
    """Return the resampled distances from no bias of an interval."""
    return np.frombuffer(base64.b64decode(distances), "<f4").astype(float)
