"""Options that commands share, and what they name: models, queries, lists of words.

:func:`command` lets typer read options from docstrings.

Parameters
----------
model : FILE
    Vectors in any format (GloVe or word2vec, also compressed, fastText, gensim, safetensors, npy,
    parquet, CSV), a folder with a tokenizer, 'org/name' on Hugging Face, a name of gensim-data, or
    'demo' for the packaged vectors. NAME=FILE names the model. Repeat for several.
encoder : FOLDER
    A contextual or sentence encoder: a folder saved by transformers or sentence-transformers, or
    'org/name' on Hugging Face (needs the extra 'transformers'). NAME=FOLDER names the encoder.
    Repeat for several.
layer : N
    Layer of the encoder to read: 0 is the embedding layer, -1 the last layer.
pooling
    How to combine the token vectors of an encoder: mean (over the tokens of the word), first (its
    first token), cls (the token at the start of the text), or sentence (mean over the sentence).
    auto uses the pooling of a sentence encoder, and mean for others.
template : SENTENCE
    A sentence with a gap for the word, for example 'This is {}.'. Repeat to average several.
    Default: embed each word by itself. (seat uses its own templates.)
prompt : TEXT
    Text to put before each input, for example 'query: '. Default: the encoder's own prompt.
dim : N >= 1
    Keep only the first N dimensions of the encoder's vectors (Matryoshka models).
queries : NAME
    A published query set ('wefe datasets' lists them), or a JSON file of queries in the format of
    Query.dict(). Target sets are social groups, attribute sets are concepts. Repeat for several.
metric : NAME
    One of METRICS. weat-es is the effect size of weat; seat and ceat are only for 'wefe measure'
    with --encoder. Repeat for several.
param : METRIC.NAME=VALUE
    A parameter of a metric, with its value in JSON: rnsb.n_iterations=100, weat-es.ddof=1. Repeat
    for several.
lowercase
    If a word is not found, look up its lower-case form.
vocab_prefix : PREFIX
    Put this before each word, for example '/c/en/' for ConceptNet.
offline
    Use only packaged words and queries; download nothing.
trust_pickle
    Open gensim's own files. These are pickles, which can run any code of their author.
n_jobs : N
    Number of worker processes; -1 for one per core. Results do not depend on it.
study : STUDY
    A study file, or the results file of a run.
results : FILE
    The results file. Default: next to the study file, ending in .db.
figures : FOLDER
    Also write figures as PNG, SVG and PDF to this folder (needs the extra 'figures').
export : FOLDER
    Also write every table to this folder.
export_format
    Format of these tables. Two formats write one file per model instead: model-index for a Hugging
    Face model card, and every-eval-ever for a record in that shared schema.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import typer
from typer.core import TyperCommand

from wefe._checks import check_n_jobs, logger
from wefe._files import check_writable
from wefe._visible import one_line
from wefe.datasets._queries import QUERY_SETS
from wefe.metrics._registry import metric_name, metric_names
from wefe.models import WordEmbeddingModel
from wefe.query import Query
from wefe.study import Study, StudyResults
from wefe.study._entries import ModelEntry
from wefe.study._schema import blaming, name_or_file

T = TypeVar("T")
Pooling: TypeAlias = Literal["auto", "mean", "first", "cls", "sentence"]

# Groups of options in the help, in their order; other options come last.
_GROUPS = {
    "Queries and metrics": "queries query metric param criterion bootstrap confidence "
    "vary runs step",
    "Models": "model trust_pickle",
    "Encoders": "encoder layer pooling template prompt dim contexts",
    "Look-up of words": "lowercase normalize lost_vocabulary_threshold vocab_prefix subwords "
    "own_words missing",
    "Output": "format out audit compare bibtex report export export_format figures",
}
# Options that have no effect without another one.
_NEEDS = {
    "encoder": "layer pooling template prompt dim",
    "model": "trust_pickle vocab_prefix subwords ignore target",
}
# In a docstring: "neighbors, -k : N >= 1", with the help below.
_PARAMETER = re.compile(
    r"^(\w+)(?:, (-\w))?(?: : (.+?)(?: >= (\d+))?)?\n((?:    .+(?:\n|$))+)", re.MULTILINE
)


@dataclass(frozen=True)
class Encoders:
    layer: int = -1
    pooling: Pooling = "auto"
    prompt: str | None = None
    dim: int | None = None

    def of(self, encoders: Sequence[str], **more: Any) -> list[dict[str, Any]]:
        options = {each.name: getattr(self, each.name) for each in fields(Encoders)}
        return _entries("encoder", encoders, **options, **more)


@dataclass(frozen=True)
class Models(Encoders):
    model: list[str] = field(default_factory=list)
    encoder: list[str] = field(default_factory=list)
    template: list[str] = field(default_factory=list)
    vocab_prefix: str | None = None
    trust_pickle: bool = False

    def entries(self, **of_tables: Any) -> list[dict[str, Any]]:
        lookup = {"vocab_prefix": self.vocab_prefix, "trust_pickle": self.trust_pickle}
        tables = _entries("source", self.model, **lookup, **of_tables)
        return tables + self.of(self.encoder, templates=self.template or None)

    def declared(self, **of_tables: Any) -> list[dict[str, Any]]:
        """Return at least one model or encoder as an entry of a study file."""
        declared = self.entries(**of_tables)
        if not declared:
            raise ValueError(
                "there is no model: give --model or --encoder, for example --model demo."
            )
        return declared


def _entries(kind: str, texts: Sequence[str], **options: Any) -> list[dict[str, Any]]:
    known = {key: value for key, value in options.items() if value is not None}
    return [{kind: where, "name": name, **known} for name, where in map(split_name, texts)]


def split_name(text: str) -> tuple[str | None, str]:
    """Split NAME=REST; without a name, or if the text is a path that exists, NAME is None.

    >>> split_name("mine=glove.txt"), split_name("glove.txt")
    (('mine', 'glove.txt'), (None, 'glove.txt'))
    """
    if "=" not in text or is_there(text):
        return None, text
    name, _, rest = text.partition("=")
    if "" in (name.strip(), rest):
        raise ValueError(f"{text}: expected a name before '=', and a file or a list after it.")
    return name, rest


def is_there(text: str) -> bool:
    """Return whether a text is the path of a file or folder, or of a file in an archive."""
    path = Path(text)
    # The text may be too long for a path, or have a character that paths cannot have.
    with suppress(OSError, ValueError):
        return bool(text) and (path.exists() or any(part.is_file() for part in path.parents))
    return False


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Let typer read options from the docstring of a function and of this module.

    Keyword-only parameters become options, others arguments; a dataclass becomes one per field.
    """
    parameters = inspect.signature(function, eval_str=True).parameters.values()
    groups = [each for each in parameters if is_dataclass(each.annotation)]
    texts = _SHARED | _described(function.__doc__)
    told = [
        each.replace(annotation=Annotated[each.annotation, _about(each, texts.get(each.name))])
        for each in _flat(function)
    ]

    @functools.wraps(function)
    def run(**given: Any) -> None:
        needs = {names: (given.get(key, True), f"--{key}") for key, names in _NEEDS.items()}
        check_used(run, given, needs)
        for group in groups:
            own = {each.name: given.pop(each.name) for each in _flat(group.annotation)}
            given[group.name] = group.annotation(**own)
        function(**given)

    run.__signature__ = inspect.Signature(told)  # type: ignore[attr-defined]
    return run


