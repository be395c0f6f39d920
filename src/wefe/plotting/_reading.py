"""What a table of scores says about itself."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from wefe.aggregation import HEADING, best_of_heading, metric_of_label
from wefe.plotting._labels import at_most, count, escape, shorten, wrap
from wefe.plotting._table import Numbers, check_table
from wefe.results import OPPOSITE
from wefe.running import scores_matrix

# Scores of a larger p-value could well be those of words sorted at random.
SIGNIFICANT = 0.05
_LETTERS = "abcde"
# One clause of the reason that `embed_query` gives: which words were lost has no room in a figure.
_LOST = re.compile(
    r"(?P<set>'.*?'|\".*?\") (?P<lost>lost (?P<share>\d+%) of its words) \(.*?\), "
    r"(?:nothing is left|more than the \d+% allowed)(?:; |$)"
)


_KEY = ["model_name", "query_name"]


class Cell(NamedTuple):
    """A score and what the figure says of it."""

    score: float
    hover: str
    p_value: float
    opposite: bool
    null: tuple[Any, ...] | None
    no_value: str

    @property
    def hollow(self) -> bool:
        """Whether words sorted at random could well have such a score."""
        return self.p_value > SIGNIFICANT and not self.opposite


@dataclass(frozen=True)
class Reading:
    """How scores are to be read, as far as a table of them tells.

    Attributes
    ----------
    matrix : DataFrame of shape (n_models, n_queries)
        The scores.
    metric, queries_set_name, aggregation : str
        Empty if unknown.
    aggregated : bool
        Whether the last column is an aggregate.
    no_bias : list of float or None
        Per column, the value that means no bias; None if unknown.
    records : mapping
        (Model, query) -> what else is known about the score.
    """

    matrix: pd.DataFrame
    metric: str
    queries_set_name: str
    aggregated: bool
    aggregation: str
    no_bias: list[float | None]
    records: Mapping[Any, Mapping[Any, Any]]

    @classmethod
    def of(cls, results: object) -> Reading:
        """Read a table of `measure` or `run_queries`, or any other table of scores."""
        if isinstance(results, pd.DataFrame) and {"query_name", "score"} <= set(results.columns):
            return cls._of_tidy(results)
        check_table("results", results, "run_queries", "models", "queries")
        return cls._of_matrix(results)  # type: ignore[arg-type]

    @classmethod
    def _of_tidy(cls, scores: pd.DataFrame) -> Reading:
        matrix = scores_matrix(scores)
        values = scores["no_bias_value"].unique()
        no_bias = _number_or_none(values[0]) if len(values) == 1 else None
        return cls(
            matrix,
            metric=str(scores["metric"].iloc[0]),
            queries_set_name=_known_name(scores["query_set"].iloc[0]),
            aggregated=False,
            aggregation="",
            no_bias=[no_bias] * matrix.shape[1],
            records=scores.set_index(_KEY).to_dict("index"),
        )

    @classmethod
    def _of_matrix(cls, matrix: pd.DataFrame) -> Reading:
        last = str(matrix.columns[-1])
        headings = [match for name in matrix.columns if (match := HEADING.fullmatch(str(name)))]
        # Aggregates side by side are what a table shows, not what sums it up.
        aggregate = HEADING.fullmatch(last) if len(headings) == 1 else None
        labels = {match["label"] for match in headings}
        metric = str(matrix.columns.name or (labels.pop() if len(labels) == 1 else ""))
        known = metric_of_label(metric) if aggregate is not None or not headings else None
        no_bias: list[float | None] = [None if known is None else known.no_bias_value]
        no_bias *= matrix.shape[1]
        if aggregate is not None:
            answered = int(matrix.iloc[:, :-1].notna().all().sum())
            no_bias[-1] = _number_or_none(best_of_heading(last, answered))
        return cls(
            matrix,
            metric=metric,
            queries_set_name="" if aggregate is None else _known_name(aggregate["set"]),
            aggregated=aggregate is not None,
            aggregation="" if aggregate is None else aggregate["way"],
            no_bias=no_bias,
            records={},
        )

    def title(self) -> str:
        """Name the metric and the set of queries."""
        if self.metric and self.queries_set_name:
            return f"{self.metric}: {self.queries_set_name}"
        return f"{self.metric or 'Bias'} scores"

    def parts(self) -> list[list[int]]:
        """Return the columns that share an axis: those with the same value for no bias."""
        columns = list(range(len(self.no_bias)))
        if self.no_bias[0] == self.no_bias[-1]:
            return [columns]
        return [columns[:-1], columns[-1:]]

    def axis_title(self, part: Sequence[int]) -> str:
        """Say what the axis of some columns shows."""
        what = f"{self.metric} score" if self.metric else "Score"
        if self.aggregated and len(part) == 1:
            what = self.aggregation.capitalize() or what
        value = self.no_bias[part[0]]
        return what if value is None else f"{what} ({value:g} = no bias measured)"

    def labels(self, queries: Sequence[str]) -> tuple[list[str], str]:
        """Return the queries without what the title or, in a sentence, a note says of all."""
        prefix = f"{self.metric}: {self.queries_set_name or 'Unnamed queries set'} "
        last = queries[-1]
        if self.aggregated and last.startswith(prefix):
            what = last.removeprefix(prefix).removesuffix(" score")
            return [*queries[:-1], what[:1].upper() + what[1:]], ""
        return (list(queries), "") if self.aggregated else shorten(queries)

    def test(self) -> str:
        """Name the test behind the p-values, and its side."""
        sides = {record.get("p_value_test") for record in self.records.values()}
        known = sorted(side for side in sides if isinstance(side, str))
        if not known:
            return self.metric or "unknown test"
        return f"{', '.join(known)} permutation test of {self.metric.removesuffix('-ES')}"

    def notes(self, scores: Numbers, with_reasons: bool) -> list[str]:
        """Say what is missing."""
        notes = []
        missing = int(np.isnan(scores).sum())
        if missing:
            have = count(missing, "score has", "scores have")
            notes.append(f"{have} no value{' (reasons below)' if with_reasons else ''}.")
        left_out = int(np.isnan(scores[:, :-1]).any(axis=0).sum()) if self.aggregated else 0
        if left_out:
            queries = count(left_out, "query", "queries")
            notes.append(f"The aggregate leaves out {queries} that not every model could answer.")
        return notes

    def reasons(
        self, missing: Iterable[tuple[str, str, int]]
    ) -> tuple[dict[tuple[str, str], str], list[str]]:
        """Return for each missing score a letter that stands for the reason, and what letters mean.

        Reasons that are not known, or find no room, have no letter.
        """
        of_score = {
            (model, query): _shortened(reason)
            for model, query, column in missing
            if (reason := self._nan_reason(model, query, column))
        }
        distinct = list(dict.fromkeys(of_score.values()))
        letters = dict(zip(distinct, _LETTERS, strict=False))
        lines = [f"{letters.get(reason, '')}: {reason}" for reason in distinct]
        marks = {key: f" ({letters[why]})" for key, why in of_score.items() if why in letters}
        return marks, at_most(lines, len(_LETTERS))

    def cell(self, model: str, query: str, column: int, score: float, mark: str) -> Cell:
        """Return a score with all that is known about it."""
        record = self.records.get((model, query), {})
        p_value, lost = record.get("p_value", math.nan), record.get("words_lost")
        opposite = str(record.get("warnings")).startswith(OPPOSITE)
        null = tuple(record.get(f"null_{end}", math.nan) for end in ("lower", "upper"))
        lines = [f"<b>{wrap(model)}</b>", wrap(query, 60)]
        if math.isnan(score):
            reason = self._nan_reason(model, query, column) or "the score is NaN"
            lines.append(wrap(f"no value: {reason}", 60))
        else:
            no_bias = self.no_bias[column]
            meaning = "" if no_bias is None else f" ({no_bias:g} = no bias)"
            lines.append(f"{escape(self.metric) or 'score'} = {score:.4g}{meaning}")
        if pd.notna(p_value):
            lower, upper = (f"{record[f'p_value_{end}']:.3g}" for end in ("lower", "upper"))
            between = f" (between {lower} and {upper})" if lower != upper else ""
            lines.append(f"p = {p_value:.3g}{between}")
            if opposite:
                lines.append(OPPOSITE)
            if pd.notna(null[0]):
                lines.append(f"without bias between {null[0]:.3g} and {null[1]:.3g} (95 %)")
        if pd.notna(lost) and lost > 0:
            lines.append(f"{lost} of {record['words_used'] + lost} words lost")
        return Cell(
            score,
            "<br>".join(lines),
            math.nan if math.isnan(score) else float(p_value),
            opposite,
            null if pd.notna(null[0]) else None,
            f"no value{mark}",
        )

    def _nan_reason(self, model: str, query: str, column: int) -> str | None:
        reason: str | None = self.records.get((model, query), {}).get("nan_reason")
        if reason is None and self.aggregated and column == len(self.no_bias) - 1:
            reason = "there is no query that every model could answer"
        return reason


def _known_name(queries_set_name: str) -> str:
    return "" if queries_set_name == "Unnamed queries set" else queries_set_name


def _shortened(reason: str) -> str:
    """Leave out which words were lost, repetitions, and how to write a remedy."""
    sets: list[str] = []
    position = 0
    while clause := _LOST.match(reason, position):
        sets.append(f"{clause['set']} {clause['share'] if sets else clause['lost']}")
        position = clause.end()
    hint = reason[position:].partition(": preprocessors=")[0]
    return "; ".join(filter(None, [", ".join(sets), hint]))


def _number_or_none(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None
