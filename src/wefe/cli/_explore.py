"""`wefe explore`: look at words and bias directions."""

from __future__ import annotations

import itertools
import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from wefe._checks import check_share, logger
from wefe._output import Format, as_text, interval_text, tell, write
from wefe._visible import HIDDEN, plain, unique_labels, visible
from wefe.cli import _options as opt
from wefe.datasets import Criterion, fetch_occupation_shares, load_criterion
from wefe.datasets._download import at_hand
from wefe.datasets._studies import GENDER_TABLE
from wefe.models import WordEmbeddingModel, load

if TYPE_CHECKING:
    from wefe.explore import BiasDirections, ModelPage, StatisticCorrelation

# Number of neighbours in a table for people.
_SHOWN = 10
# Columns that a terminal has room for, the important ones first.
_DISTRIBUTION = ["model", "set", "n", "mean", "mean_abs", "5 %", "50 %", "95 %", "std"]
# Census year of the shares.
_CENSUS = 2015
# Models of this size take long to read.
_LARGE_BYTES = 100_000_000
# Suffix that `wefe.debias` adds to names of models.
_MITIGATED = "_debiased"
# A part of the results, and the function of a model that computes it.
_Asked = tuple[str, Callable[..., Any]]
# Results with the names of their models, by part: 'page', 'words', 'analogies' or 'statistic'.
_Found = dict[str, list[tuple[str, Any]]]


