"""`wefe explore`: look at words and bias directions."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from wefe._checks import logger
from wefe._files import read_text, text_lines
from wefe._output import Format, as_text, tell, write
from wefe._visible import unique_labels, visible
from wefe.cli import _options as opt
from wefe.datasets import load_criterion
from wefe.models import WordEmbeddingModel, load

if TYPE_CHECKING:
    from wefe.explore import ModelPage, WordPage

# Number of neighbours in a table for people.
_SHOWN = 10
# Columns that a terminal has room for, the important ones first.
_DISTRIBUTION = ["model", "set", "n", "mean", "mean_abs", "5 %", "50 %", "95 %", "std"]


@opt.command
def explore(
    word: list[str] = [],
    *,
    model: list[str],
    criterion: str = "gender",
    original: str | None = None,
    words: list[str] = [],
    with_: list[str] = [],
    out: Path | None = None,
    format: Format = "table",
    lowercase: bool = True,
    vocab_prefix: str | None = None,
    trust_pickle: bool = False,
) -> None:
    """Show which words carry a bias, and in which direction.

    With WORD, prints for each word and model: the group that it is associated with, and how
    strongly; its 100 nearest neighbours, and their groups; and how much of their similarity is bias
    (indirect bias). Without WORD, shows how the words of the model spread along the bias direction,
    and the most extreme words of each group.

    The command reads whole models. Use 'wefe convert' to write a file that opens in milliseconds.

    The numbers describe vectors, not people. The page of --out explains them.

    Example: wefe explore nurse engineer --model demo --with doctor --out nurse.html

    Example: wefe explore --model demo --words jobs=nurse,librarian,pilot,carpenter

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
        Words whose distribution to show: a file with one word per line,
        or words separated by commas. NAME=LIST names the list; lists of one name are joined. Repeat
        for several. Default: the stereotypes of the criterion.
    with_ : WORD
        Show how much of the similarity between this word and each WORD is bias (indirect bias).
        Repeat for several.
    out : FILE
        Also write everything, with figures, to an HTML file that works offline.
    format
        json contains everything. csv, markdown and latex contain one table: neighbours, else
        --words or extreme words. csv puts an apostrophe before texts that a spreadsheet could take
        for a formula.
    """
    uses = {
        "with_": (word, "pages of words; give a WORD"),
        "words": (not word, "the page of a model: leave out WORD"),
    }
    opt.check_used(explore, locals(), uses)
    from wefe.explore import bias_directions, model_page, word_page
    from wefe.report import write_page

    lists = _word_lists(words)
    opt.check_outputs(None, out, (".html", ".htm"))
    # The same sets as in Python, where names refer to words that ship with the package.
    known = load_criterion(criterion, offline=True)
    reading: dict[str, Any] = {"vocab_prefix": vocab_prefix, "trust_pickle": trust_pickle}
    models = _open(model, **reading)
    before = None if original is None else load(original, **reading)
    for each in models if before is None else ():
        if each.name.endswith("_debiased"):
            logger.warning("%s: use --original to see how much bias is left.", each.name)
    others = [*dict.fromkeys(with_)]
    how: dict[str, Any] = {"preprocessors": opt.preprocessors(lowercase)}

    def explored(word: str | None, model: WordEmbeddingModel) -> Any:
        directions = bias_directions(before or model, known, **how)
        if word is None:
            return model_page(model, directions, words=lists or None, **how)
        return word_page(model, word, directions, others=others, original=before, **how)

    asked = [partial(explored, each) for each in dict.fromkeys(word) or [None]]
    found, problems = opt.tried(models, asked)
    # 'Nurse' and 'nurse' may be one word.
    pages = [*{(each.model_name, getattr(each, "word", "")): each for each in found}.values()]
    if not pages:
        raise ValueError("no model can be explored; see the messages above.")
    if format == "table":
        tell("\n\n".join(_of_words(pages) if word else _side_by_side(pages)))
    elif format == "json":
        data = [page.to_dict() for page in pages]
        print(json.dumps({"pages": data}, indent=2, ensure_ascii=False, allow_nan=False))
    else:
        tables = [_table_of(page, lists) for page in pages]
        table = pd.concat(tables, ignore_index=True)
        write(format, [(f"Exploration of {criterion}", table)], {"table": table})
    if out is not None:
        write_page(out, pages, facts={"Left out": "; ".join(problems)} if problems else {})
        print(f"Written to {out}.", file=sys.stderr)


def _open(texts: Sequence[str], **reading: Any) -> list[WordEmbeddingModel]:
    named = map(opt.split_name, dict.fromkeys(texts))
    models = [load(source, name, **reading) for name, source in named]
    labels = unique_labels([visible(model.name) for model in models], "models")
    for model, label in zip(models, labels, strict=True):
        model.name = label
    return models


def _word_lists(texts: Sequence[str]) -> dict[str, list[str]]:
    lists: dict[str, dict[str, None]] = {}
    for text in texts:
        name, source = opt.split_name(text)
        if opt.is_there(source):
            default, words = Path(source).stem, text_lines(read_text(Path(source)))
        elif "," in source:
            default, words = "words", [*filter(None, map(str.strip, source.split(",")))]
        else:
            raise FileNotFoundError(
                f"--words {text}: there is no such file. To list words, separate them by commas; "
                "for a single word, write 'nurse,'."
            )
        lists.setdefault(name or default, {}).update(dict.fromkeys(words))
    return {name: list(words) for name, words in lists.items()}


def _of_words(pages: Sequence[WordPage]) -> list[str]:
    parts = []
    for page in pages:
        n_more = len(page.neighbors) - _SHOWN
        more = f"\n... {n_more:,} more in --format csv and --out" * (n_more > 0)
        table = page.neighbors.head(_SHOWN).drop(columns="biased")
        parts += [str(page), as_text(table) + more]
    return parts


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


def _table_of(page: Any, lists: dict[str, list[str]]) -> pd.DataFrame:
    """Return the neighbours of a word; of a model, the lists of words or else extreme words."""
    if hasattr(page, "neighbors"):  # it is a WordPage
        return pd.DataFrame({"model": page.model_name, "word": page.word, **page.neighbors})
    table: pd.DataFrame = page.extremes
    words = page.projections.drop(columns="chance")
    return words[words["set"].isin(lists)] if lists else table
