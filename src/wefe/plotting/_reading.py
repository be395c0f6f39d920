"""What a table of scores says about itself."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from wefe.plotting._labels import count, escape, wrap
from wefe.plotting._table import Numbers
from wefe.running import tidy_results

# The heading that `run_queries` and `overall_scores` give to an aggregated column.
_AGGREGATED = re.compile(r"(?P<metric>[^:]+): .* score")


@dataclass(frozen=True)
class Reading:
    """How a table of scores is to be read, as far as its `attrs` and last heading tell.

    Attributes
    ----------
    metric, queries_set_name, aggregation : str
        Empty if unknown.
    aggregated : bool
        Whether the last column is an aggregate.
    no_bias : list of float or None
        Per column, the value that means no bias; None if unknown.
    left_out : int
        How many queries the aggregate does not cover.
    nan_reasons : mapping
        Model -> query -> why the score is NaN.
    records : mapping
        (Model, query) -> what else is known about the score.
    """

    metric: str
    queries_set_name: str
    aggregated: bool
    aggregation: str
    no_bias: list[float | None]
    left_out: int
    nan_reasons: Mapping[str, Mapping[str, str]]
    records: Mapping[Any, Mapping[Any, Any]]

    @classmethod
    def of(cls, results: pd.DataFrame) -> Reading:
        """Read a table of `run_queries`, or any other table of scores."""
        attrs = results.attrs
        # The attrs alone would not do: they survive when a user drops the aggregated column.
        heading = _AGGREGATED.fullmatch(str(results.columns[-1]))
        no_bias = [_number_or_none(attrs.get("no_bias_value"))] * results.shape[1]
        if heading and "best" in attrs:
            no_bias[-1] = _number_or_none(attrs["best"])
        name = attrs.get("queries_set_name", "Unnamed queries set")
        records: Mapping[Any, Mapping[Any, Any]] = {}
        if "records" in attrs:
            tidy = tidy_results(results)
            records = tidy.set_index(["model_name", "query_name"]).to_dict("index")
        return cls(
            metric=str(attrs.get("metric", heading["metric"] if heading else "")),
            queries_set_name="" if name == "Unnamed queries set" else str(name),
            aggregated=heading is not None,
            aggregation=str(attrs.get("aggregation", "")) if heading else "",
            no_bias=no_bias,
            left_out=len(attrs.get("left_out", ())) if heading else 0,
            nan_reasons=attrs.get("nan_reasons", {}),
            records=records,
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

    def notes(self, scores: Numbers) -> list[str]:
        """Say what is missing."""
        notes = []
        missing = int(np.isnan(scores).sum())
        if missing:
            have = count(missing, "score has", "scores have")
            notes.append(f"{have} no value; point at the words 'no value' for the reason.")
        if self.left_out:
            queries = count(self.left_out, "query", "queries")
            notes.append(f"The aggregate leaves out {queries} that not every model could answer.")
        return notes

    def hover(self, model: str, query: str, column: int, score: float) -> str:
        """Say all that is known about a score."""
        lines = [f"<b>{wrap(model)}</b>", wrap(query, 60)]
        if math.isnan(score):
            lines.append(wrap(f"no value: {self._nan_reason(model, query, column)}", 60))
        else:
            no_bias = self.no_bias[column]
            meaning = "" if no_bias is None else f" ({no_bias:g} = no bias)"
            lines.append(f"{escape(self.metric) or 'score'} = {score:.4g}{meaning}")
        record = self.records.get((model, query), {})
        p_value, lost = record.get("p_value"), record.get("words_lost")
        if pd.notna(p_value):
            lines.append(f"p = {p_value:.3g}")
        if pd.notna(lost) and lost > 0:
            lines.append(f"{lost} of {record['words_used'] + lost} words lost")
        return "<br>".join(lines)

    def _nan_reason(self, model: str, query: str, column: int) -> str:
        reason = self.nan_reasons.get(model, {}).get(query)
        if reason is None and self.aggregated and column == len(self.no_bias) - 1:
            reason = "there is no query that every model could answer"
        return reason or "the score is NaN"


def _number_or_none(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None