@opt.command
def explore(
    word: list[str] = [],
    *,
    model: list[str] = [],
    criterion: str = "gender",
    original: str = "",
    words: list[str] = [],
    with_: list[str] = [],
    neighbors: int = 100,
    theta: float = 0.05,
    extremes: int = 10,
    among: int = 50000,
    map: Literal["pca", "t-sne", "umap"] = "pca",
    analogies: int = 0,
    statistic: str = "",
    seed: int = 0,
    out: Path | None = None,
    format: Format = "table",
    lowercase: bool = True,
    vocab_prefix: str | None = None,
    offline: bool = False,
    trust_pickle: bool = False,
) -> None:
    """Show which words carry a bias, and in which direction.

    With WORD, prints for each word and model: the group that it is associated with, and how
    strongly; its nearest neighbours, and their groups; and how much of their similarity is bias
    (indirect bias). Without WORD, shows how the words of the model spread along the bias direction,
    and the most extreme words of each group.

    The command reads whole models. Use 'wefe convert' to write a file that opens in milliseconds.

    The numbers describe vectors, not people. The page of --out explains them.

    Example: wefe explore nurse engineer --model demo --with doctor --out nurse.html

    Example: wefe explore --model demo --words jobs=nurse,librarian,pilot,carpenter -n 5

    Parameters
    ----------
    word : WORD
        Words to show with their neighbours. Default: describe the whole model.
    criterion : NAME
        Criterion of the bias direction: gender, ethnicity, religion, gender_es (_fr, _de, _it, _nl,
        _sv, _pt) for other languages, or a JSON file as in 'wefe debias'.
    original : FILE
        The model before mitigation. Its bias direction is used, to show how much bias is left.
    words : LIST
        Words whose distribution to show: a file with one word per line (lines with # are comments),
        or words separated by commas. NAME=LIST names the list. Repeat for several. Default: the
        stereotypes of the criterion.
    with_ : WORD
        Show how much of the similarity between this word and each WORD is bias (indirect bias).
        Repeat for several.
    neighbors, -k : N >= 1
        Number of nearest neighbours.
    theta : X
        Indirect bias above which a neighbour counts as biased.
    extremes, -n : N >= 1
        Number of extreme words for each group.
    among : N >= 1
        Use the first N words of the vocabulary for extreme words and analogies; most files begin
        with frequent words.
    map
        How to draw the neighbourhood; umap needs the extra 'umap'.
    analogies : N >= 0
        Number of analogies: pairs such as 'she is to x as he is to y'. The time grows with the
        square of --among.
    statistic : FILE
        Compare the bias of words with a real-world statistic: a CSV file with the columns word and
        value (name the column after a group to compare with the bias towards that group), or
        'census' for the share of women in occupations (needs a download).
    seed : N >= 0
        Seed of umap, and of the intervals of --statistic.
    out : FILE
        Also write everything, with figures, to an HTML file that works offline.
    format
        json contains everything. csv, markdown and latex contain one table: neighbours, else
        --words, analogies, --statistic or extreme words. csv puts an apostrophe before texts that
        a spreadsheet could take for a formula.
    """
    of_pairs = analogies or not word
    uses: dict[str, tuple[object, str]] = {
        "with_ neighbors theta map": (word, "pages of words; give a WORD"),
        "words extremes": (not word, "the page of a model: leave out WORD"),
        "among": (of_pairs, "the page of a model, and for --analogies"),
        " map": (out or format == "json", "--out, which draws it, and for --format json"),
    }
    opt.check_used(explore, locals(), uses)
    from wefe.explore import correlate_with_statistic, generate_analogies, model_page, word_page

    if not model:
        raise ValueError("there is no model: give --model, for example --model demo.")
    if format == "csv" and sum(bool(each) for each in (word, words, analogies, statistic)) > 1:
        raise ValueError(
            "--format csv prints one table: ask for only one of WORD, --words, --analogies and "
            "--statistic, or use --format json."
        )
    check_share("--theta", theta)
    lists, numbers = _word_lists(words), _statistic(statistic, offline) if statistic else []
    hint = " --format is for what the command prints."
    opt.check_outputs(None, out, (".html", ".htm"), hint)
    # The same sets as in Python, where names refer to words that ship with the package.
    known = load_criterion(criterion, offline=True)
    reading: dict[str, Any] = {"vocab_prefix": vocab_prefix, "trust_pickle": trust_pickle}
    opened, before = _open(model, reading), _open(filter(None, [original]), reading)
    _warn(opened, is_mitigated=bool(before))
    of_word: dict[str, Any] = {"k": neighbors, "theta": theta, "others": [*dict.fromkeys(with_)]}
    of_word |= {"original": next(iter(before), None), "map_method": map, "random_state": seed}
    of_model = partial(model_page, words=lists or None, n=extremes, among=among)
    pages = [("words", partial(word_page, word=each, **of_word)) for each in dict.fromkeys(word)]
    asked: list[_Asked] = [*pages] if word else [("page", of_model)]
    if analogies:
        asked.append(("analogies", partial(generate_analogies, n=analogies, among=among)))
    for each in numbers:
        group = each["group"] if each["group"] in known.class_names else None
        own = each | {"group": group, "random_state": seed}
        asked.append(("statistic", partial(correlate_with_statistic, **own)))
    found, directions, problems = _explore(
        opened, before, known, asked, opt.preprocessors(lowercase)
    )
    if format == "table":
        _print(found)
    elif format == "json":
        models = [
            _as_data(found, name, one, of_lists=bool(lists)) for name, one in directions.items()
        ]
        print(json.dumps({"models": models}, indent=2, ensure_ascii=False, allow_nan=False))
    else:
        table = _as_table(found, of_lists=bool(lists))
        write(format, [(f"Exploration of {criterion}", table)], {"table": table})
    if out is not None:
        frequent = {"Frequent words": f"{among:,} from the start of the vocabulary"}
        left_out = {"Left out": " ".join(problems)} if problems else {}
        _write(found, {"Seed": seed, **(frequent if of_pairs else {}), **left_out}, out)


def _write(found: _Found, facts: Mapping[str, object], path: Path) -> None:
    from wefe.report import write_page

    write_page(
        path,
        [page for _, page in found["page"] + found["words"]],
        analogies=dict(found["analogies"]),
        correlations=[one for _, one in found["statistic"]],
        facts=facts,
    )
    _tell(f"Written to {path}.")


def _tell(text: str) -> None:
    print(text, file=sys.stderr)


def _open(texts: Iterable[str], reading: Mapping[str, Any]) -> list[WordEmbeddingModel]:
    named = map(opt.split_name, dict.fromkeys(texts))
    models = [load(source, name, **reading) for name, source in named]
    labels = unique_labels([visible(model.name) for model in models], "models")
    for model, label in zip(models, labels, strict=True):
        model.name = label
    return models


