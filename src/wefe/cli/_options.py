"""Options that commands share, and how typer reads options from docstrings.

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
p_value_test
    Alternative of permutation tests: two-sided tests for a bias in any direction, right-sided for
    an association of the first targets with the first attributes.
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
name : NAME
    Name of the study, if a results file holds several.
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
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, get_type_hints

import typer
from typer.core import TyperCommand

from wefe._checks import check_choice
from wefe.metrics._registry import get_metric, metric_names

Pooling: TypeAlias = Literal["auto", "mean", "first", "cls", "sentence"]
Side: TypeAlias = Literal["two-sided", "right-sided", "left-sided"]

# Groups of options in the help, in their order; other options come last.
_GROUPS = {
    "Queries and metrics": "queries query metric param criterion p_value_test bootstrap confidence "
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
    """Options of encoders."""

    layer: int = -1
    pooling: Pooling = "auto"
    prompt: str = ""
    dim: int | None = None

    def of(self, encoders: Sequence[str], **more: Any) -> list[dict[str, Any]]:
        """Return encoders as entries of a study file."""
        options = {"layer": self.layer, "pooling": self.pooling, "dim": self.dim}
        return entries("encoder", encoders, prompt=self.prompt or None, **options, **more)


@dataclass(frozen=True)
class Models(Encoders):
    """Options of models and encoders."""

    model: list[str] = field(default_factory=list)
    encoder: list[str] = field(default_factory=list)
    template: list[str] = field(default_factory=list)
    vocab_prefix: str = ""
    trust_pickle: bool = False

    def declared(self, **of_tables: Any) -> list[dict[str, Any]]:
        """Return models and encoders as entries of a study file."""
        if not self.model and not self.encoder:
            raise ValueError(
                "there is no model: give --model or --encoder, for example --model demo."
            )
        lookup = {"vocab_prefix": self.vocab_prefix or None, "trust_pickle": self.trust_pickle}
        tables = entries("source", self.model, **lookup, **of_tables)
        return tables + self.of(self.encoder, templates=self.template or None)


def entries(kind: str, texts: Sequence[str], **options: Any) -> list[dict[str, Any]]:
    """Return models, written as FILE or NAME=FILE, as entries of a study file."""
    known = {key: value for key, value in options.items() if value is not None}
    return [{kind: where, "name": name, **known} for name, where in map(split_name, texts)]


def by_name(models: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return entries of models by name; reject a name that occurs twice."""
    named = {each["name"] or Path(next(iter(each.values()))).stem: each for each in models}
    if len(named) < len(models):
        raise ValueError("two models have the same name. Give each its own: --model NAME=FILE.")
    return named


def split_name(text: str) -> tuple[str | None, str]:
    """Split NAME=REST; without a name, NAME is None. If '=' is ambiguous, REST is what exists.

    >>> split_name("mine=glove.txt"), split_name("glove.txt")
    (('mine', 'glove.txt'), (None, 'glove.txt'))
    """
    if "=" not in text or is_there(text):
        return None, text
    parts = text.split("=")
    ways = [("=".join(parts[:cut]), "=".join(parts[cut:])) for cut in range(1, len(parts))]
    name, rest = next((way for way in ways if is_there(way[1])), ways[0])
    if not name.strip() or not rest:
        raise ValueError(f"{text}: expected a name before '=', and a file or a list after it.")
    return name, rest


def is_there(text: str) -> bool:
    """Return whether a text is the path of a file or folder, or of a file in an archive."""
    path = Path(text)
    try:
        return bool(text) and (path.exists() or any(part.is_file() for part in path.parents))
    except (OSError, ValueError):
        # The text is too long for a path, or has a character that paths cannot have.
        return False


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Let typer read options from the docstring of a function and of this module.

    Positional parameters become arguments, keyword-only parameters options. A parameter whose type
    is a dataclass becomes one option per field.
    """
    hints = get_type_hints(function)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(function).parameters.values():
        of_group = groups.get(parameter.name)
        parameters += _options_of(of_group) if of_group else [parameter]
        hints |= get_type_hints(of_group) if of_group else {}
    texts = _SHARED | _described(function.__doc__)
    told = [
        each.replace(annotation=Annotated[hints[each.name], _about(each, texts.get(each.name))])
        for each in parameters
    ]

    @functools.wraps(function)
    def run(**given: Any) -> None:
        needs = {names: (given.get(key, True), f"--{key}") for key, names in _NEEDS.items()}
        check_used(run, given, needs)
        for name, kind in groups.items():
            given[name] = kind(**{each.name: given.pop(each.name) for each in fields(kind)})
        function(**given)

    run.__signature__ = inspect.Signature(told)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in told}
    return run


def _options_of(group: Any) -> list[inspect.Parameter]:
    kind, defaults = inspect.Parameter.KEYWORD_ONLY, vars(group())
    return [inspect.Parameter(name, kind, default=value) for name, value in defaults.items()]


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
    """Return a docstring without its parameters."""
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
        titles = {name: title for title, names in _GROUPS.items() for name in names.split()}
        order = list(titles)
        found: dict[str, list[tuple[str, str]]] = {
            title: [] for title in ("Arguments", *_GROUPS, "Options")
        }
        # Sorting keeps the order of options without a group.
        for param in sorted(self.get_params(ctx), key=lambda p: [*order, p.name].index(p.name)):
            title = titles.get(str(param.name), "Options")
            title = title if param.param_type_name == "option" else "Arguments"
            found[title] += [record for record in [help_record(param, ctx)] if record]
        for title, records in found.items():
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
    function: Callable[..., None],
    given: Mapping[str, Any],
    uses: Mapping[str, tuple[object, str]],
) -> None:
    """Reject options without effect; `uses` names what they need, and whether it is given."""
    defaults = inspect.signature(function).parameters
    for names, (is_there, what) in uses.items():
        for name in names.split():
            if not is_there and name in given and given[name] != defaults[name].default:
                raise ValueError(f"--{name.strip('_').replace('_', '-')} is for {what}.")


def json_or_text(value: str) -> Any:
    """Parse a JSON value; other text is returned as it is."""
    try:
        return json.loads(value)
    except ValueError:
        return value


def parse_params(texts: Sequence[str], metrics: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the parameters of --param by metric."""
    params: dict[str, dict[str, Any]] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        metric, _, name = key.partition(".")
        if not equals or not name:
            raise ValueError(
                f"--param {text!r}: expected METRIC.NAME=VALUE, for example rnsb.n_iterations=100."
            )
        if metric.lower() not in metrics:
            raise ValueError(
                f"--param {text!r}: {metric!r} is not measured; --metric lists "
                f"{', '.join(metrics)}."
            )
        if name == "return_effect_size":
            raise ValueError(f"--param {text!r}: choose --metric weat or --metric weat-es instead.")
        params.setdefault(metric.lower(), {})[name] = json_or_text(value)
    return params


def check_metrics(names: Sequence[str], of_texts: bool = True) -> list[str]:
    """Return metric names as the help lists them; reject typos before any work."""
    known = {name: m for name, m in metric_names().items() if of_texts or not m.encodes_texts}
    listed = {metric: name for name, metric in reversed(known.items()) if name != "weat-es"}

    def checked(name: str) -> str:
        if name.lower() not in known:
            # Names of classes and of papers, as in Python.
            try:
                return listed[get_metric(name)]
            except (ValueError, KeyError):
                pass
        return check_choice("--metric", name.lower(), sorted(known))

    return list(dict.fromkeys(map(checked, names)))
