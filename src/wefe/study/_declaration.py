"""The study file: what is measured, of which models, with which queries; checked before it runs."""

from __future__ import annotations

import inspect
import json
import logging
import math
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias, get_type_hints

import pydantic
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)

from wefe._checks import check_choice, nearest
from wefe.datasets._opened import open_query_set
from wefe.metrics._usual import usual_params
from wefe.query import Query
from wefe.study._plan import OVERALL
from wefe.study._toml_errors import (
    Location,
    PlacedError,
    check_params,
    hint_of_toml,
    problems_text,
    shown,
)

if TYPE_CHECKING:
    from wefe.datasets import Criterion
    from wefe.debias import BaseDebias
    from wefe.metrics import BaseMetric
    from wefe.quality import Benchmark

logger = logging.getLogger(__name__)

_FOLDER = Path(__file__).parent / "files"
_TO_FILL_IN = "FILL IN"
# What terminals and pages obey in place of showing it: control characters, line ends, and what
# turns the direction of text. No joiners, which some scripts need.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_SUFFIXES = re.compile(
    r"(\.(txt|vec|bin|kv|model|npy|npz|safetensors|parquet|csv|tsv))?(\.(gz|bz2|xz|zst|zip))?$"
)


def metric_names() -> dict[str, type[BaseMetric]]:
    """Return every metric by the name that study files and the command line have for it.

    Examples
    --------
    >>> sorted(metric_names())[-3:]
    ['seat', 'weat', 'weat-es']
    """
    from wefe.metrics import get_metric, list_metrics

    known = {
        metric.metric_short_name.lower().replace(" ", "-"): metric for metric in list_metrics()
    }
    known["weat-es"] = known["weat"]
    return known | {name: get_metric(name) for name in ("seat", "ceat")}


def _shows(name: str) -> str:
    """Return a name, unless it holds what is no letter."""
    bad = _CONTROL.search(name)
    if bad is not None:
        raise ValueError(f"must not hold the control character {bad.group()!a}; got {name!a}")
    return name


#: A text that tables, plots and terminals show.
Name: TypeAlias = Annotated[str, AfterValidator(_shows)]


class _Part(BaseModel):
    """A table of a study file: nothing unknown, nothing of another kind, nothing changed later."""

    # Texts are no numbers here, so that a slip is an error and not a guess.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class ModelEntry(_Part):
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
            with _at(kind):
                _shows(self.label)
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
            short = _SUFFIXES.sub("", short) or short
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
            if value is not None and not _names_model(key, value, base):
                paths[key] = beside(value, base)
        # The label must not change when its source becomes another text.
        return self.model_copy(update={**paths, "name": self.label})


class InlineQuery(_Part):
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
        _as_value_error(self.to_query)
        return self

    def to_query(self) -> Query:
        """Return the query."""
        return Query(
            list(self.targets.values()),
            list(self.attributes.values()),
            list(self.targets),
            list(self.attributes),
        )


class QuerySetEntry(_Part):
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
            _known(value, [entry["name"] for entry in list_query_sets()], "no published query set")
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
            with _at("file"):
                _shows(self.label)
        titles = [query.to_query().query_name for query in self.query or ()]
        again = [
            (
                ("query", position),
                f"number {titles.index(title) + 1} is called {title!r} as well; "
                "give a set of words another name",
            )
            for position, title in enumerate(titles)
            if titles.index(title) < position
        ]
        if again:
            raise PlacedError(again)
        names = self.known_names() if self.leave_out else None
        if names is not None:
            _check_each(("leave_out",), self.leave_out, names, f"no query of {self.label!r}")
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
                    _known(name, names, f"no query of {self.label!r}")
                left_out.append((name, "the study leaves it out"))
            queries = [query for query in queries if query.query_name not in self.leave_out]
            if not queries:
                raise ValueError("every query is left out")
        return queries, left_out

    def _blaming(self, key: str) -> AbstractContextManager[None]:
        return _blaming("queries", self.label, key)