def _warn(models: Sequence[WordEmbeddingModel], *, is_mitigated: bool) -> None:
    """Warn about models that take long to read, or that may be mitigated ones."""
    for model in models:
        if model.held == "memory" and model.nbytes > _LARGE_BYTES:
            _tell(
                f"{model.name} was read to its end; 'wefe convert' writes a file that opens in "
                "milliseconds."
            )
        if model.name.endswith(_MITIGATED) and not is_mitigated:
            _tell(
                f"{model.name}: if this model is mitigated, use --original to see how much of the "
                "former bias is left."
            )


def _explore(
    models: Sequence[WordEmbeddingModel],
    before: Sequence[WordEmbeddingModel],
    criterion: Criterion,
    asked: Sequence[_Asked],
    forms: list[dict[str, Any]],
) -> tuple[_Found, dict[str, BiasDirections], list[str]]:
    """Explore each model; a failure does not stop the others, and is among the problems."""
    from wefe.explore import bias_directions

    found: _Found = defaultdict(list)
    directions: dict[str, BiasDirections] = {}
    problems: dict[str, None] = {}
    for model, (part, make) in itertools.product(models, asked):
        name = model.name
        try:
            if name not in directions:
                source = next(iter(before), model)
                directions[name] = bias_directions(source, criterion, preprocessors=forms)
            made = make(model, criterion=directions[name], preprocessors=forms)
            found[part].append((name, made))
        except (KeyError, ValueError) as error:
            message = re.sub(r"(?<![.?])\Z", ".", str(error.args[0]))
            problems[message if name in message else f"{name}: {message}"] = None
    if not all(found[part] for part, _ in asked):
        raise ValueError(" ".join(problems))
    for problem in problems:
        logger.warning("%s", problem)
    # 'Nurse' and 'nurse' may be one word.
    pages = {(name, page.word): (name, page) for name, page in found["words"]}
    found["words"] = [*pages.values()]
    return found, directions, [*problems]


# Input


def _word_lists(texts: Sequence[str]) -> dict[str, list[str]]:
    lists: dict[str, list[str]] = {}
    for text in texts:
        name, words = _word_list(text)
        if name in (*lists, "vocabulary"):
            raise ValueError(f"--words {text}: there is already a list called {name!r}.")
        lists[name] = list(dict.fromkeys(words))
    return lists


def _word_list(text: str) -> tuple[str, list[str]]:
    name, source = opt.split_name(text)
    if opt.is_there(source):
        lines = opt.read_lines(Path(source))
        return name or Path(source).stem, [line for line in lines if not line.startswith("#")]
    if "," not in source:
        raise FileNotFoundError(
            f"--words {text}: there is no such file. To list words, separate them by commas; for a "
            "single word, write 'nurse,'."
        )
    return name or "words", [*filter(None, map(str.strip, source.split(",")))]


def _statistic(text: str, offline: bool) -> list[dict[str, Any]]:
    if text == "census":
        if offline and not at_hand((GENDER_TABLE,)):
            raise ValueError("--statistic census needs a download, which --offline forbids.")
        shares = fetch_occupation_shares(_CENSUS)["female"].astype(float)
        title = f"share of women, census of {_CENSUS}"
        return [{"group": "female", "statistic_name": title, "statistic": shares}]
    if not opt.is_there(text):
        raise FileNotFoundError(
            f"--statistic {text}: there is no such file. Give a CSV file, or 'census' for "
            "occupations."
        )
    try:
        return [_numbers(Path(text))]
    # pandas raises it too, if the file is not UTF-8 or no table.
    except ValueError as error:
        raise ValueError(f"--statistic {text}: {error}") from error


def _numbers(path: Path) -> dict[str, Any]:
    table = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig").fillna("")
    table = table.rename(columns=str.strip).map(str.strip)
    table = table[(table != "").any(axis=1)]
    names = ["value"] if "value" in table else [str(name) for name in table if name != "word"]
    if "word" not in table or len(names) != 1:
        raise ValueError(
            f"expected the columns word and value; got {', '.join(map(repr, table.columns))}."
        )
    words = table["word"]
    wrong = words[(words == "") | words.map(HIDDEN.search).notna()]
    if len(wrong):
        raise ValueError(f"{wrong.iloc[0]!r} is not a word.")
    values = table.set_index("word")[names[0]].replace("", "nan").map(float)
    title = {"value": path.stem}.get(names[0], names[0])
    return {"group": names[0], "statistic_name": title, "statistic": values}


