"""What a study measures: models, query sets, metrics, and how scores are made of them."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import (
    Field,
    field_validator,
    model_validator,
)

from wefe.datasets._opened import open_query_set
from wefe.metrics._registry import as_metric, metric_names
from wefe.models.formats._registry import without_suffixes
from wefe.query import Query
from wefe.study._parts import (
    Name,
    Part,
    as_value_error,
    at_key,
    beside,
    blaming,
    check_each,
    check_metric_params,
    check_name,
    check_title,
    existing_file,
    metric_name,
    names_model,
    repeated,
)
from wefe.study._toml_errors import (
    Location,
    PlacedError,
)

if TYPE_CHECKING:
    from wefe.metrics import BaseMetric

_TO_FILL_IN = "FILL IN"


class ModelEntry(Part):
    """A model: `source` for a table of vectors, or `encoder` for one that reads sentences.

    Examples
    --------
    >>> ModelEntry(source="vectors/glove.6B.50d.txt.gz", limit=1000).label
    'glove.6B.50d'
    """

    source: str | None = Field(
        default=None,
        min_length=1,
        description="Whatever wefe.load opens: a file of vectors (a relative path is looked for "
        "beside the study file), 'org/name' on Hugging Face, a name of gensim-data, or 'demo'",
    )
    encoder: str | None = Field(
        default=None,
        min_length=1,
        description="A contextual or sentence encoder, in place of source: a folder that "
        "transformers or sentence-transformers saved, or 'org/name' on Hugging Face",
    )
    name: Name | None = Field(
        default=None,
        min_length=1,
        description="What tables and plots call the model; else a short source",
    )
    revision: str | None = Field(default=None, description="Branch, tag or commit on Hugging Face")
    vocab_prefix: str | None = Field(
        default=None, description="Stands before each word in the file: '/c/en/' for ConceptNet"
    )
    limit: int | None = Field(
        default=None, ge=1, description="Read only the first rows: the frequent words"
    )
    lowercase: Literal["first", "mean"] | None = Field(
        default=None,
        description="Lower the case of the vocabulary; what becomes of words that coincide",
    )
    min_count: int | None = Field(
        default=None, ge=1, description="Drop words that occurred less often"
    )
    counts: str | None = Field(default=None, description="File with a word and its count per line")
    subwords: Literal["mean", "first", "refuse"] | None = Field(
        default=None,
        description="The vector of a word that the vocabulary lacks, from its subwords",
    )
    vocabulary: str | None = Field(default=None, description="File with the words of a .npy matrix")
    trust_pickle: bool = Field(
        default=False,
        description="Open pickles of gensim and numpy, which can run code of whoever made them",
    )
    on_error: Literal["raise", "skip"] = Field(
        default="raise", description="What becomes of damaged lines: an error, or they are left out"
    )
    layer: int = Field(
        default=-1, description="Hidden state: 0 is the embedding layer, -1 the last one"
    )
    pooling: Literal["auto", "mean", "first", "cls", "sentence"] = Field(
        default="auto", description="How the vectors of an encoder's tokens become one"
    )
    templates: list[str] | None = Field(
        default=None,
        min_length=1,
        description="Sentences with one {} each, in which the encoder sees words",
    )
    device: str | None = Field(
        default=None, description="'cpu', 'cuda', 'cuda:1'; else a GPU if any"
    )
    dtype: Literal["float16", "bfloat16", "float32"] | None = Field(
        default=None, description="Type of the encoder's weights; else the model's own"
    )
    max_length: int | None = Field(default=None, ge=1, description="Tokens of a text that are read")

    _of_source: ClassVar[tuple[str, ...]] = (
        *("vocab_prefix", "limit", "lowercase", "min_count", "counts", "subwords", "vocabulary"),
        *("trust_pickle", "on_error"),
    )
    _of_encoder: ClassVar[tuple[str, ...]] = (
        *("layer", "pooling", "templates", "device", "dtype", "max_length"),
    )

    @field_validator("source", "encoder")
    @classmethod
    def _is_filled_in(cls, value: str | None) -> str | None:
        if value is not None and value.upper().startswith(_TO_FILL_IN):
            raise ValueError(
                f"still to be filled in ({value.removeprefix(_TO_FILL_IN).lstrip(': ')}). Write "
                "where the model is, or take this model out"
            )
        return value

    @field_validator("templates")
    @classmethod
    def _has_gaps(cls, value: list[str] | None) -> list[str] | None:
        for position, text in enumerate(value or ()):
            if text.count("{}") != 1:
                raise PlacedError([((position,), f"must have one {{}} for the word; got {text!r}")])
        return value

    @model_validator(mode="after")
    def _is_one_kind(self) -> ModelEntry:
        if (self.source is None) == (self.encoder is None):
            both = "both are given" if self.source else "neither is given"
            raise ValueError(
                "a model is either source = '...' (a table of vectors) or encoder = '...' (reads "
                f"sentences); {both}"
            )
        kind, other = ("encoder", "source") if self.is_encoder else ("source", "encoder")
        wrong = [key for key in self.options_of_other_kind if key in self.model_fields_set]
        if not wrong and self.name is None:
            with at_key(kind):
                check_title(self.label)
        if wrong:
            text = f"is an option of models with {other!r}, and this one has {kind!r}. "
            text += f"Options of {kind!r}: {', '.join(self._own_options)}"
            raise PlacedError([((key,), text) for key in wrong])
        return self

    @property
    def is_encoder(self) -> bool:
        """Whether the model reads sentences."""
        return self.encoder is not None

    @property
    def _own_options(self) -> tuple[str, ...]:
        return (*(self._of_encoder if self.is_encoder else self._of_source), "revision")

    @property
    def options_of_other_kind(self) -> tuple[str, ...]:
        """Keys that this kind of model does not have."""
        return self._of_source if self.is_encoder else self._of_encoder

    @property
    def label(self) -> str:
        """What tables call it: its name, or a short form of where it comes from."""
        if self.name is not None:
            return self.name
        text = str(self.encoder or self.source).rstrip("/\\")
        short = re.split(r"[/\\]", text)[-1]
        if not self.is_encoder:
            short = without_suffixes(short) or short
        short = short.split("@")[0] or short
        # Without these, two readings of one encoder could not be told apart.
        said = [f"layer {self.layer}"] if self.layer != -1 else []
        said += [self.pooling] if self.pooling != "auto" else []
        said += ["in templates"] if self.templates else []
        return ", ".join([short, *said])

    def load_options(self) -> dict[str, Any]:
        """Return what was set, for `wefe.load` or `wefe.contextual.load_encoder`.

        Without source and name.
        """
        return {
            key: getattr(self, key)
            for key in self._own_options
            if key in self.model_fields_set and getattr(self, key) is not None
        }

    def resolved(self, base: str | os.PathLike[str]) -> ModelEntry:
        """Return the entry with absolute paths, for files that lie beside the study file.

        'demo' stays as it is, as do a name of gensim-data and 'org/name' if nothing of that name
        lies beside the study file. All else is a path, whether or not there is something: what
        lies in the working folder is never read in its place.

        Parameters
        ----------
        base : path
            The folder of the study file.
        """
        paths = {}
        for key in ("source", "encoder", "counts", "vocabulary"):
            value = getattr(self, key)
            if value is not None and not names_model(key, value, base):
                paths[key] = beside(value, base)
        # The label must not change when its source becomes another text.
        return self.model_copy(update={**paths, "name": self.label})


class InlineQuery(Part):
    """A query written in the study file: names of sets, and their words.

    Examples
    --------
    >>> query = InlineQuery(
    ...     targets={"Women": ["she"], "Men": ["he"]}, attributes={"Arts": ["poem"]}
    ... )
    >>> query.to_query().query_name
    'Women and Men wrt Arts'
    """

    targets: dict[Name, list[str]] = Field(
        min_length=1, description="Social groups: a name and a list of words for each"
    )
    attributes: dict[Name, list[str]] = Field(
        min_length=1,
        description="What the groups may be associated with: a name and a list of words for each",
    )

    @model_validator(mode="after")
    def _is_query(self) -> InlineQuery:
        problems: list[tuple[Location, str]] = [
            ((side, name), "is empty; a word set needs at least one word")
            for side in ("targets", "attributes")
            for name, words in getattr(self, side).items()
            if not words
        ]
        if problems:
            raise PlacedError(problems)
        as_value_error(self.to_query)
        return self

    def to_query(self) -> Query:
        """Return the query."""
        return Query(
            list(self.targets.values()),
            list(self.attributes.values()),
            list(self.targets),
            list(self.attributes),
        )


class QuerySetEntry(Part):
    """Queries that are aggregated together, as one criterion of bias.

    Examples
    --------
    >>> queries, left_out = QuerySetEntry(set="gender").load(".", offline=True)
    >>> len(queries), [why for _, why in left_out]
    (6, ['its words are a download (offline)'])
    """

    name: Name | None = Field(
        default=None,
        min_length=1,
        description="What tables and plots call it; else the set or the file",
    )
    set: str | None = Field(
        default=None, description="A published query set; 'wefe datasets' lists them"
    )
    file: str | None = Field(
        default=None,
        min_length=1,
        description="A JSON file of queries, as Query.dict() writes them",
    )
    query: list[InlineQuery] | None = Field(
        default=None, min_length=1, description="Queries written here: [[queries.query]]"
    )
    weight: float | None = Field(
        default=None,
        ge=0,
        description="Its weight in the overall score; else its number of queries",
    )
    leave_out: list[str] = Field(default=[], description="Names of queries that are not asked")

    @field_validator("set")
    @classmethod
    def _is_published(cls, value: str | None) -> str | None:
        from wefe.datasets import list_query_sets

        if value is not None:
            known = [entry["name"] for entry in list_query_sets()]
            check_name(value, known, "no published query set")
        return value

    @model_validator(mode="after")
    def _is_one_kind(self) -> QuerySetEntry:
        given = [key for key in ("set", "file", "query") if getattr(self, key) is not None]
        if len(given) != 1:
            raise ValueError(
                "queries are either set = 'gender' (published), file = 'FILE.json', or written "
                f"here as [[queries.query]]; found {' and '.join(given) or 'none of them'}"
            )
        if self.query is not None and self.name is None:
            raise PlacedError([(("name",), "missing. Queries that are written here need a name")])
        if self.file is not None and self.name is None:
            with at_key("file"):
                check_title(self.label)
        titles = [query.to_query().query_name for query in self.query or ()]
        again = [
            (
                ("query", position),
                f"number {first + 1} is called {titles[first]!r} as well; "
                "give a set of words another name",
            )
            for position, first in repeated(titles)
        ]
        if again:
            raise PlacedError(again)
        names = self.known_names() if self.leave_out else None
        if names is not None:
            check_each(("leave_out",), self.leave_out, names, f"no query of {self.label!r}")
            if all(name in self.leave_out for name in names):
                raise PlacedError([(("leave_out",), "leaves out every query")])
        return self

    @property
    def label(self) -> str:
        """What tables call it."""
        return self.name or self.set or Path(str(self.file)).stem

    def known_names(self) -> list[str] | None:
        """Return the names of all queries; None of a file, which is not read here."""
        if self.query is not None:
            return [query.to_query().query_name for query in self.query]
        if self.set is None:
            return None
        from wefe.datasets import list_queries_left_out, load_query_set

        queries = load_query_set(self.set, offline=True)
        return [query.query_name for query in queries] + list_queries_left_out(self.set)

    def load(
        self, base: str | os.PathLike[str], offline: bool = False
    ) -> tuple[list[Query], list[tuple[str, str]]]:
        """Return the queries, and what is not asked.

        Parameters
        ----------
        base : path
            The folder of the study file.
        offline : bool, default=False
            Whether to leave out queries whose words must be downloaded. Without a connection they
            are left out in any case.

        Returns
        -------
        queries : list of Query
            What is to be asked.
        left_out : list of (str, str)
            Names of queries that are not, and why.

        Raises
        ------
        FileNotFoundError, ValueError
            If there is no such file, it is damaged, or not one query is left.
        """
        left_out: list[tuple[str, str]] = []
        if self.query is not None:
            queries = [query.to_query() for query in self.query]
        else:
            with self._blaming("set" if self.file is None else "file"):
                source = self.set or existing_file(str(self.file), base)
                opened = open_query_set(source, offline)
                queries = opened.queries
                if self.file is not None:
                    _check_titles(queries)
            left_out = [
                (name, f"its words are a download ({opened.why})")
                for name in opened.left_out
                if name not in self.leave_out
            ]
        names = [query.query_name for query in queries] + [name for name, _ in left_out]
        with self._blaming("leave_out"):
            for name in self.leave_out:
                if self.file is not None:
                    check_name(name, names, f"no query of {self.label!r}")
                left_out.append((name, "the study leaves it out"))
            queries = [query for query in queries if query.query_name not in self.leave_out]
            if not queries:
                raise ValueError("every query is left out")
        return queries, left_out

    def _blaming(self, key: str) -> AbstractContextManager[None]:
        return blaming("queries", self.label, key)


class MetricEntry(Part):
    """A metric with its parameters.

    Examples
    --------
    >>> entry = MetricEntry(metric="weat-es", params={"ddof": 1})
    >>> entry.label, entry.metric_class.__name__
    ('WEAT-ES', 'WEAT')
    """

    metric: str = Field(
        description=f"{', '.join(metric_names())}; weat-es is the effect size of weat, seat and "
        "ceat are for encoders"
    )
    label: Name = Field(
        default="",
        description="What tables and plots call it; else the name of the score: 'WEAT-ES'",
    )
    params: dict[str, Any] = Field(
        default={}, description="Its parameters, as run_query takes them"
    )
    queries: list[str] | None = Field(
        default=None, min_length=1, description="Names of the query sets it is for; else all"
    )
    contexts: str | None = Field(
        default=None, min_length=1, description="For ceat: a text file with a sentence per line"
    )

    @field_validator("metric")
    @classmethod
    def _is_known(cls, value: str) -> str:
        return metric_name(value)

    @model_validator(mode="after")
    def _params_fit(self) -> MetricEntry:
        check_metric_params(self.metric, self.params)
        if self.metric == "ceat" and self.contexts is None:
            raise PlacedError(
                [(("contexts",), "missing. ceat finds the words in a text: one sentence per line")]
            )
        if self.metric != "ceat" and self.contexts is not None:
            raise PlacedError([(("contexts",), f"is for ceat, and this is {self.metric}")])
        if not self.label:
            label = self.metric_class().scale(None, **self.run_params()).label
            object.__setattr__(self, "label", label)
        return self

    @property
    def metric_class(self) -> type[BaseMetric]:
        """The class of the metric."""
        return metric_names()[self.metric]

    def run_params(self, random_state: int = 0) -> dict[str, Any]:
        """Return the parameters for `run_query`: those given, and what a study needs besides.

        Every p-value is exact, and what is random has a seed.
        """
        metric = as_metric(self.metric)
        return {**metric.report_params(self.params, random_state, "two-sided"), **self.params}

    def contexts_path(self, base: str | os.PathLike[str]) -> Path | None:
        """Return where the sentences are; None for metrics that need none.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        """
        if self.contexts is None:
            return None
        with blaming("metrics", self.label, "contexts"):
            return Path(existing_file(self.contexts, base))


class Lookup(Part):
    """How words are looked up; every metric does it alike."""

    preprocessors: list[dict[str, Any]] = Field(
        default=[{}, {"lowercase": True}],
        description="Forms of a word that are tried in this order: {} is the word as written",
    )
    strategy: Literal["first", "all"] = Field(
        default="first", description="Use the first form that the model has, or all of them"
    )
    normalize: bool = Field(default=False, description="Scale every vector to unit length first")
    lost_vocabulary_threshold: float = Field(
        default=0.2,
        ge=0,
        le=1,
        description="A query that loses a larger share of a set's words has no score",
    )
    own_words: bool = Field(
        default=False,
        description="Measure each model on all words that it has; else all models on the words "
        "that every model has",
    )

    @field_validator("preprocessors")
    @classmethod
    def _are_preprocessors(cls, value: list[dict[str, Any]]) -> list[dict[str, Any]]:
        from wefe.words import check_preprocessors

        for position, options in enumerate(value):
            if "preprocessor" in options:
                raise PlacedError([((position, "preprocessor"), "is for Python; no file has code")])
        as_value_error(check_preprocessors, value)
        return value


class AggregationEntry(Part):
    """From scores to one number per model and query set, and to ranks and their correlations."""

    function: Literal["bias_avg", "abs_avg", "avg", "sum", "abs_sum"] = Field(
        default="bias_avg",
        description="bias_avg: mean distance from the score of no bias; the paper has abs_avg",
    )
    missing: Literal["queries", "models"] = Field(
        default="queries",
        description="What is left out where a model lacks the words of a query: the query for all "
        "models, or the model for all queries of the set",
    )
    ties: Literal["min", "average", "first", "max", "dense"] = Field(
        default="min", description="The rank of models with the same number"
    )
    correlation: Literal["spearman", "kendall", "pearson"] = Field(
        default="spearman", description="How rankings are compared"
    )


class Intervals(Part):
    """How far each score would move with other words of the same kind."""

    n_bootstrap: int = Field(
        default=0,
        ge=0,
        description="How often the words are drawn anew: 0 for none, else 40 or more",
    )
    confidence: float = Field(default=0.95, gt=0, lt=1, description="Confidence of the intervals")

    @field_validator("n_bootstrap")
    @classmethod
    def _are_enough(cls, value: int) -> int:
        if 0 < value < 40:
            raise ValueError(f"must be 0 (no intervals), or at least 40; got {value}")
        return value


def _check_titles(queries: Sequence[Query]) -> None:
    """Refuse different queries of one name, of which tables would show one."""
    first: dict[str, Query] = {}
    for query in queries:
        if first.setdefault(query.query_name, query) != query:
            raise ValueError(f"two queries are called {query.query_name!r}; rename one")