class MetricEntry(_Part):
    """A metric with its parameters.

    Examples
    --------
    >>> entry = MetricEntry(metric="weat-es", params={"ddof": 1})
    >>> entry.label, entry.metric_class.__name__
    ('WEAT-ES', 'WEAT')
    """

    metric: str = Field(
        description="weat, weat-es (its effect size), rnd, rnsb, mac, ect, ripa, direct-bias, same "
        "or gweat; for encoders also seat and ceat"
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
        return _metric_name(value)

    @model_validator(mode="after")
    def _params_fit(self) -> MetricEntry:
        _check_metric_params(self.metric, self.params)
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
        return {**usual_params(self.metric, self.params, random_state), **self.params}

    def contexts_path(self, base: str | os.PathLike[str]) -> Path | None:
        """Return where the sentences are; None for metrics that need none.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        """
        if self.contexts is None:
            return None
        with _blaming("metrics", self.label, "contexts"):
            return Path(existing_file(self.contexts, base))


class Lookup(_Part):
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

    @field_validator("preprocessors")
    @classmethod
    def _are_preprocessors(cls, value: list[dict[str, Any]]) -> list[dict[str, Any]]:
        from wefe.words import check_preprocessors

        for position, options in enumerate(value):
            if "preprocessor" in options:
                raise PlacedError([((position, "preprocessor"), "is for Python; no file has code")])
        _as_value_error(check_preprocessors, value)
        return value


class AggregationEntry(_Part):
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


class Intervals(_Part):
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


class AuditEntry(_Part):
    """What the scores do not show."""

    scores: bool = Field(default=False, description="Whether warnings stand beside each score")
    criteria: list[str] = Field(
        default=[],
        description="Criteria whose bias direction is audited in each model: gender, ...",
    )

    @field_validator("criteria")
    @classmethod
    def _are_known(cls, value: list[str]) -> list[str]:
        from wefe.datasets import list_criteria

        _check_each((), value, list_criteria(), "no criterion")
        _check_once(value)
        return value


class MitigationEntry(_Part):
    """A mitigation, whose models are measured beside the models as they are.

    Examples
    --------
    >>> entry = MitigationEntry(method="hard-debias", criterion="gender")
    >>> entry.label, entry.label_of("glove")
    ('hard-debias, gender', 'glove (hard-debias, gender)')
    """

    method: str = Field(description="A method of 'wefe debias': hard-debias, inlp, leace, ...")
    criterion: str = Field(
        min_length=1,
        description="gender, ethnicity or religion, or a JSON file as 'wefe debias' takes it",
    )
    name: Name | None = Field(
        default=None, min_length=1, description="What tables call the mitigation"
    )
    models: list[str] | None = Field(
        default=None,
        min_length=1,
        description="Names of the models it is tried on; else all with a source",
    )
    params: dict[str, Any] = Field(default={}, description="Parameters of the method")
    target: list[str] | None = Field(
        default=None, min_length=1, description="Only the vectors of these words change; else all"
    )
    ignore: list[str] | Literal["specific"] = Field(
        default="specific",
        description="Words that keep their vectors: a list, [] for none, or 'specific' for those "
        "to which the class rightly belongs",
    )

    @field_validator("method")
    @classmethod
    def _is_known(cls, value: str) -> str:
        from wefe.debias import get_debias_method, list_debias_methods
        from wefe.debias._registry import debias_method_name

        names = [debias_method_name(method) for method in list_debias_methods()]
        try:
            return debias_method_name(get_debias_method(value))
        except ValueError:
            raise ValueError(_no_such(value, names, "no mitigation method")) from None

    @field_validator("criterion")
    @classmethod
    def _is_criterion(cls, value: str) -> str:
        from wefe.datasets import list_criteria

        if not value.endswith(".json"):
            _known(value, [*list_criteria(), "FILE.json"], "no criterion")
        return value

    @field_validator("ignore", mode="before")
    @classmethod
    def _is_list_or_word(cls, value: object) -> object:
        if value is None:
            return []
        words = value if isinstance(value, list) else [None]
        if value != "specific" and not all(isinstance(word, str) for word in words):
            raise ValueError(
                f"must be a list of words, [] for none, or 'specific'; got {shown(value)}"
            )
        return value

    @model_validator(mode="after")
    def _params_fit(self) -> MitigationEntry:
        kind = self.method_class
        check_params(self.params, [kind, kind.fit], {}, _NOT_OF_MITIGATIONS, self.method)
        _check_plain(self.params)
        return self

    @property
    def method_class(self) -> type[BaseDebias]:
        """The class of the method."""
        from wefe.debias import get_debias_method

        return get_debias_method(self.method)

    @property
    def label(self) -> str:
        """What tables call it."""
        return self.name or f"{self.method}, {Path(self.criterion).stem}"

    def label_of(self, model: str) -> str:
        """Return what tables call a model that was mitigated."""
        return f"{model} ({self.label})"

    def seeded(self, random_state: int) -> MitigationEntry:
        """Return the entry with the seed of the study, if the method takes one and has none.

        Examples
        --------
        >>> entry = MitigationEntry(method="inlp", criterion="gender")
        >>> entry.seeded(7).constructor_params()
        {'random_state': 7}
        """
        kind = self.method_class
        takes = {*inspect.signature(kind).parameters, *inspect.signature(kind.fit).parameters}
        if "random_state" not in takes or "random_state" in self.params:
            return self
        return self.model_copy(update={"params": {**self.params, "random_state": random_state}})

    def constructor_params(self) -> dict[str, Any]:
        """Return the parameters for the constructor of the method."""
        own = inspect.signature(self.method_class).parameters
        return {name: value for name, value in self.params.items() if name in own}

    def fit_params(self) -> dict[str, Any]:
        """Return the parameters for `fit`."""
        own = self.constructor_params()
        return {name: value for name, value in self.params.items() if name not in own}

    def load_criterion(self, base: str | os.PathLike[str], offline: bool = False) -> Criterion:
        """Return the word sets of the criterion.

        Without a connection they are those that ship with the package.

        Raises
        ------
        FileNotFoundError, ValueError
            If there is no such file, or it is damaged.
        """
        from wefe.datasets import list_criteria, load_criterion

        with _blaming("mitigations", self.label, "criterion"):
            if self.criterion not in list_criteria():
                return load_criterion(existing_file(self.criterion, base))
            try:
                return load_criterion(self.criterion, offline=offline)
            except ConnectionError as error:
                why = getattr(error, "short", error)
                logger.warning("%s: fewer words keep their vectors (%s)", self.criterion, why)
                return load_criterion(self.criterion, offline=True)

    def ignored(self, criterion: Criterion) -> list[str]:
        """Return the words that keep their vectors."""
        return list(criterion.specific_words) if self.ignore == "specific" else list(self.ignore)


class SilhouetteEntry(_Part):
    """How scores depend on which words of their lists are there."""

    metric: str = Field(description="A metric, as in [[metrics]]")
    query_set: str = Field(description="Name of a query set of this study")
    query: str | None = Field(
        default=None,
        min_length=1,
        description="Name of a query, or of a subquery; else every query",
    )
    models: list[str] | None = Field(
        default=None, min_length=1, description="Names of the models; else all"
    )
    vary: Literal["targets", "attributes"] = Field(
        default="targets", description="The lists that grow"
    )
    n_runs: int = Field(default=100, ge=1, description="Number of random orders")
    step: int | None = Field(
        default=None, ge=1, description="Words per step; else 2 for targets, 6 for attributes"
    )
    k_min: int | None = Field(default=None, ge=1, description="Fewest words; else one step")
    unequal: Literal["exhaust", "proportional", "trim"] = Field(
        default="exhaust", description="What becomes of lists of different lengths"
    )
    params: dict[str, Any] = Field(default={}, description="Parameters of the metric")

    @field_validator("metric")
    @classmethod
    def _is_known(cls, value: str) -> str:
        name = _metric_name(value)
        if name == "ceat":
            raise ValueError("ceat has no silhouette; seat and the metrics of words have one")
        return name

    @model_validator(mode="after")
    def _params_fit(self) -> SilhouetteEntry:
        _check_metric_params(self.metric, self.params)
        return self

    def run_params(self, random_state: int = 0) -> dict[str, Any]:
        """Return the parameters for `bias_silhouette(metric_params=...)`."""
        defaults = {"return_effect_size": True} if self.metric == "weat-es" else {}
        if self.metric == "rnsb":
            defaults = usual_params("rnsb", self.params, random_state)
        return {**defaults, **self.params}

    def overlaps(self, other: SilhouetteEntry) -> bool:
        """Tell whether both are of the same query, model, metric and side."""
        same = ("metric", "query_set", "vary")
        return (
            all(getattr(self, key) == getattr(other, key) for key in same)
            and (self.query == other.query or None in (self.query, other.query))
            and (
                self.models is None
                or other.models is None
                or not set(self.models).isdisjoint(other.models)
            )
        )

    def pick(self, queries: Sequence[Query]) -> list[Query]:
        """Return the queries, in the form that the metric takes, that are meant.

        Parameters
        ----------
        queries : sequence of Query
            Those of the query set.

        Raises
        ------
        ValueError
            If none of them, or of their subqueries, has that name.
        """
        metric = metric_names()[self.metric]()
        fitting = list(dict.fromkeys(sub for query in queries for sub in metric.subqueries(query)))
        if self.query is None:
            return fitting
        whole = [query for query in queries if query.query_name == self.query]
        chosen = [sub for query in whole for sub in metric.subqueries(query)]
        chosen = chosen or [query for query in fitting if query.query_name == self.query]
        if not chosen:
            names = [query.query_name for query in (*queries, *fitting)]
            what = f"no query of {self.query_set!r} that {self.metric} takes"
            with _blaming("silhouettes", self.metric, "query"):
                raise ValueError(_no_such(self.query, list(dict.fromkeys(names)), what))
        return chosen


class ExternalEntry(_Part):
    """A column of scores from elsewhere, ranked beside those of bias."""

    name: Name = Field(min_length=1, description="Heading of the column")
    best: Literal["higher", "lower"] | float = Field(
        description="'higher' or 'lower', or the number to which the best score is nearest"
    )
    scores: dict[str, float] = Field(
        min_length=1, description="Name of a model and its score; models may be missing"
    )

    @field_validator("best", mode="before")
    @classmethod
    def _is_order(cls, value: object) -> object:
        number = None if isinstance(value, bool) or not isinstance(value, int | float) else value
        is_number = number is not None and abs(number) < math.inf
        if value not in ("higher", "lower") and not is_number:
            raise ValueError(f"must be 'higher', 'lower' or a number; got {shown(value)}")
        return value


class QualityEntry(_Part):
    """What the models are worth otherwise: word similarity, analogies, categories."""

    benchmarks: list[str] = Field(
        min_length=1, description="Benchmarks by name, or files in their format"
    )
    name: Name = Field(default="Quality", min_length=1, description="Heading of the column")
    mitigated: bool = Field(
        default=True, description="Whether mitigated models are evaluated as well"
    )

    @field_validator("benchmarks")
    @classmethod
    def _are_different(cls, value: list[str]) -> list[str]:
        _check_once(value)
        names = [cls._name_of(source) for source in value]
        again = [
            (
                (position,),
                f"{value[position]!r} and {value[names.index(name)]!r} are both called {name!r}; "
                "rename a file",
            )
            for position, name in enumerate(names)
            if names.index(name) < position
        ]
        if again:
            raise PlacedError(again)
        return value

    @staticmethod
    def _name_of(source: str) -> str:
        from wefe.quality import list_benchmarks

        known = {benchmark["name"] for benchmark in list_benchmarks()}
        return source if source in known else Path(source).stem

    def sources(self, base: str | os.PathLike[str]) -> list[str]:
        """Return the benchmarks: names as they are, files with absolute paths.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        """
        from wefe.quality import list_benchmarks

        known = [benchmark["name"] for benchmark in list_benchmarks()]
        found = []
        for position, source in enumerate(self.benchmarks):
            with self._blaming(position):
                found.append(source if source in known else existing_file(source, base, known))
        return found

    def load(self, base: str | os.PathLike[str]) -> list[Benchmark]:
        """Return the benchmarks.

        Raises
        ------
        FileNotFoundError, ValueError
            If there is no such file, or it is damaged.
        ImportError
            If gensim, which a benchmark comes with, is not installed.
        """
        from wefe.quality import load_benchmark

        opened = []
        for position, source in enumerate(self.sources(base)):
            with self._blaming(position):
                opened.append(load_benchmark(source))
        return opened

    @staticmethod
    def _blaming(position: int) -> AbstractContextManager[None]:
        return _blaming("quality", None, "benchmarks", position)


class Limits(_Part):
    """What `wefe check` lets pass."""

    max: dict[str, float] = Field(
        default={},
        description="Metric (or its label) and the largest mean distance from no bias of a model "
        "over a query set",
    )
    max_increase: str | float | None = Field(
        default=None, description="Growth of a score over a baseline: '10%' of it, or 0.05 more"
    )

    @field_validator("max")
    @classmethod
    def _are_positive(cls, value: dict[str, float]) -> dict[str, float]:
        wrong = [key for key, most in value.items() if most < 0]
        if wrong:
            raise PlacedError(
                [((key,), f"must be at least 0; got {shown(value[key])}") for key in wrong]
            )
        return value

    @field_validator("max_increase", mode="before")
    @classmethod
    def _is_increase(cls, value: object) -> object:
        if value is not None:
            parse_increase(value)
        return value


def parse_increase(text: object) -> tuple[float, bool]:
    """Return how much more bias may be measured, and whether that is relative.

    Parameters
    ----------
    text : str or float
        '10%' for a tenth of what was there, or 0.05 (also as text) for that much more, below 1.

    Returns
    -------
    value : float
        0.1 or 0.05, at least 0.
    is_relative : bool
        Whether the value is a share of the baseline.

    Raises
    ------
    ValueError
        If it is neither; also if it is 1 or more without '%', which lets almost everything pass.

    Examples
    --------
    >>> parse_increase("10%"), parse_increase(0.05)
    ((0.1, True), (0.05, False))
    """
    is_relative = isinstance(text, str) and text.strip().endswith("%")
    try:
        if isinstance(text, bool) or not isinstance(text, str | int | float):
            raise ValueError
        value = float(text.strip().removesuffix("%") if isinstance(text, str) else text)
        if not 0 <= value < math.inf:
            raise ValueError
    except (ValueError, OverflowError):
        raise ValueError(
            f"must be a share such as '10%', or a number such as 0.05, at least 0; got "
            f"{shown(text)}"
        ) from None
    if value >= 1 and not is_relative:
        raise ValueError(
            f"must be below 1 without '%': {value:g} lets a distance from no bias grow by "
            f"{value:g}; did you mean '{value:g}%'?"
        )
    return (value / 100, True) if is_relative else (value, False)


class Declaration(_Part):
    """A study, as its file declares it.

    Raises
    ------
    pydantic.ValidationError
        If something is wrong; :func:`check_declaration` and :func:`read_declaration` say it in the
        words of a study file.

    Examples
    --------
    >>> study = check_declaration(
    ...     {
    ...         "name": "First steps",
    ...         "models": [{"source": "demo"}],
    ...         "queries": [{"set": "gender"}],
    ...         "metrics": [{"metric": "weat-es"}, {"metric": "rnd"}],
    ...     }
    ... )
    >>> [metric.label for metric in study.metrics]
    ['WEAT-ES', 'RND']
    """

    name: Name = Field(min_length=1, description="Title of the study")
    description: str = Field(default="", description="What it is about, in a sentence or more")
    random_state: int = Field(
        default=0,
        ge=0,
        lt=2**32,
        description="Seed of all that is random: the same seed, the same results",
    )
    offline: bool = Field(
        default=False,
        description="Whether nothing is downloaded; queries that need it are left out",
    )
    results: str | None = Field(
        default=None,
        min_length=1,
        description="File of the results; else that of the study, ending in .db",
    )
    models: list[ModelEntry] = Field(min_length=1, description="The models that are compared")
    queries: list[QuerySetEntry] = Field(min_length=1, description="What they are asked")
    metrics: list[MetricEntry] = Field(min_length=1, description="By what the answer is measured")
    lookup: Lookup = Field(default=Lookup(), description="How words are looked up")
    aggregation: AggregationEntry = Field(
        default=AggregationEntry(), description="From scores to ranks and correlations"
    )
    intervals: Intervals = Field(default=Intervals(), description="Bootstrap intervals of scores")
    audit: AuditEntry = Field(default=AuditEntry(), description="What the scores do not show")
    mitigations: list[MitigationEntry] = Field(default=[], description="Mitigations to compare")
    silhouettes: list[SilhouetteEntry] = Field(default=[], description="Silhouettes to attach")
    external: list[ExternalEntry] = Field(
        default=[], description="Columns of scores from elsewhere"
    )
    quality: QualityEntry | None = Field(default=None, description="The built-in quality column")
    limits: Limits = Field(default=Limits(), description="What 'wefe check' lets pass")

    @model_validator(mode="before")
    @classmethod
    def _is_of_toml(cls, data: Any) -> Any:
        _check_integers(data)
        return data

    @field_validator("results")
    @classmethod
    def _is_kept(cls, value: str | None) -> str | None:
        if value == ":memory:":
            raise ValueError("must be a file: what is in memory is gone after the run")
        return value

    @model_validator(mode="after")
    def _parts_fit(self) -> Declaration:
        if self.limits.max:
            # As those who check limits know the metrics.
            known = _names_of_metrics(self)
            most: dict[str, float] = {}
            for name, limit in self.limits.max.items():
                plain = known.get(name, known.get(_plain(name), name))
                most[plain] = min(limit, most.get(plain, math.inf))
            object.__setattr__(self, "limits", self.limits.model_copy(update={"max": most}))
        problems = [
            *_repeated(self),
            *_unknown(self),
            *_for_encoders(self),
            *_without_weight(self),
        ]
        if problems:
            raise PlacedError(problems)
        return self

    @property
    def model_labels(self) -> list[str]:
        """Names of the models as they are."""
        return [model.label for model in self.models]

    def mitigated(self) -> list[tuple[ModelEntry, MitigationEntry]]:
        """Return which models are mitigated, and how; `label_of` of the mitigation names each.

        Methods that draw at random have the seed of the study, unless their parameters have one.
        """
        return [
            (model, mitigation.seeded(self.random_state))
            for mitigation in self.mitigations
            for model in self.models
            if not model.is_encoder
            and (mitigation.models is None or model.label in mitigation.models)
        ]

    def all_labels(self) -> list[str]:
        """Return the names of all models that are measured, the mitigated ones last."""
        return self.model_labels + [how.label_of(model.label) for model, how in self.mitigated()]

    def results_path(self, study_file: str | os.PathLike[str]) -> Path:
        """Return where the results go.

        Parameters
        ----------
        study_file : path
            The study file; a relative path in it is relative to its folder.
        """
        path = Path(study_file)
        return path.with_suffix(".db") if self.results is None else path.parent / self.results

    def canonical(self) -> dict[str, Any]:
        """Return all that decides the results as plain data, the defaults written out.

        It is fit for JSON, and :func:`check_declaration` takes it. Not in it: the description,
        where the results go, and the limits.
        """
        plain = self.model_dump(mode="json", exclude={"description", "results", "limits"})
        # Options of the other kind of model decide nothing, and no study file may have them.
        plain["models"] = [
            {key: value for key, value in each.items() if key not in model.options_of_other_kind}
            for model, each in zip(self.models, plain["models"], strict=True)
        ]
        return plain


def check_declaration(data: Mapping[str, Any], file: str = "study") -> Declaration:
    """Return the study that data declares, as a study file would.

    Parameters
    ----------
    data : mapping
        Tables and keys of a study file.
    file : str, default='study'
        What messages call it.

    Raises
    ------
    ValueError
        If something is wrong: one line per problem, with its place and what is allowed.

    Examples
    --------
    >>> check_declaration({"name": "A study", "models": [{"sorce": "demo"}]})
    Traceback (most recent call last):
    ...
    ValueError: study: [[models]] number 1, key 'sorce': unknown. Did you mean 'source'? ...
    """
    try:
        return Declaration.model_validate(dict(data))
    except pydantic.ValidationError as error:
        text = problems_text(error, data, Declaration, file)
    except RecursionError:
        text = f"{file}: lists or tables are nested too deeply"
    raise ValueError(text)


def read_declaration(path: str | os.PathLike[str]) -> Declaration:
    """Read a study file.

    Parameters
    ----------
    path : path
        A TOML file; `wefe init` writes one that explains itself. Nothing in it can run code.

    Returns
    -------
    Declaration
        The study. Its paths are as written: `resolved` and `load` of its parts look for them
        beside the file.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it is no TOML, or something in it is wrong: one line per problem, with its place and
        what is allowed.

    Examples
    --------
    >>> read_declaration("study.toml").models[0].label  # doctest: +SKIP
    'demo'
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no study file {path}; 'wefe init' writes one.")
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no text in UTF-8: {error}.") from error
    except RecursionError:
        raise ValueError(f"{path}: lists or tables are nested too deeply.") from None
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path} is no TOML: {error}.{hint_of_toml(error)}") from error
    except ValueError as error:  # of Python, which reads no number of many digits
        raise ValueError(f"{path} is no TOML: a number has too many digits.") from error
    declaration = check_declaration(data, path.name)
    trusted = [model.label for model in declaration.models if model.trust_pickle]
    if trusted:
        logger.warning(
            "%s sets trust_pickle for %s: a pickle can run any code that its author put there",
            path.name,
            ", ".join(trusted),
        )
    return declaration


def list_study_files() -> list[str]:
    """Return the names of the study files that ship with the package.

    Examples
    --------
    >>> list_study_files()
    ['case_study', 'demo']
    """
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


def study_file(name: str = "demo") -> str:
    """Return the text of a study file that ships with the package.

    Parameters
    ----------
    name : {'demo', 'case_study'}, default='demo'
        'demo' explains every section and runs offline. 'case_study' is that of the WEFE paper, in
        which the models are still to be filled in.

    Examples
    --------
    >>> study_file("case_study").splitlines()[0]
    '# The case study of the WEFE paper (Badilla, Bravo-Marquez and Perez, IJCAI 2020, section 4).'
    """
    check_choice("name", name, list_study_files())
    return (_FOLDER / f"{name}.toml").read_text(encoding="utf-8")


def beside(text: str, base: str | os.PathLike[str]) -> str:
    """Return the absolute path of a file that is named in a study file.

    Parameters
    ----------
    text : str
        A path, relative to the study file or not; '~' is the home of the user.
    base : path
        The folder of the study file.

    Examples
    --------
    >>> beside("../vectors/glove.txt", "/studies/first")
    '/studies/vectors/glove.txt'
    """
    return os.path.normpath(Path(base, os.path.expanduser(text)).absolute())


def existing_file(text: str, base: str | os.PathLike[str], names: Iterable[str] = ()) -> str:
    """Return the absolute path of a file that is named in a study file, and is there.

    Parameters
    ----------
    text : str
        A path.
    base : path
        The folder of the study file.
    names : iterable of str
        What could have been meant as well.

    Raises
    ------
    FileNotFoundError
        If there is no such file; the error names the nearest one in its folder.
    """
    path = Path(beside(text, base))
    if path.is_file():
        return str(path)
    try:
        others = sorted(entry.name for entry in os.scandir(path.parent) if entry.is_file())
    except OSError:
        others = []
    names = list(names)
    # Names as they would be written: in the folder that was written.
    written = [str(Path(text).with_name(other)) for other in others]
    known = f" Known by name: {', '.join(map(repr, names))}." if names else ""
    raise FileNotFoundError(f"there is no file {path}.{nearest(text, [*names, *written])}{known}")


def _names_model(key: str, text: str, base: str | os.PathLike[str]) -> bool:
    """Tell whether a text names a model, and no path."""
    from wefe.models.formats._hub import GENSIM_DATA_NAMES, looks_like_repo_id

    if key in ("counts", "vocabulary"):
        return False
    if (text == "demo" and key == "source") or text.startswith("hf://"):
        return True
    path = Path(beside(text, base))
    # A file in a zip archive is named as if the archive were a folder.
    if path.exists() or any(parent.is_file() for parent in path.parents):
        return False
    # 'vectors/glove' is a file that is missing, if there is a folder 'vectors'.
    is_repo = looks_like_repo_id(text) and not Path(base, text.split("/")[0]).is_dir()
    return is_repo or (text in GENSIM_DATA_NAMES and key == "source")


def _check_titles(queries: Sequence[Query]) -> None:
    """Refuse different queries of one name, of which tables would show one."""
    first: dict[str, Query] = {}
    for query in queries:
        if first.setdefault(query.query_name, query) != query:
            raise ValueError(f"two queries are called {query.query_name!r}; rename one")


@contextmanager
def _at(key: str) -> Iterator[None]:
    """Have a validator of a whole table point at one key."""
    try:
        yield
    except ValueError as error:
        raise PlacedError([((key,), str(error))]) from None


@contextmanager
def _blaming(
    table: str, label: str | None, key: str, position: int | None = None
) -> Iterator[None]:
    """Say which key of the study file is to blame for what turns up after it was checked."""
    place = f"[{table}]" if label is None else f"[[{table}]] of {label!r}"
    place += f", key {key!r}" + ("" if position is None else f", element {position + 1}")
    try:
        yield
    except (OSError, ValueError, ImportError) as error:
        kinds = (FileNotFoundError, ConnectionError, OSError, ImportError, ValueError)
        kind = next(kind for kind in kinds if isinstance(error, kind))
        raise kind(f"{place}: {error}") from error


# What no file can say, or what another key says.
_NOT_OF_METRICS = {
    *("self", "query", "model", "contexts", "estimator", "print_model_evaluation"),
    *("p_value_verbose", "warn_not_found_words", "preprocessors"),
}
_NOT_OF_MITIGATIONS = {"self", "model", "criterion", "ignore", "criterion_name", "verbose"}


def _metric_name(value: str) -> str:
    """Return the name of a metric as it is listed; case and punctuation do not matter."""
    known = metric_names()
    plain = {_plain(name): name for name in known}
    longer = {_plain(metric.__name__): name for name, metric in known.items() if name != "weat-es"}
    name = (longer | plain).get(_plain(value))
    if name is None:
        raise ValueError(_no_such(value, list(known), "no metric"))
    return name


def _plain(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter.isalnum())


def _check_metric_params(metric: str, params: Mapping[str, Any]) -> None:
    from wefe.embeddings import Lookup as Options

    if metric.startswith("weat") and "return_effect_size" in params:
        text = "is chosen by the metric: 'weat' or 'weat-es'"
        raise PlacedError([(("params", "return_effect_size"), text)])
    if "preprocessors" in params:
        text = "is the same for all metrics; write it into [lookup]"
        raise PlacedError([(("params", "preprocessors"), text)])
    kind = metric_names()[metric]
    check_params(params, [kind.run_query], get_type_hints(Options), _NOT_OF_METRICS, metric)
    _check_plain(params)


def _check_plain(params: Mapping[str, Any]) -> None:
    """Refuse values that have no JSON: dates, nan."""
    problems: list[tuple[Location, str]] = []
    for name, value in params.items():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            text = f"must be made of texts, finite numbers, true and false; got {shown(value)}"
            problems.append((("params", name), text))
    if problems:
        raise PlacedError(problems)


def _check_once(names: Sequence[str]) -> None:
    problems: list[tuple[Location, str]] = [
        ((position,), f"{name!r} is there twice; take one out")
        for position, name in enumerate(names)
        if names.index(name) < position
    ]
    if problems:
        raise PlacedError(problems)


def _check_integers(data: Any, where: Location = ()) -> None:
    """Refuse whole numbers that TOML does not have; text of millions of digits takes minutes."""
    if isinstance(data, int) and not -(2**63) <= data < 2**63:
        raise PlacedError([(where, "whole numbers have at most 64 bits")])
    for key, value in data.items() if isinstance(data, Mapping) else ():
        _check_integers(value, (*where, key))
    for position, value in enumerate(data if isinstance(data, list) else ()):
        _check_integers(value, (*where, position))


def _names_of_metrics(study: Declaration) -> dict[str, str]:
    """Return what metrics may be called in [limits]: any spelling -> the name or label."""
    names = [name for each in study.metrics for name in (each.metric, each.label)]
    of_class = {
        _plain(each.metric_class.__name__): each.metric
        for each in study.metrics
        if each.metric != "weat-es"
    }
    plain = {_plain(name): name for name in reversed(names)}
    return of_class | plain | {name: name for name in names}


def _without_weight(study: Declaration) -> Iterator[tuple[Location, str]]:
    """Find metrics whose overall score would be made of nothing."""
    for metric in study.metrics:
        asked = {
            position: entry.weight
            for position, entry in enumerate(study.queries)
            if metric.queries is None or entry.label in metric.queries
        }
        if asked and all(weight == 0 for weight in asked.values()):
            text = f"is 0 for every query set of {metric.label}; one must count in overall scores"
            yield ("queries", min(asked), "weight"), text


def _repeated(study: Declaration) -> Iterator[tuple[Location, str]]:
    """Find names that stand for two things."""
    named: dict[str, tuple[str, list[str]]] = {
        "models": ("name", study.model_labels),
        "queries": ("name", [each.label for each in study.queries]),
        "metrics": ("label", [each.label for each in study.metrics]),
        "mitigations": ("name", [each.label for each in study.mitigations]),
        "external": ("name", [each.name for each in study.external]),
    }
    for table, (key, labels) in named.items():
        for position, label in enumerate(labels):
            first = labels.index(label)
            if first < position:
                text = f"number {first + 1} is called {label!r} as well; give one another {key}"
                yield (table, position, key), text
    columns = [each.name for each in study.external]
    metrics = [each.label for each in study.metrics]
    for position, asked in enumerate(study.queries):
        if asked.label == OVERALL:
            text = f"{OVERALL!r} stands for all query sets together; choose another name"
            yield ("queries", position, "name"), text
    for position, name in enumerate(columns):
        if name in metrics:
            yield ("external", position, "name"), f"there is a metric called {name!r}"
    if study.quality is not None and study.quality.name in metrics:
        yield ("quality", "name"), f"there is a metric called {study.quality.name!r}"
    if study.quality is not None and study.quality.name in columns:
        yield ("quality", "name"), f"[[external]] has a column {study.quality.name!r} as well"
    for position, mitigation in enumerate(study.mitigations):
        for label in map(mitigation.label_of, study.model_labels):
            if label in study.model_labels:
                yield ("mitigations", position, "name"), f"there is a model called {label!r}"
    for position, silhouette in enumerate(study.silhouettes):
        for number, other in enumerate(study.silhouettes[:position], start=1):
            if silhouette.overlaps(other):
                text = f"number {number} shows the same metric, query and model"
                yield ("silhouettes", position), f"{text}; take one out, or name other models"
                break


def _unknown(study: Declaration) -> Iterator[tuple[Location, str]]:
    """Find references to what is not there."""
    sets = {each.label: each for each in study.queries}
    models, every = study.model_labels, study.all_labels()
    metrics = [*dict.fromkeys(name for each in study.metrics for name in (each.metric, each.label))]
    wanted: list[tuple[Location, Iterable[str], Sequence[str], str]] = []
    for i, metric in enumerate(study.metrics):
        wanted.append((("metrics", i, "queries"), metric.queries or (), [*sets], "no query set"))
    for i, mitigation in enumerate(study.mitigations):
        where: Location = ("mitigations", i, "models")
        wanted.append((where, mitigation.models or (), models, "no model"))
    for i, silhouette in enumerate(study.silhouettes):
        where = ("silhouettes", i, "models")
        wanted.append((where, silhouette.models or (), every, "no model"))
    for where, names, known, what in wanted:
        for position, name in enumerate(names):
            if name not in known:
                yield (*where, position), _no_such(name, known, what)
    for i, external in enumerate(study.external):
        for name in external.scores:
            if name not in every:
                yield ("external", i, "scores", name), _no_such(name, every, "no model")
    for name in study.limits.max:
        if name not in metrics:
            yield ("limits", "max", name), _no_such(name, metrics, "no metric of this study")
    for i, silhouette in enumerate(study.silhouettes):
        if silhouette.query_set not in sets:
            text = _no_such(silhouette.query_set, [*sets], "no query set")
            yield ("silhouettes", i, "query_set"), text


def _for_encoders(study: Declaration) -> Iterator[tuple[Location, str]]:
    """Find what is asked of encoders only, or never of them."""
    tables = [model.label for model in study.models if not model.is_encoder]
    for i, metric in enumerate(study.metrics):
        if metric.metric in ("seat", "ceat") and tables:
            yield (
                ("metrics", i, "metric"),
                f"{metric.metric} measures encoders only, and {tables[0]!r} is a table of vectors "
                "(source = ...). Ask it in a study of its own",
            )
    for i, mitigation in enumerate(study.mitigations):
        wrong = [name for name in mitigation.models or () if name in study.model_labels]
        wrong = [name for name in wrong if name not in tables]
        if wrong:
            text = f"{wrong[0]!r} is an encoder; mitigations change tables of vectors only"
            yield ("mitigations", i, "models"), text
        elif not tables:
            text = "there is no table of vectors to change; all models are encoders"
            yield ("mitigations", i), text


def _known(name: str, known: Sequence[str], what: str) -> None:
    if name not in known:
        raise ValueError(_no_such(name, known, what))


def _check_each(key: Location, names: Iterable[str], known: Sequence[str], what: str) -> None:
    problems = [
        ((*key, position), _no_such(name, known, what))
        for position, name in enumerate(names)
        if name not in known
    ]
    if problems:
        raise PlacedError(problems)


def _no_such(name: str, known: Sequence[str], what: str) -> str:
    return f"{name!r} is {what}.{nearest(name, known)} Known: {', '.join(map(repr, known))}"


def _as_value_error(check: Callable[..., object], *values: object) -> None:
    """Call a check; pydantic knows no TypeError."""
    try:
        check(*values)
    except TypeError as error:
        raise ValueError(str(error)) from error