def _flat(function: Any) -> Iterator[inspect.Parameter]:
    """Yield the parameters of a function; a dataclass yields its fields as keywords."""
    for each in inspect.signature(function, eval_str=True).parameters.values():
        kind = each.annotation
        if is_dataclass(kind):
            defaults = vars(kind())  # type: ignore[operator]
            for own in _flat(kind):
                yield own.replace(kind=own.KEYWORD_ONLY, default=defaults[own.name])
        else:
            yield each


def _about(parameter: inspect.Parameter, described: Sequence[str] | None) -> Any:
    """Return what typer needs to know: flags, placeholder, minimum and help."""
    short, metavar, least, text = described or ("",) * 4
    how: dict[str, Any] = {"metavar": metavar or None, "help": " ".join(text.split())}
    how["min"] = int(least) if least else None
    if parameter.kind is not parameter.KEYWORD_ONLY:
        return typer.Argument(**how)
    flag = f"--{parameter.name.strip('_').replace('_', '-')}"
    # Flags that are on by default need a way to turn them off.
    flag += flag.replace("--", "/--no-", 1) if parameter.default is True else ""
    return typer.Option(*filter(None, [short, flag]), **how)


def prose(function: Callable[..., None]) -> str:
    return (inspect.getdoc(function) or "").partition("\n\nParameters\n")[0]


def _described(doc: str | None) -> dict[str, Sequence[str]]:
    """Return the parameters of a docstring: short flag, placeholder, minimum, help."""
    section = inspect.cleandoc(doc or "").partition("\nParameters\n----------\n")[2]
    return {name: rest for name, *rest in _PARAMETER.findall(section)}


_SHARED = _described((__doc__ or "").replace("METRICS", ", ".join(metric_names())))


