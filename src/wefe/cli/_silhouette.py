"""`wefe silhouette`: how far metrics and word lists can be trusted."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wefe._files import atomic_file
from wefe.cli._measure import (
    Side,
    _check_metrics,
    _default_params,
    _open_queries,
    _parse_params,
    open_model,
)

if TYPE_CHECKING:
    import pandas as pd

    from wefe.silhouette import SilhouetteStudy
    from wefe.silhouette._silhouette import Vary

_ACCURACY = ["metric", "bias_type", "list_type", "accuracy"]


class Varied(StrEnum):
    """Which word lists grow."""

    targets = "targets"
    attributes = "attributes"
    both = "both"


def silhouette(
    query: Annotated[
        list[str],
        typer.Option(
            # The messages about queries are those of 'wefe measure'.
            "--query",
            "--queries",
            help="A published query set ('wefe datasets' lists them) or a JSON file of queries, "
            "as Query.dict() writes them: target sets are the social groups, attribute sets the "
            "concepts. Repeat for several.",
        ),
    ],
    models: Annotated[
        list[str],
        typer.Option(
            "--models",
            "--model",
            help="Files of vectors, with commas between them, or the option repeated; whatever "
            "'wefe measure --model' takes, 'demo' included. NAME=FILE gives a name, which is that "
            "of the file otherwise.",
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            help="The folder to write to. Started again with the same folder, the command goes on "
            "where it ended."
        ),
    ],
    metric: Annotated[
        list[str],
        typer.Option(
            help="weat (its effect size; sums of different lists have no common scale), ect, rnsb, "
            "rnd, mac, same, direct-bias, ripa or gweat. Repeat for several. A metric that takes "
            "one attribute set, such as ect, gets those of the query as one list."
        ),
    ] = ["weat"],  # noqa: B006 - typer reads the default, nobody changes it
    vary: Annotated[
        Varied,
        typer.Option(
            help="Which lists grow: the social groups (targets), the concepts (attributes), or "
            "first the ones and then the others."
        ),
    ] = Varied.both,
    runs: Annotated[
        int,
        typer.Option(
            min=1,
            help="Random orders in which the words come in. From 80 on, scores hardly change; 10 "
            "give a first impression.",
        ),
    ] = 100,
    step: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Words added in a step, all growing lists together. Default: 2 group words, 6 "
            "concept words.",
        ),
    ] = None,
    unbiased: Annotated[
        str,
        typer.Option(
            help="Name of the model that is taken for free of the bias. With --biased, the "
            "accuracy of each metric is computed. Models called 'unbiased' and 'biased' need "
            "neither option."
        ),
    ] = "",
    biased: Annotated[
        str, typer.Option(help="Name of the model that is taken for as biased as can be.")
    ] = "",
    seed: Annotated[
        int, typer.Option(min=0, help="Draws the orders: the same for every metric and model.")
    ] = 0,
    jobs: Annotated[int, typer.Option(help="Worker processes; the result is the same.")] = 1,
    param: Annotated[
        list[str],
        typer.Option(
            help="A parameter of a metric, METRIC.NAME=VALUE, the value in JSON: "
            "weat.ddof=1. Repeat for several."
        ),
    ] = [],  # noqa: B006
    lowercase: Annotated[
        bool,
        typer.Option(help="Look up the lower-case form of words that are not found as they are."),
    ] = True,
    vocab_prefix: Annotated[
        str, typer.Option(help="Put before each word, '/c/en/' for ConceptNet.")
    ] = "",
    offline: Annotated[
        bool, typer.Option(help="Only queries whose words ship with the package; no download.")
    ] = False,
    trust_pickle: Annotated[
        bool,
        typer.Option(
            "--trust-pickle",
            help="Open gensim's own files, which can run any code their author put there.",
        ),
    ] = False,
) -> None:
    """Tell how far metrics and word lists can be trusted (Bias Silhouette Analysis).

    Each query is measured with ever more of its words, in many random orders. Robustness, 0 to 1,
    says how little a score depends on which words are there. Accuracy, 0 to 1, says how clearly a
    metric tells a biased reference model from an unbiased one; 0.5 is no difference, less is the
    wrong way round. A metric that hardly moves on its scale is robust, and says nothing: look at
    both.

    Writes robustness.csv (one row per silhouette), accuracy.csv, silhouettes.html (all curves) and
    a JSON file per silhouette, and prints the tables. Words that one model lacks are left out for
    all. Of a text or binary file only the words of the queries are read.

    Example: wefe silhouette --query gender --offline --metric weat --metric ect --models
    unbiased.bin,biased.bin --out report
    """
    from wefe.models._load import words_of
    from wefe.silhouette import silhouette_study

    asked_metrics = ["weat" if name == "weat-es" else name for name in _check_metrics(metric)]
    names = list(dict.fromkeys(asked_metrics))
    own_params = _parse_params(param, names)
    lookup: dict[str, Any] = {"preprocessors": [{}, {"lowercase": True}]} if lowercase else {}
    params = {name: {**lookup, **own_params.get(name, {})} for name in names}
    queries = []
    for text in dict.fromkeys(query):
        asked = _open_queries(text, offline)
        queries += asked.queries
        for name in {"ripa", "direct-bias"} & set(names):
            params[name].update(_default_params(name, params[name], asked, Side.right))
        offline = offline or asked.offline
    # A query knows its words, so of a file that must be parsed only those are.
    words = words_of(queries, vocab_prefix or None, lookup.get("preprocessors", [{}]))
    options = {
        "vocab_prefix": vocab_prefix or None,
        "words": words,
        "trust_pickle": trust_pickle,
    }
    opened = [open_model(text, options) for text in _separate(models)]
    lists: tuple[Vary, ...] = ("targets", "attributes")
    study = silhouette_study(
        names,
        queries,
        opened,
        vary=lists if vary is Varied.both else vary.value,  # type: ignore[arg-type]
        n_runs=runs,
        step=step,
        random_state=seed,
        n_jobs=jobs,
        unbiased=unbiased or None,
        biased=biased or None,
        directory=out / "silhouettes",
        metric_params=params,
    )
    _report(study, out)
    print(study)
    print(f"\nWritten to {out}: robustness.csv, accuracy.csv, silhouettes.html")


def _separate(texts: list[str]) -> list[str]:
    """Split at commas what is not the name of a file that has commas itself."""
    parts = []
    for text in texts:
        whole = Path(text).exists() or Path(text.partition("=")[2] or ".").is_file()
        parts += [text] if whole else [part.strip() for part in text.split(",") if part.strip()]
    return parts


def _report(study: SilhouetteStudy, folder: Path) -> None:
    table = study.to_frame()
    # It is there even if it has no rows: that of an earlier call would be taken for this one's.
    known = table[table["accuracy"].notna()]
    _write_table(table.drop(columns="accuracy"), folder / "robustness.csv")
    _write_table(known[_ACCURACY].drop_duplicates(_ACCURACY[:3]), folder / "accuracy.csv")
    with atomic_file(folder / "silhouettes.html") as file:
        file.write(study.plot().to_html(include_plotlyjs=True).encode())


def _write_table(table: pd.DataFrame, path: Path) -> None:
    with atomic_file(path) as file:
        file.write(table.to_csv(index=False).encode())
