"""`wefe debias`: from a file of vectors to a mitigated one."""

from __future__ import annotations

import inspect
import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wefe._checks import check_known
from wefe.cli import _options as opt
from wefe.cli._output import as_text

logger = logging.getLogger(__name__)

if TYPE_CHECKING:
    from wefe.datasets import Criterion
    from wefe.debias import BaseDebias


def debias(
    model: Annotated[
        str, typer.Option(help="The file of vectors; whatever 'wefe measure --model' takes.")
    ],
    out: Annotated[
        Path,
        typer.Option(
            help="The file to write: .txt (GloVe), .vec (word2vec text), .bin (word2vec binary), "
            ".kv (gensim) or .safetensors (opens at once). It may be the same file."
        ),
    ],
    method: Annotated[
        str,
        typer.Option(
            help="hard-debias, multiclass-hard-debias, double-hard-debias, soft-debias, "
            "multiclass-soft-debias, linear-projection, inlp, leace, oscar, "
            "half-sibling-regression or repulsion-attraction-neutralization."
        ),
    ] = "hard-debias",
    criterion: Annotated[
        str,
        typer.Option(
            help="gender, ethnicity or religion, as published; or a JSON file with "
            '{"definitional_sets": [["young", "old"], ...]}, a word per class in each set, and '
            "optionally class_names, equalize_sets, specific_words, stereotyped_words."
        ),
    ] = "gender",
    ignore: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="A file of words, one per line, that keep their vectors; 'none' for no words. "
            "Default: those to which the class rightly belongs, as the criterion lists them. "
            "Words that are equalized change all the same, and all words in double-hard-debias.",
        ),
    ] = "",
    target: Annotated[
        Path | None, typer.Option(help="A file of words, one per line: only their vectors change.")
    ] = None,
    param: Annotated[
        list[str],
        typer.Option(
            metavar="NAME=VALUE",
            help="A parameter of the method, the value in JSON: n_words=500, "
            'pca_args={"n_components":1}. Repeat for several.',
        ),
    ] = [],
    vocab_prefix: opt.VocabPrefix = "",
    offline: Annotated[
        bool,
        typer.Option(
            help="Only words that ship with the package; no download is tried. For gender these "
            "are 232 words that have one by definition, in place of 1,441."
        ),
    ] = False,
    trust_pickle: opt.TrustPickle = False,
) -> None:
    """Mitigate the bias of a file of vectors, and write the result to another file.

    The vectors stream from file to file, so that a model of any size needs little memory; only
    repulsion-attraction-neutralization holds or maps them all. OUT appears when it is complete; an
    interrupted run leaves what was there before.

    Prints WEAT effect sizes before and after. Less association measured does not mean that the
    bias is gone: wefe.debias.compare, in Python, measures what was lost and what is left.

    Example: wefe debias --model glove.txt --method hard-debias --criterion gender --out out.bin
    """
    from wefe._files import check_writable
    from wefe.debias import RowwiseDebias, debias_file, get_debias_method
    from wefe.models.formats._write import format_of

    # What is wrong is said before anything is downloaded.
    kind = get_debias_method(method)
    own, fit_params = _parameters(kind, param)
    mitigation = kind(**own)
    changed = None if target is None else _lines(target)
    kept = [] if ignore == "none" else _lines(Path(ignore)) if ignore else None
    format_of(out, None)
    check_writable(out)
    _check_model(model)
    words = _criterion(criterion, offline)
    ignored = list(words.specific_words) if kept is None else kept
    done = debias_file(
        mitigation,
        model,
        out,
        criterion=words,
        target=changed,
        ignore=ignored,
        vocab_prefix=vocab_prefix or None,
        trust_pickle=trust_pickle,
        **fit_params,
    )
    print(
        f"{done.path}: {done.name}, {done.n_changed:,} of {done.n_words:,} vectors changed, "
        f"{done.path.stat().st_size / 1e6:,.1f} MB"
    )
    # A model that was overwritten cannot be asked any more.
    if not (Path(model).exists() and Path(model).samefile(out)):
        _print_scores(model, out, words, vocab_prefix or None, trust_pickle)
        if isinstance(mitigation, RowwiseDebias):
            equal = set(mitigation._joint_words()) & {
                word for part in words.classes.values() for word in part
            }
            if equal:
                print(
                    f"{len(equal)} definitional words were equalized: they are equally near to "
                    "neutral words by construction, which brings these scores towards 0."
                )


def _criterion(text: str, offline: bool) -> Criterion:
    """Return the word sets; without a connection those that ship with the package."""
    from wefe.datasets import load_criterion

    try:
        return load_criterion(text, offline=offline)
    except ConnectionError as error:
        words = load_criterion(text, offline=True)
        logger.warning(
            "%s: only %d words count as specific to the criterion, those that ship with the "
            "package. %s",
            *(text, len(words.specific_words), error),
        )
        return words


def _check_model(text: str) -> None:
    """Refuse what is neither a file nor a name, as `wefe.load` would."""
    from wefe.models import load
    from wefe.models.formats._hub import GENSIM_DATA_NAMES, looks_like_repo_id

    path = Path(text)
    is_there = path.exists() or any(parent.is_file() for parent in path.parents)
    is_name = text in ("demo", *GENSIM_DATA_NAMES) or looks_like_repo_id(text)
    if not is_there and not is_name:
        load(text)


def _parameters(kind: type[BaseDebias], given: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters for the constructor and those for `fit`."""
    own = list(inspect.signature(kind).parameters)
    fit = [
        name
        for name, parameter in inspect.signature(kind.fit).parameters.items()
        if name not in ("self", "model", "criterion", "ignore")
        and parameter.kind is not parameter.VAR_KEYWORD
    ]
    values: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise ValueError(f"--param {text}: expected NAME=VALUE.")
        if name in ("ignore", "criterion"):
            raise ValueError(f"--param {text}: use --{name}.")
        check_known("--param", [name], [*own, *fit])
        try:
            values[name] = json.loads(value)
        except json.JSONDecodeError:
            values[name] = value
    return (
        {name: value for name, value in values.items() if name in own},
        {name: value for name, value in values.items() if name in fit and name not in own},
    )


def _lines(path: Path) -> list[str]:
    """Read a file of words, one per line."""
    return [line.strip() for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]


def _print_scores(
    before: str, after: Path, criterion: Criterion, prefix: str | None, trust_pickle: bool
) -> None:
    """Print effect sizes of the queries of a criterion; only their words are read."""
    import pandas as pd

    from wefe.metrics import WEAT
    from wefe.models import load

    queries = criterion.queries()
    if not queries:
        return
    asked = [
        word for query in queries for part in query.content for words in part for word in words
    ]
    options: dict[str, Any] = {"vocab_prefix": prefix, "trust_pickle": trust_pickle}
    models = [
        load(file, words=[*asked, *map(str.lower, asked)], name=name, **options)
        for name, file in (("before", before), ("after", str(after)))
    ]
    rows = []
    for query in queries:
        scores = [
            WEAT().run_query(
                query, model, return_effect_size=True, preprocessors=[{}, {"lowercase": True}]
            )["effect_size"]
            for model in models
        ]
        rows.append((query.query_name, *scores))
    print("\nWEAT effect size, definitional words and stereotypes (0: no association measured)")
    print(as_text(pd.DataFrame(rows, columns=["query", "before", "after"])))