class Command(TyperCommand):
    """A command that shows required options in its usage line, and options in groups."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        params = [param for param in self.get_params(ctx) if param.required]
        needed = [help_record(param, ctx) for param in params if param.opts[0].startswith("-")]
        return [*(record[0] for record in needed if record), *super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        params = {str(param.name): param for param in self.get_params(ctx)}
        arguments = [name for name, one in params.items() if one.param_type_name == "argument"]
        groups = {"Arguments": " ".join(arguments), **_GROUPS, "Options": " ".join(params)}
        if "encoder" not in params:
            del groups["Encoders"]
        for title, names in groups.items():
            # Each option is in the first group that names it.
            own = filter(None, map(params.pop, names.split(), itertools.repeat(None)))
            records = [*filter(None, map(help_record, own, itertools.repeat(ctx)))]
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def help_record(param: Any, ctx: Any) -> tuple[str, str] | None:
    """Return an option and its help, without Python types."""
    written, text = param.get_help_record(ctx) or ("", "")
    if param.param_type_name == "argument":
        written = written.partition(" <")[0]
    return (written, text) if written else None


def check_used(
    function: Callable[..., None], given: Mapping[str, Any], uses: Mapping[str, tuple[object, str]]
) -> None:
    """Reject options without effect; `uses` names what they need, and whether it is given."""
    defaults = inspect.signature(function).parameters
    for names, (is_there, what) in uses.items():
        for name in names.split():
            if not is_there and name in given and given[name] != defaults[name].default:
                raise ValueError(f"--{name.strip('_').replace('_', '-')} is for {what}.")


def assigned(texts: Sequence[str], wanted: str) -> Iterator[tuple[str, Any]]:
    """Yield the name and the value of each --param; a value that is not JSON is a text."""
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise ValueError(f"--param {text!r}: expected {wanted}.")
        try:
            yield name, json.loads(value)
        except ValueError:
            yield name, value


def parse_params(texts: Sequence[str], metrics: Sequence[str]) -> dict[str, dict[str, Any]]:
    params: dict[str, dict[str, Any]] = {}
    for key, value in assigned(texts, "METRIC.NAME=VALUE, for example rnsb.n_iterations=100"):
        metric, _, name = key.partition(".")
        if not name or metric.lower() not in metrics:
            raise ValueError(
                f"--param {key!r}: expected METRIC.NAME=VALUE with a metric that is measured "
                f"(--metric): {', '.join(metrics)}."
            )
        params.setdefault(metric.lower(), {})[name] = value
    return params


def known_metrics(names: Sequence[str]) -> list[str]:
    """Return metric names as the help lists them; reject typos before any work."""
    return list(dict.fromkeys(map(metric_name, names)))


def check_outputs(
    figures: Path | None, file: Path | None = None, suffixes: Sequence[str] = ()
) -> None:
    """Check that figures and a file can be written, before long work."""
    if figures is not None:
        from wefe.plotting._static import check_matplotlib

        check_matplotlib()
    if file is not None:
        if suffixes and file.suffix.lower() not in suffixes:
            raise ValueError(
                f"{file}: expected a file that ends in {' or '.join(suffixes)}, for example "
                f"{file.stem}{suffixes[0]}."
            )
        check_writable(file)


# What options name


def preprocessors(lowercase: bool) -> list[dict[str, Any]]:
    return [{}, {"lowercase": True}] if lowercase else [{}]


def declared_queries(name: str) -> dict[str, str]:
    """Return a name of --queries as an entry of a study file."""
    if name in QUERY_SETS:
        return {"set": name}
    with blaming("queries", name, "file"):
        return {"file": name_or_file(name, ".", list(QUERY_SETS))}


def open_models(
    declared: Sequence[dict[str, Any]], words: Sequence[Query]
) -> tuple[list[WordEmbeddingModel], dict[str, str]]:
    """Return the opened models, and the reasons why others failed; if all fail, raise."""
    opened: list[WordEmbeddingModel] = []
    errors: dict[str, Exception] = {}
    for each in declared:
        entry = ModelEntry(**each)
        try:
            opened.append(entry.open(words, progress=True))
        except (ValueError, TypeError, OSError, ImportError) as error:
            errors[entry.label] = error
    if len(errors) == len(declared) > 0:
        raise next(iter(errors.values()))
    return opened, {name: one_line(error) for name, error in errors.items()}


def tried(
    models: Sequence[WordEmbeddingModel], asked: Sequence[Callable[[WordEmbeddingModel], T]]
) -> tuple[list[T], list[str]]:
    """Return what functions find out about models, and log what fails."""
    found, problems = [], dict[str, None]()
    for model, function in itertools.product(models, asked):
        try:
            found.append(function(model))
        except (KeyError, ValueError) as error:
            text = str(error.args[0])
            problems[text if model.name in text else f"{model.name}: {text}"] = None
    for problem in problems:
        logger.warning("%s", problem)
    return found, [*problems]


def run_in(folder: Path, declaration: Mapping[str, Any], n_jobs: int = 1) -> StudyResults:
    """Run a study with its results in a folder, which is made once all input is checked."""
    study = Study(declaration)
    study.plan  # noqa: B018
    check_n_jobs(n_jobs)
    folder.mkdir(parents=True, exist_ok=True)
    return study.run(folder / "results.db", n_jobs=None if n_jobs == 1 else n_jobs)


def failures_of(results: StudyResults) -> dict[str, str]:
    """Return why models failed; if all failed, raise."""
    failures = dict(results.failures()[["model_name", "reason"]].to_numpy())
    if len(failures) == len(results.plan.models):
        raise ValueError("; ".join(f"{name}: {reason}" for name, reason in failures.items()))
    return failures


def end(failures: Mapping[str, str]) -> None:
    """Report the models that could not be opened, if any, and exit with code 1."""
    for name, reason in failures.items():
        logger.error("%s: %s", name, reason)
    if failures:
        raise typer.Exit(1)
