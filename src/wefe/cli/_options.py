"""Options that several commands share: each has one name, one type and one help text."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer
from typer.core import TyperCommand

from wefe._checks import check_choice
from wefe.metrics._registry import get_metric, metric_names

# Groups of the help, by the names of options; what is in none comes last.
_GROUPS = {
    "Queries and metrics": "queries query metric param criterion p_value_test bootstrap confidence "
    "vary runs step",
    "Models": "model trust_pickle",
    "Encoders": "encoder layer pooling template contexts",
    "Look-up of words": "lowercase normalize lost_vocabulary_threshold vocab_prefix subwords "
    "own_words missing",
    "Output": "format out audit compare bibtex report export export_format figures",
}
# What the help shows for a type of Python.
_VALUES = {"int": "N", "integer": "N", "float": "X", "path": "FILE", "str": "NAME", "text": "NAME"}
_TYPE = re.compile(r"<?\b(int|integer|float|path|str|text)( range)?\b>?$", re.IGNORECASE)


class Side(StrEnum):
    """Which splits count in permutation tests."""

    two = "two-sided"
    right = "right-sided"
    left = "left-sided"


class Subwords(StrEnum):
    """The vector of a word that the vocabulary lacks."""

    mean = "mean"
    first = "first"
    refuse = "refuse"


class Pooling(StrEnum):
    """How the vectors of an encoder's tokens become one."""

    auto = "auto"
    mean = "mean"
    first = "first"
    cls = "cls"
    sentence = "sentence"


Models: TypeAlias = Annotated[
    list[str],
    typer.Option(
        "--model",
        metavar="FILE",
        help="A file of vectors in any format (GloVe or word2vec, packed or not, fastText, gensim, "
        "safetensors, npy, parquet, CSV), a folder with a tokenizer, 'org/name' on Hugging Face, a "
        "name of gensim-data, or 'demo' for the packaged vectors. NAME=FILE gives it a name. "
        "Repeat for several.",
    ),
]
Encoders: TypeAlias = Annotated[
    list[str],
    typer.Option(
        "--encoder",
        metavar="FOLDER",
        help="A contextual or sentence encoder, beside models or in their place: a folder that "
        "transformers or sentence-transformers saved, or 'org/name' on Hugging Face (needs the "
        "extra 'transformers'). NAME=FOLDER gives it a name. Repeat for several.",
    ),
]
Layer: TypeAlias = Annotated[
    int,
    typer.Option(help="Layer of encoders: 0 is the output of the embedding layer, -1 the last."),
]
PoolingOption: TypeAlias = Annotated[
    Pooling,
    typer.Option(
        help="How the vectors of an encoder's tokens become one: the mean over the word's own, its "
        "first, the token that stands for the text (cls), or the mean over the sentence. auto: "
        "what a sentence encoder itself does, mean for others."
    ),
]
Templates: TypeAlias = Annotated[
    list[str],
    typer.Option(
        "--template",
        metavar="SENTENCE",
        help="A sentence with a gap in which encoders see the words, 'This is {}.'; the mean over "
        "several. By default words stand alone. (seat has its own.)",
    ),
]
Queries: TypeAlias = Annotated[
    list[str],
    typer.Option(
        "--queries",
        metavar="NAME",
        help="A published query set ('wefe datasets' lists them) or a JSON file of queries, as "
        "Query.dict() writes them: target sets are the social groups, attribute sets the "
        "concepts. Repeat for several.",
    ),
]
Metrics: TypeAlias = Annotated[
    list[str],
    typer.Option(
        "--metric",
        metavar="NAME",
        help=f"One of {', '.join(metric_names())}. weat-es is the effect size of weat. Repeat for "
        "several.",
    ),
]
Params: TypeAlias = Annotated[
    list[str],
    typer.Option(
        "--param",
        metavar="METRIC.NAME=VALUE",
        help="A parameter of a metric, the value in JSON: rnsb.n_iterations=100, weat-es.ddof=1. "
        "Repeat for several.",
    ),
]
SideOption: TypeAlias = Annotated[
    Side,
    typer.Option(
        help="Which splits count in permutation tests: two-sided asks whether there is a bias, "
        "right-sided whether the first targets lean to the first attributes."
    ),
]
Lowercase: TypeAlias = Annotated[
    bool, typer.Option(help="Look up the lower-case form of words that are not found as they are.")
]
VocabPrefix: TypeAlias = Annotated[
    str, typer.Option(metavar="PREFIX", help="Put before each word, '/c/en/' for ConceptNet.")
]
Offline: TypeAlias = Annotated[
    bool, typer.Option(help="Only words and queries that ship with the package; no download.")
]
TrustPickle: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--trust-pickle",
        help="Open gensim's own files, which can run any code their author put there.",
    ),
]
NJobs: TypeAlias = Annotated[
    int, typer.Option(help="Worker processes; -1 is one for each core. The result is the same.")
]
StudyOrResults: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="STUDY", help="The study file, or the results file that it was run into."
    ),
]
Results: TypeAlias = Annotated[
    Path | None,
    typer.Option(help="The results file. Default: beside the study file, ending in .db."),
]
StudyName: TypeAlias = Annotated[
    str | None, typer.Option(help="Name of the study, where a results file holds several.")
]


