"""The main sections of a study file: models, query sets, metrics and lookup."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Mapping
from inspect import signature
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, get_type_hints

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, model_validator

from wefe._checks import check_choice
from wefe.datasets._queries import QUERY_SETS, OpenedQueries, open_query_set, shipped_word_set
from wefe.embeddings import Lookup as LookupOptions
from wefe.metrics._declaration import hints_of
from wefe.metrics._registry import as_metric, metric_name, metric_names
from wefe.models import WordEmbeddingModel, load
from wefe.models.formats._hub import GENSIM_DATA_NAMES, looks_like_repo_id
from wefe.models.formats._registry import without_suffixes
from wefe.query import Query, unique_queries
from wefe.study._plan import PlannedQuerySet
from wefe.study._schema import (
    Name,
    Part,
    beside,
    blaming,
    check_params,
    name_or_file,
    refuse,
    repeated,
    source_file,
)
from wefe.words import Words as AnyWords
from wefe.words import check_preprocessors

_TO_FILL_IN = "FILL IN"
#: The source that is packaged.
_BUILT_IN = "demo"
_OF_TOKENIZERS = ("tokenizer.json", "config.json", "modules.json", "vocab.txt", "vocab.json")


def _check_gap(text: str) -> str:
    if text.count("{}") != 1:
        raise ValueError(f"must have one {{}} for the word; got {text!r}")
    return text


class ModelEntry(Part):
    """Where a model is, a table of vectors or an encoder, and how to open it."""

    #: Anything that wefe.load opens: a file of vectors (relative paths start at the study file),
    #: 'org/name' or 'org/name@revision' on Hugging Face, a name of gensim-data, or 'demo'.
    source: Name | None = Field(default=None, min_length=1)
    #: In place of a source: a contextual or sentence encoder, a folder saved by transformers or
    #: sentence-transformers, or 'org/name' on Hugging Face.
    encoder: Name | None = Field(default=None, min_length=1)
    #: Name of the model in tables and plots; default: a short source.
    name: Name | None = Field(default=None, min_length=1)

    # Options of sources.

    #: Put this before each word, for example '/c/en/' for ConceptNet.
    vocab_prefix: str | None = None
    #: Read only the first rows; most files begin with frequent words.
    limit: int | None = Field(default=None, ge=1)
    #: Convert the vocabulary to lower case, and which of equal words to keep.
    lowercase: Literal["first", "mean"] | None = None
    #: Leave out words that occurred less often, as gensim or fastText counted.
    min_count: int | None = Field(default=None, ge=1)
    #: How to embed words outside the vocabulary from their subwords.
    subwords: Literal["mean", "first", "refuse"] | None = None
    #: File with the words of a .npy matrix.
    vocabulary: str | None = None
    #: Open pickles of gensim and numpy, which can run any code their author put there.
    trust_pickle: bool = False
    #: For damaged lines: raise an error, or leave them out.
    on_error: Literal["raise", "skip"] = "raise"

    # Options of encoders.

    #: Branch, tag or commit on Hugging Face.
    revision: str | None = None
    #: Hidden state to read: 0 is the embedding layer, -1 the last one.
    layer: int = -1
    #: How to combine the token vectors of an encoder.
    pooling: Literal["auto", "mean", "first", "cls", "sentence"] = "auto"
    #: Sentences with one {} for the word, in which to embed it.
    templates: list[Annotated[str, AfterValidator(_check_gap)]] | None = Field(None, min_length=1)
    #: 'cpu', 'cuda', 'cuda:1'; default: a GPU if there is one.
    device: str | None = None
    #: Type of the encoder's weights; default: the model's own.
    dtype: Literal["float16", "bfloat16", "float32"] | None = None
    #: Maximum number of tokens to read of a text.
    max_length: int | None = Field(default=None, ge=1)
    #: Text to put before each text, such as 'query: '; default: the encoder's own.
    prompt: str | None = None
    #: Keep only this many dimensions of each vector, from the first.
    dim: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _is_of_one_kind(self) -> ModelEntry:
        if (self.source is None) == (self.encoder is None):
            raise ValueError("expected one of 'source' and 'encoder', where the model is")
        if self.place.upper().startswith(_TO_FILL_IN):
            what = self.place.removeprefix(_TO_FILL_IN).lstrip(": ")
            text = f"still to be filled in ({what}). Write where the model is, or remove the entry"
            refuse([((self._kind,), text)])
        allowed = signature(self._load).parameters
        refuse(
            ((key,), f"is no option of models with {self._kind!r}")
            for key in self.load_options()
            if key not in allowed
        )
        return self

    @property
    def is_encoder(self) -> bool:
        return self.encoder is not None

    @property
    def _kind(self) -> str:
        return "encoder" if self.is_encoder else "source"

    @property
    def _load(self) -> Callable[..., WordEmbeddingModel]:
        if not self.is_encoder:
            return load
        from wefe.contextual import load_encoder  # quicker to start without it

        return load_encoder

    @property
    def place(self) -> str:
        """Location of the model, as written in the study file."""
        return str(getattr(self, self._kind))

    @property
    def label(self) -> str:
        """Name of the model in tables: its 'name', or a short form of its location."""
        short = re.split(r"[/\\]", self.place.rstrip("/\\"))[-1]
        short = short.split("@")[0] or short
        return self.name or without_suffixes(short) or short

    def load_options(self) -> dict[str, Any]:
        """Return the options for opening the model, without location and name."""
        return self.model_dump(exclude_defaults=True, exclude={"source", "encoder", "name"})

    def open(self, words: AnyWords | None = None, *, progress: bool = False) -> WordEmbeddingModel:
        """Open the model; files that must be parsed are read only for `words`."""
        own = {"name": self.label} if self.is_encoder else {"name": self.name, "words": words}
        return self._load(self.place, progress=progress, **own, **self.load_options())

    def resolved(self, base: str | os.PathLike[str]) -> ModelEntry:
        """Return the entry with absolute paths for files beside the study file."""
        # Anything else is a path in this folder, never in the working folder.
        paths = {} if self._is_name(base) else {self._kind: beside(self.place, base)}
        if self.vocabulary:
            paths["vocabulary"] = beside(self.vocabulary, base)
        # The label stays the same when its source becomes an absolute path.
        return self.model_copy(update={**paths, "name": self.label})

    def _is_name(self, base: str | os.PathLike[str]) -> bool:
        """Return whether the location is a name rather than a path."""
        if self.source == _BUILT_IN:
            return True
        if source_file(beside(self.place, base)) is not None:
            return False
        # If a folder 'vectors' exists, 'vectors/glove' is a missing file.
        folder = Path(base, self.place.split("/")[0])
        is_repo = looks_like_repo_id(self.place) and not folder.is_dir()
        return is_repo or self.source in GENSIM_DATA_NAMES

    def identity(self) -> Any:
        """Identify the files by size and time, without reading them; None if there are none."""
        from wefe import __version__

        if self.source == _BUILT_IN:
            return [self.source, __version__]
        path = source_file(self.place)
        # A Hugging Face name may refer to a new version, so its cached files must be opened.
        if path is None:
            return None
        files = sorted(path.rglob("*")) if path.is_dir() else _with_siblings(path)
        files += [Path(self.vocabulary)] if self.vocabulary else []
        found = [(file, os.stat(file)) for file in files if file.is_file()]
        return [[str(file), at.st_size, at.st_mtime_ns, at.st_ino] for file, at in found]


def _with_siblings(path: Path) -> list[Path]:
    """Return a file and others that may belong to it: 'x.kv.vectors.npy', 'tokenizer.json'."""
    named_after = sorted(path.parent.glob(f"{glob.escape(path.name)}.*"))
    return [path, path.with_suffix(".txt"), *map(path.with_name, _OF_TOKENIZERS), *named_after]


def _listed_words(value: object, info: ValidationInfo) -> object:
    own = info.context if isinstance(info.context, Mapping) else {}
    if not isinstance(value, str):
        return value
    return own[value] if value in own else shipped_word_set(value, own)


# Words, or the name of a set: one of [word_sets], which are the context of the validation, or a
# packaged one such as 'weat/flowers'.
Words: TypeAlias = Annotated[list[str], BeforeValidator(_listed_words), Field(min_length=1)]


class InlineQuery(Part):
    """A query written in the study file: names of sets and their words."""

    #: Social groups: a name and a list of words for each.
    targets: dict[Name, Words] = Field(min_length=1)
    #: The concepts that groups may be associated with: a name and a list of words for each.
    attributes: dict[Name, Words] = Field(min_length=1)

    def to_query(self) -> Query:
        targets, attributes = self.targets, self.attributes
        return Query([*targets.values()], [*attributes.values()], [*targets], [*attributes])


def _is_published(name: str) -> Any:
    return check_choice("set", name, QUERY_SETS)


class QuerySetEntry(Part):
    """Queries that are aggregated together, as one bias criterion."""

    #: Name in tables and plots; default: the set or the file.
    name: Name | None = Field(default=None, min_length=1)
    #: A published query set; 'wefe datasets' lists them.
    set: Annotated[str, AfterValidator(_is_published)] | None = None
    #: A JSON file of queries, in the format of Query.dict().
    file: Name | None = Field(default=None, min_length=1)
    #: Queries written in the study file: [[queries.query]].
    query: list[InlineQuery] | None = Field(default=None, min_length=1)
    #: Its weight in the overall score; default: its number of queries.
    weight: float | None = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _is_one_kind(self) -> QuerySetEntry:
        given = [key for key in ("set", "file", "query") if getattr(self, key) is not None]
        if len(given) != 1:
            raise ValueError(
                "expected one of set = 'gender' (published), file = 'FILE.json', and queries "
                f"written as [[queries.query]]; found {' and '.join(given) or 'none of them'}"
            )
        if self.query is not None and self.name is None:
            refuse([(("name",), "missing. Queries that are written in the study file need a name")])
        return self

    @property
    def label(self) -> str:
        return self.name or self.set or Path(str(self.file)).stem

    def load(
        self, base: str | os.PathLike[str], offline: bool = False, *, several_words: bool = False
    ) -> PlannedQuerySet:
        """Return the queries with their weight, and those left out with the reason."""
        key = next(key for key in ("set", "file", "query") if getattr(self, key))
        with blaming("queries", self.label, key):
            if self.query is None:
                source = self.set or name_or_file(str(self.file), base)
                opened = open_query_set(source, offline, several_words=several_words)
            else:
                opened = OpenedQueries(self.label, [each.to_query() for each in self.query])
            queries = unique_queries(opened.queries)
            names = [query.query_name for query in queries]
            for at in repeated(names):
                raise ValueError(f"two queries are called {names[at]!r}; rename one")
        why = f"its words need a download ({opened.why})"
        weight = float(len(queries)) if self.weight is None else self.weight
        left_out = tuple((name, why) for name in opened.left_out)
        return PlannedQuerySet(self.label, tuple(queries), weight, left_out)


# Parameters that a study file cannot set, or sets elsewhere.
_NOT_OF_METRICS = {
    *("contexts", "estimator", "print_model_evaluation"),
    *("p_value_verbose", "preprocessors", "return_effect_size", "warn_not_found_words"),
}
#: The name of a metric; case and punctuation do not matter.
MetricName: TypeAlias = Annotated[str, AfterValidator(metric_name)]


class MetricPart(Part):
    #: Name of a metric; weat-es is the effect size of weat, seat and ceat are for encoders.
    metric: MetricName
    #: Its parameters, as in run_query.
    params: dict[str, Any] = Field(default={})

    @model_validator(mode="after")
    def _params_fit(self) -> MetricPart:
        hints = hints_of(metric_names()[self.metric], plain=True) | get_type_hints(LookupOptions)
        check_params(self.params, hints, _NOT_OF_METRICS)
        return self


class MetricEntry(MetricPart):
    #: Name in tables and plots; default: the name of the score, such as 'WEAT-ES'.
    label: Name = ""
    #: Names of the query sets to measure; default: all.
    queries: list[str] | None = Field(default=None, min_length=1)
    #: For ceat: a text file with one sentence per line.
    contexts: str | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _is_complete(self) -> MetricEntry:
        if self.metric == "ceat" and self.contexts is None:
            refuse([(("contexts",), "missing. ceat needs a file with one sentence per line")])
        if self.metric != "ceat" and self.contexts is not None:
            refuse([(("contexts",), f"is for ceat, and this is {self.metric}")])
        if not self.label:
            label = as_metric(self.metric).scale(None, **self.run_params()).label
            object.__setattr__(self, "label", label)
        return self

    def run_params(self, random_state: int = 0) -> dict[str, Any]:
        """Return the parameters for `run_query`, including those that a study sets."""
        # P-values are exact, and random methods are seeded.
        metric = as_metric(self.metric)
        test = {"p_value_test_type": "two-sided", "random_state": random_state}
        return {**metric._report_params(self.params, **test), **self.params}


def _are_preprocessors(value: list[dict[str, Any]]) -> list[dict[str, Any]]:
    try:
        check_preprocessors(value)
    except TypeError as error:  # which pydantic does not know
        raise ValueError(str(error)) from error
    return value


Forms: TypeAlias = Annotated[list[dict[str, Any]], AfterValidator(_are_preprocessors)]


class Lookup(Part):
    """How words are looked up, the same for all metrics."""

    #: Forms of a word to try, in this order: {} is the word as written.
    preprocessors: Forms = Field(default=[{}, {"lowercase": True}])
    #: Use the first form that the model has, or all of them.
    strategy: Literal["first", "all"] = "first"
    #: Scale every vector to unit length first.
    normalize: bool = False
    #: A query has no score if the model lacks a larger share of a set's words.
    lost_vocabulary_threshold: float = Field(default=0.2, ge=0, le=1)
    #: Measure each model on all words that it has; default: all models on the words that they
    #: share.
    own_words: bool = False