# Output


def _print(found: _Found) -> None:
    parts = _side_by_side([*dict(found["page"]).values()]) if found["page"] else []
    for _, page in found["words"]:
        n_more = len(page.neighbors) - _SHOWN
        more = f"\n... {n_more:,} more in --format csv and --out" * (n_more > 0)
        table = page.neighbors.head(_SHOWN).drop(columns="biased")
        parts += [str(page), as_text(table) + more]
    for model, table in found["analogies"]:
        title = f"Analogies in {visible(model)}: word pairs that differ as the groups do"
        parts.append(f"{title}\n{as_text(table) if len(table) else 'none'}")
    correlations = [*dict(found["statistic"]).values()]
    for first in correlations[:1]:
        parts.append(
            f"{visible(first.statistic_name)} and {visible(first.bias_name)}; confidence of "
            f"intervals: {first.confidence_level:.0%}\n{as_text(_correlations(correlations))}"
        )
    tell("\n\n".join(parts))


def _side_by_side(pages: Sequence[ModelPage]) -> list[str]:
    directions = "\n".join(str(page).splitlines()[0] for page in pages)
    table = pd.concat(map(attrgetter("distribution"), pages))[_DISTRIBUTION]
    parts = [f"{directions}\n\n{as_text(table)}"]
    extremes = pd.concat(map(attrgetter("extremes"), pages))
    extremes["word"] += extremes["projection"].map(" {:.2f}".format)
    for group in pages[0].directions.groups:
        own = extremes[extremes["group"] == group]
        shown = own.pivot(index="rank", columns="model", values="word")
        # The models in the order of the call.
        shown = shown[own["model"].unique()].reset_index()
        listed = as_text(shown) if len(shown) else "no word has a clear direction"
        parts.append(f"Farthest towards {visible(group)}\n{listed}")
    caveats = [(page.model_name, page.directions.caveat()) for page in pages]
    return parts + [f"beware, {visible(name)}: {text}" for name, text in caveats if text]


def _correlations(correlations: Sequence[StatisticCorrelation]) -> pd.DataFrame:
    known = pd.json_normalize([one.to_dict() for one in correlations])
    shown = pd.DataFrame({"model": [one.model_name for one in correlations], "words": known["n"]})
    shown["lost"] = known["lost"].str.len()
    for name in ("pearson", "spearman"):
        shown[name] = known[f"{name}.value"].astype(float)
        bounds = known[f"{name}.lower"], known[f"{name}.upper"]
        shown[f"{name} interval"] = interval_text(*bounds)
    shown["p_value"], shown["slope"] = known["pearson.p_value"], known["slope.value"]
    shown["nan_reason"] = known["nan_reason"]
    return shown.dropna(axis="columns", how="all")


def _as_table(found: _Found, *, of_lists: bool) -> pd.DataFrame:
    makers: dict[str, Callable[[Any], pd.DataFrame]] = {
        "words": lambda page: page.to_frame(),
        "analogies": lambda table: table,
        "statistic": lambda one: one.to_frame(),
        "page": lambda page: _of_lists(page) if of_lists else page.extremes,
    }
    part = next(filter(found.get, makers))
    tables = [makers[part](one).assign(model=model) for model, one in found[part]]
    table = pd.concat(tables, ignore_index=True)
    return table[["model", *table.columns.drop("model")]]


def _of_lists(page: ModelPage) -> pd.DataFrame:
    return page.projections[page.projections["set"] != "vocabulary"]


def _as_data(
    found: _Found, model: str, directions: BiasDirections, *, of_lists: bool
) -> dict[str, Any]:
    makers: dict[str, Callable[..., dict[str, Any]]] = {
        "page": lambda page: page.to_dict(),
        "words": lambda *pages: {"words": [page.to_dict() for page in pages]},
        "analogies": lambda table: {"analogies": plain(table)},
        "statistic": lambda one: {"statistic": one.to_dict()},
    }
    if of_lists:
        makers["page"] = lambda page: page.to_dict() | {"projections": plain(_of_lists(page))}
    content: dict[str, Any] = {"model": model, "criterion": directions.name}
    for part, pairs in found.items():
        own = [one for name, one in pairs if name == model]
        content |= makers[part](*own) if own else {}
    return content