Figures: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Write figures into this folder as well, as PNG, SVG and PDF (needs wefe[figures]).",
    ),
]


class Command(TyperCommand):
    """A command whose usage line names the options that it needs, and whose help groups them."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return what stands behind the name of the command."""
        params = [param for param in self.get_params(ctx) if param.required]
        needed = [help_record(param, ctx) for param in params if param.opts[0].startswith("-")]
        return [*(record[0] for record in needed if record), *super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options: those of each group under its title."""
        titles = {name: title for title, names in _GROUPS.items() for name in names.split()}
        found = []
        for param in self.get_params(ctx):
            is_option = param.param_type_name == "option"
            title = titles.get(str(param.name), "Options") if is_option else "Arguments"
            found.append((title, help_record(param, ctx)))
        for title in ("Arguments", *_GROUPS, "Options"):
            records = [record for of, record in found if of == title and record]
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def help_record(param: Any, ctx: Any) -> tuple[str, str] | None:
    """Return an option as it is written, and its help; no types of Python."""
    record = param.get_help_record(ctx)
    if record is None:
        return None
    if param.param_type_name == "argument":
        return record[0].partition(" <")[0], record[1]
    return _TYPE.sub(lambda found: _VALUES[found[1].lower()], record[0]), record[1]


def parse_params(texts: Sequence[str], metrics: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the parameters of each metric, as --param gives them."""
    params: dict[str, dict[str, Any]] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        metric, dot, name = key.partition(".")
        if not equals or not dot or not name:
            raise ValueError(
                f"--param {text!r} must read METRIC.NAME=VALUE, for example rnsb.n_iterations=100."
            )
        if metric.lower() not in metrics:
            raise ValueError(
                f"--param {text!r} names {metric!r}, which is not measured; --metric has "
                f"{', '.join(metrics)}."
            )
        if name == "return_effect_size":
            raise ValueError(f"--param {text!r}: choose --metric weat or --metric weat-es instead.")
        try:
            params.setdefault(metric.lower(), {})[name] = json.loads(value)
        except ValueError as error:
            raise ValueError(
                f"--param {text!r}: {value!r} is no JSON; write texts in double quotes."
            ) from error
    return params


def check_metrics(names: Sequence[str], of_texts: bool = True) -> list[str]:
    """Return metric names as the help lists them; a typo is refused before any work."""
    known = {name: m for name, m in metric_names().items() if of_texts or not m.encodes_texts}
    listed = {metric: name for name, metric in reversed(known.items()) if name != "weat-es"}

    def checked(name: str) -> str:
        if name.lower() not in known:
            # Names of classes, and those of articles, as in Python.
            try:
                return listed[get_metric(name)]
            except (ValueError, KeyError):
                pass
        return check_choice("--metric", name.lower(), sorted(known))

    return list(dict.fromkeys(map(checked, names)))
