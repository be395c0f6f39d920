"""Optional sections of a study file: aggregation, mitigations, silhouettes, audits and others."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, get_type_hints

from pydantic import AfterValidator, Field, field_validator, model_validator

from wefe import datasets
from wefe._checks import check_known, logger
from wefe._files import read_text, text_lines
from wefe.datasets import list_criteria
from wefe.metrics._registry import as_metric
from wefe.study._entries import MetricPart, Words
from wefe.study._schema import Name, Part, blaming, check_once, check_params, name_or_file, refuse

if TYPE_CHECKING:
    from wefe.datasets import Criterion
    from wefe.debias import BaseDebias
    from wefe.quality import Benchmark


class AggregationEntry(Part):
    """How scores are aggregated per model and query set, ranked, and correlated."""

    #: bias_avg: mean distance from the score of no bias; the paper has abs_avg.
    function: Literal["bias_avg", "abs_avg", "avg", "sum", "abs_sum"] = "bias_avg"
    #: What to leave out if a model lacks the words of a query: the query for all models, or the
    #: model for all queries of the set.
    missing: Literal["queries", "models"] = "queries"
    #: How to rank models with the same number.
    ties: Literal["min", "average", "first", "max", "dense"] = "min"
    #: How to compare rankings.
    correlation: Literal["spearman", "kendall", "pearson"] = "spearman"


class Intervals(Part):
    #: Number of resamples of the words: 0 for none, else 40 or more.
    n_bootstrap: int = Field(default=0, ge=0)
    #: Confidence level of the intervals.
    confidence: float = Field(default=0.95, gt=0, lt=1)

    @field_validator("n_bootstrap")
    @classmethod
    def _are_enough(cls, value: int) -> int:
        if 0 < value < 40:
            raise ValueError(f"must be 0 (no intervals), or at least 40; got {value}")
        return value


def _are_criteria(names: list[str]) -> list[str]:
    check_known("criteria", names, list_criteria())
    return check_once(names)


#: Names of criteria that ship with the package: gender, ...
Criteria: TypeAlias = Annotated[list[str], AfterValidator(_are_criteria)]


class AuditEntry(Part):
    """Which scores and bias directions to audit."""

    #: Show warnings beside each score.
    scores: bool = False
    #: Criteria whose bias direction to audit in each model: gender, ...
    criteria: Criteria = Field(default=[])


class ExploreEntry(Part):
    """Which words to project onto the bias directions of each model."""

    #: Criteria along whose directions to show words: gender, ...
    criteria: Criteria = Field(default=[])
    #: Words whose neighbours to show.
    words: Annotated[list[Annotated[str, Field(min_length=1)]], AfterValidator(check_once)] = Field(
        default=[]
    )

    @model_validator(mode="after")
    def _say_along_what(self) -> ExploreEntry:
        # Without criteria, the section would silently do nothing.
        if self.words and not self.criteria:
            text = "is empty, so there is nothing to explore; for example, write ['gender']"
            refuse([(("criteria",), text)])
        return self


# Parameters that a study file cannot set, or sets with another key.
_NOT_OF_MITIGATIONS = {
    *("model", "criterion", "ignore", "criterion_name", "verbose", "fit_params", "return")
}


class MitigationEntry(Part):
    """A mitigation; mitigated models are measured in addition to the originals."""

    #: A method of 'wefe debias': hard-debias, inlp, leace, ...
    method: str
    #: gender, ethnicity or religion, or a JSON file like those of 'wefe debias'.
    criterion: str = Field(min_length=1)
    #: Name of the mitigation in tables.
    name: Name | None = Field(default=None, min_length=1)
    #: Names of the models to mitigate; default: all with a source.
    models: list[str] | None = Field(default=None, min_length=1)
    #: Parameters of the method.
    params: dict[str, Any] = Field(default={})
    #: Change only the vectors of these words; default: all.
    target: Words | None = None
    #: Words that keep their vectors: a list, [] for none, or 'specific' for words to which the
    #: class rightly belongs.
    ignore: list[str] | Literal["specific"] | None = "specific"

    @field_validator("method")
    @classmethod
    def _is_known(cls, value: str) -> str:
        from wefe.debias._compare import debias_method_name, get_debias_method

        return debias_method_name(get_debias_method(value))

    @model_validator(mode="after")
    def _params_fit(self) -> MitigationEntry:
        check_params(self.params, self._hints(), _NOT_OF_MITIGATIONS)
        return self

    def _hints(self) -> dict[str, Any]:
        """Return the parameters of the constructor and of `fit`, with their types."""
        kind = self.method_class
        return get_type_hints(kind.fit) | get_type_hints(kind.__init__)

    @property
    def method_class(self) -> type[BaseDebias]:
        from wefe.debias import get_debias_method

        return get_debias_method(self.method)

    @property
    def label(self) -> str:
        return self.name or f"{self.method}, {Path(self.criterion).stem}"

    def label_of(self, model: str) -> str:
        return f"{model} ({self.label})"

    def seeded(self, random_state: int) -> MitigationEntry:
        """Return the entry with the seed of the study if the method needs one and none is set."""
        if "random_state" not in self._hints() or "random_state" in self.params:
            return self
        return self.model_copy(update={"params": {**self.params, "random_state": random_state}})

    def load_criterion(self, base: str | os.PathLike[str], offline: bool = False) -> Criterion:
        """Return the word sets of the criterion; offline, only those that ship with the package."""
        with blaming("mitigations", self.label, "criterion"):
            return open_criterion(name_or_file(self.criterion, base, list_criteria()), offline)

    def ignored(self, criterion: Criterion) -> list[str]:
        """Return the words that keep their vectors."""
        return list(criterion.specific_words if self.ignore == "specific" else self.ignore or ())


def open_criterion(source: str, offline: bool) -> Criterion:
    """Return the words of a criterion; without a connection, those that ship with the package."""
    try:
        return datasets.load_criterion(source, offline=offline)
    except ConnectionError as error:
        found = datasets.load_criterion(source, offline=True)
        logger.warning(
            "%s: only the %d specific words that ship with the package are used (%s)",
            *(source, len(found.specific_words), getattr(error, "short", error)),
        )
        return found


def method_and_fit_params(
    kind: type[BaseDebias], params: Mapping[str, Any]
) -> tuple[BaseDebias, dict[str, Any]]:
    """Return a mitigation method with its own parameters, and the parameters of its `fit`."""
    others = dict(params)
    names = inspect.signature(kind).parameters
    return kind(**{name: others.pop(name) for name in names if name in others}), others


class SilhouetteEntry(MetricPart):
    """A silhouette: how a score depends on which words of its lists are available."""

    #: Name of a query set of this study.
    query_set: str
    #: Names of the models; default: all.
    models: list[str] | None = Field(default=None, min_length=1)
    #: The lists that grow; 'both' is a silhouette of each.
    vary: Literal["targets", "attributes", "both"] = "targets"
    #: Number of random orders.
    n_runs: int = Field(default=100, ge=1)
    #: Words added per step; default: 2 for targets, 6 for attributes.
    step: int | None = Field(default=None, ge=1)
    #: Smallest number of words; default: one step.
    k_min: int | None = Field(default=None, ge=1)
    #: How to treat lists of different lengths.
    unequal: Literal["exhaust", "proportional", "trim"] = "exhaust"
    #: Give a metric that takes one list of attributes all of them as one list, as in the paper;
    #: default: one list at a time.
    join: bool = False
    #: Smallest and largest score, and the score without bias; default: those of the metric.
    value_range: list[float] | None = None
    no_bias_value: float | None = None

    @field_validator("metric")
    @classmethod
    def _has_silhouettes(cls, name: str) -> str:
        if name == "ceat":
            raise ValueError("ceat has no silhouette; use seat or a metric of words")
        return name

    def run_params(self, random_state: int = 0) -> dict[str, Any]:
        """Return the parameters for `bias_silhouettes(metric_params=...)`."""
        metric = as_metric(self.metric)
        # Scores of subsets can be compared with these; they take precedence over [lookup].
        defaults = dict(metric.subset_params)
        if self.metric == "weat":  # not 'weat-es'
            defaults["return_effect_size"] = False
        elif self.metric == "rnsb":
            defaults |= metric._report_params(self.params, random_state=random_state)
        return {**defaults, **self.params}


Texts: TypeAlias = str | list[str]


class RetrievalEntry(Part):
    """A ranking audit: encoders rank documents that differ only in a name."""

    #: Name of the audit in tables; default: the file.
    name: Name | None = Field(default=None, min_length=1)
    #: The queries: texts, or a file with one per line.
    queries: Texts = Field(min_length=1)
    #: The documents: texts with one {} for the name, or a file with one per line.
    documents: Texts = Field(min_length=1)
    #: Groups and lists of their names, or a JSON file of them; 'female, black' is an intersection.
    #: Default: the names of Bertrand and Mullainathan (2004).
    names: str | dict[str, list[str]] | None = None
    #: Texts in place of a name that do not reveal a group.
    neutral: list[str] = Field(default=[])
    #: How relevant each document is: numbers with a row per query, or a CSV file of them.
    relevance: str | list[list[float]] | None = None
    #: Number of top documents that each query selects.
    k: int = Field(default=10, ge=1)
    #: Number of resamples.
    n_bootstrap: int = Field(default=1000, ge=40)
    #: Names of the encoders; default: all encoders.
    models: list[str] | None = Field(default=None, min_length=1)

    @property
    def label(self) -> str:
        file = self.documents if isinstance(self.documents, str) else "retrieval"
        return self.name or Path(file).stem

    def load(self, base: str | os.PathLike[str]) -> dict[str, Any]:
        """Return the arguments of :func:`wefe.retrieval.audit_ranking` as plain data."""
        from wefe.retrieval import load_resume_names
        from wefe.retrieval._texts import check_groups

        names = self._read("names", base, json.loads)
        with blaming("retrieval", self.label, "names"):
            groups = check_groups(load_resume_names() if names is None else names)
        return {
            **self.model_dump(include={"neutral", "k", "n_bootstrap"}),
            "queries": self._read("queries", base, text_lines),
            "templates": self._read("documents", base, text_lines),
            # Pairs, because the order of the groups matters.
            "names": [[group, [*own]] for group, own in groups.items()],
            "relevance": self._read("relevance", base, _numbers),
        }

    def _read(self, key: str, base: str | os.PathLike[str], parse: Callable[[str], Any]) -> Any:
        """Return the value of a key, or the content of the file that it names."""
        value = getattr(self, key)
        if not isinstance(value, str):
            return value
        with blaming("retrieval", self.label, key):
            text = read_text(Path(name_or_file(value, base)))
            try:
                return parse(text)
            except ValueError as error:
                raise ValueError(f"{value} cannot be read: {error}.") from error


def _numbers(text: str) -> list[list[float]]:
    return [[float(cell) for cell in line.split(",")] for line in text_lines(text)]


class ExternalEntry(Part):
    """A column of external scores, ranked beside those of bias."""

    #: Heading of the column.
    name: Name = Field(min_length=1)
    #: Which scores are best: 'higher', 'lower', or those nearest to a number.
    best: Literal["higher", "lower"] | float
    #: Score of each model, by name; models may be missing.
    scores: dict[str, float] = Field(min_length=1)

    @property
    def label(self) -> str:
        return self.name


class QualityEntry(Part):
    """Quality benchmarks of the models: word similarity, analogies, categories."""

    #: Benchmarks by name, or files in their format.
    benchmarks: list[str] = Field(min_length=1)
    #: Heading of the column.
    name: Name = Field(default="Quality", min_length=1)

    def load(self, base: str | os.PathLike[str]) -> dict[str, Benchmark]:
        from wefe.quality import list_benchmarks, load_benchmark

        known = [benchmark["name"] for benchmark in list_benchmarks()]
        opened: dict[str, Benchmark] = {}
        with blaming("quality", None, "benchmarks"):
            for source in self.benchmarks:
                each = load_benchmark(name_or_file(source, base, known))
                if each.name in opened:
                    raise ValueError(f"there is already a benchmark called {each.name!r}")
                opened[each.name] = each
        return opened
