"""`wefe explore`: look at words and directions."""

from __future__ import annotations

import csv
import io
import json
import logging
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec, TypeVar

import typer

from wefe._checks import check_share
from wefe._visible import HIDDEN, visible
from wefe.cli import _options as opt
from wefe.cli._inputs import is_there, open_model, preprocessors, short, split_name
from wefe.cli._output import Format, as_text, write

if TYPE_CHECKING:
    import pandas as pd

    from wefe.explore import BiasDirections, ModelPage, StatisticCorrelation, WordPage
    from wefe.models import WordEmbeddingModel

logger = logging.getLogger(__name__)

_Given = ParamSpec("_Given")
_Made = TypeVar("_Made")

# Neighbours that a table for people has.
_SHOWN = 10
# Quantiles that several models have no room for.
_TAILS = ["1 %", "25 %", "75 %", "99 %"]
# Letters of the names of models that can stand over columns.
_MOST_ABREAST = 60
# Year of the census of which the shares are.
_CENSUS = 2015
# A model that was read into so much memory took its time.
_LARGE_BYTES = 100_000_000
# How `wefe.debias` ends the names of models.
_MITIGATED = "_debiased"


class Map(StrEnum):
    """How a neighbourhood is drawn in two dimensions."""

    pca = "pca"
    t_sne = "t-sne"
    umap = "umap"


@dataclass
class _Explored:
    """What was found out of one model."""

    model: str
    directions: BiasDirections
    page: ModelPage | None = None
    words: list[WordPage] = field(default_factory=list)
    analogies: pd.DataFrame | None = None
    correlation: StatisticCorrelation | None = None


def explore(
    word: Annotated[
        list[str],
        typer.Argument(
            metavar="WORD",
            help="Words whose neighbourhood is looked at. Without any, the whole model is.",
        ),
    ] = [],
    model: opt.Models = [],
    criterion: Annotated[
        str,
        typer.Option(
            help="Whose bias direction: gender, ethnicity, religion, gender_es (_fr, _de, _it, "
            "_nl, _sv, _pt) for other languages, or a JSON file of a criterion, as for 'wefe "
            "debias'."
        ),
    ] = "gender",
    original: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="The model before mitigation: directions and indirect bias are those in it, so "
            "that what is left of the former bias shows.",
        ),
    ] = "",
    words: Annotated[
        list[str],
        typer.Option(
            metavar="LIST",
            help="A list whose distribution is wanted: a file with a word per line (# starts a "
            "comment line), or words with commas between them. NAME=LIST gives it a name. Repeat "
            "for several. Default: the stereotypes that the criterion lists.",
        ),
    ] = [],
    with_: Annotated[
        list[str],
        typer.Option(
            "--with",
            metavar="WORD",
            help="A word whose similarity with WORD is asked about: which share of it is bias "
            "(indirect bias). Repeat for several.",
        ),
    ] = [],
    neighbors: Annotated[
        int, typer.Option("--neighbors", "-k", min=1, help="Nearest neighbours looked at.")
    ] = 100,
    theta: Annotated[
        float, typer.Option(help="A neighbour with a larger indirect bias counts as biased.")
    ] = 0.05,
    extremes: Annotated[
        int, typer.Option("--extremes", "-n", min=1, help="Extreme words shown for each group.")
    ] = 10,
    among: Annotated[
        int,
        typer.Option(
            min=1,
            help="Words from the start of the vocabulary that may be extreme, or in an analogy; "
            "most files begin with frequent words.",
        ),
    ] = 50_000,
    map: Annotated[
        Map,
        typer.Option(
            help="How the neighbourhood is drawn: pca, t-sne, or umap (needs the extra 'umap')."
        ),
    ] = Map.pca,
    analogies: Annotated[
        int,
        typer.Option(
            min=0,
            help="So many pairs of words that differ most nearly as the groups do: 'she is to x "
            "as he to y'. The time grows with the square of --among.",
        ),
    ] = 0,
    statistic: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="Compare the bias of words with a number of the world: a CSV file with the "
            "columns word and value, where a column called like a group is compared with the bias "
            "towards it; or 'census', the share of women in occupations (a download).",
        ),
    ] = "",
    seed: Annotated[
        int, typer.Option(min=0, help="Of UMAP, and of intervals for --statistic.")
    ] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write everything with figures to this HTML file, too, which needs no network."
        ),
    ] = None,
    format: Annotated[
        Format,
        typer.Option(
            help="csv, markdown and latex have one table: the neighbours of words, else the words "
            "of --words, the analogies, the words of --statistic or the extreme words; json has "
            "everything. Only json keeps all texts as they are: csv has an apostrophe before one "
            "that a spreadsheet would take for a formula, as it begins with =, +, - or @."
        ),
    ] = Format.table,
    lowercase: opt.Lowercase = True,
    vocab_prefix: opt.VocabPrefix = "",
    offline: opt.Offline = False,
    trust_pickle: opt.TrustPickle = False,
) -> None:
    """Look at words and directions: where a bias sits, not only how large it is.

    With words, a page for each in each model: which group it leans to and how far, its nearest
    neighbours and theirs, and which share of these similarities is the bias (indirect bias).
    Without words, the model: how its words spread along the bias direction, and which lie
    farthest towards each group.

    A model is opened whole. A text or binary file is read to its end; 'wefe convert' makes a file
    that opens at once.

    Numbers describe vectors, not people; --out explains how to read them.

    Example: wefe explore nurse engineer --model demo --with doctor --out nurse.html

    Example: wefe explore --model demo --words jobs=nurse,librarian,pilot,carpenter -n 5
    """
    if not model:
        raise ValueError("say where to look: --model, for example --model demo.")
    _check_used(word, words, with_, neighbors, theta, extremes, among, map, analogies)
    if map is not Map.pca and out is None and format is not Format.json:
        raise ValueError("--map is drawn by --out, and --format json has its points; use one.")
    if (
        format is Format.csv
        and len([asked for asked in (word, words, analogies, statistic) if asked]) > 1
    ):
        raise ValueError(
            "--format csv is one table: of words, or of --words, --analogies or --statistic. "
            "json has all of them."
        )
    check_share("--theta", theta)
    lists = _word_lists(words)
    numbers = _statistic(statistic, offline)
    if out is not None:
        from wefe._files import check_writable

        if out.suffix.lower() not in (".html", ".htm"):
            raise ValueError(
                f"--out {out}: it writes a page of HTML, so call it {out.stem}.html; tables are "
                "printed by --format csv and --format json."
            )
        check_writable(out)
    options = {"vocab_prefix": vocab_prefix or None, "trust_pickle": trust_pickle}
    found = _explore(
        list(dict.fromkeys(word)),
        list(dict.fromkeys(model)),
        criterion,
        original,
        options,
        lists=lists,
        others=list(dict.fromkeys(with_)),
        k=neighbors,
        theta=theta,
        n=extremes,
        among=among,
        map_method=map.value,
        n_analogies=analogies,
        statistic=numbers,
        seed=seed,
        preprocessors=preprocessors(lowercase),
    )
    if format is Format.table:
        _print(found)
    elif format is Format.json:
        _print_json(found, lists)
    else:
        table = _as_table(found, lists)
        write(format, [(f"Exploration of {criterion}", table)], {"table": table})
    if out is not None:
        from wefe.report import write_page

        facts: dict[str, object] = {"Seed": seed}
        if not word or analogies:
            facts["Frequent words"] = f"{among:,} from the start of the vocabulary"
        write_page(
            out,
            [
                *(one.page for one in found if one.page),
                *(page for one in found for page in one.words),
            ],
            analogies={one.model: one.analogies for one in found if one.analogies is not None},
            correlations=[one.correlation for one in found if one.correlation is not None],
            facts=facts,
        )
        print(f"Written to {out}.", file=sys.stderr)


def _check_used(
    word: list[str],
    words: list[str],
    with_: list[str],
    neighbors: int,
    theta: float,
    extremes: int,
    among: int,
    drawn: Map,
    analogies: int,
) -> None:
    """Refuse options that would change nothing."""
    of_words = [
        *(["--with"] if with_ else []),
        *(["--neighbors"] if neighbors != 100 else []),
        *(["--theta"] if theta != 0.05 else []),
        *(["--map"] if drawn is not Map.pca else []),
    ]
    if of_words and not word:
        raise ValueError(f"{of_words[0]} is for a WORD, and none is given.")
    of_models = [
        *(["--words"] if words else []),
        *(["--extremes"] if extremes != 10 else []),
        *(["--among"] if among != 50_000 and not analogies else []),
    ]
    if of_models and word:
        raise ValueError(
            f"{of_models[0]} is for the page of a model; leave out {visible(word[0])!r}, or ask "
            "in a call of its own."
        )


def _explore(
    words: list[str],
    models: list[str],
    criterion: str,
    original: str,
    options: dict[str, Any],
    *,
    lists: dict[str, list[str]],
    others: list[str],
    k: int,
    theta: float,
    n: int,
    among: int,
    map_method: Any,
    n_analogies: int,
    statistic: _Numbers | None,
    seed: int,
    preprocessors: list[dict[str, Any]],
) -> list[_Explored]:
    from wefe.datasets import load_criterion
    from wefe.explore import (
        bias_directions,
        correlate_with_statistic,
        generate_analogies,
        model_page,
        word_page,
    )
    from wefe.models import load
    from wefe.running import unique_labels

    # The same sets as in Python, where a name stands for words that ship with the package.
    known = load_criterion(criterion, offline=True)
    opened = [open_model(text, load, **options) for text in models]
    labels = unique_labels([visible(model.name) for model in opened], "models")
    for each, label in zip(opened, labels, strict=True):
        each.name = label
    before = open_model(original, load, **options) if original else None
    if before is not None:
        before.name = visible(before.name)
    for each in opened:
        _say_whether_read(each)
        if before is not None and before.dim != each.dim:
            raise ValueError(
                f"--original has {before.dim} dimensions and {each.name} has {each.dim}; they can "
                "be compared only before and after a mitigation."
            )
        if before is None and each.name.endswith(_MITIGATED):
            print(
                f"{each.name}: is this model mitigated? --original shows what is left of the "
                "former bias.",
                file=sys.stderr,
            )
    found: list[_Explored] = []
    failures = _Failures()
    for each in opened:
        directions = failures.caught(
            "",
            each,
            bias_directions,
            each if before is None else before,
            known,
            preprocessors=preprocessors,
        )
        if directions is None:
            continue
        own = _Explored(each.name, directions)
        found.append(own)
        for word in _once(words, each, preprocessors):
            page = failures.caught(
                "words",
                each,
                word_page,
                each,
                word,
                directions,
                k=k,
                theta=theta,
                others=others,
                original=before,
                map_method=map_method,
                random_state=seed,
                preprocessors=preprocessors,
            )
            if page is not None:
                own.words.append(page)
        if not words:
            own.page = failures.caught(
                "page",
                each,
                model_page,
                each,
                directions,
                words=lists or None,
                n=n,
                among=among,
                preprocessors=preprocessors,
            )
        if n_analogies:
            own.analogies = failures.caught(
                "analogies",
                each,
                generate_analogies,
                each,
                directions,
                n_analogies,
                among=among,
                preprocessors=preprocessors,
            )
        if statistic is not None:
            own.correlation = failures.caught(
                "statistic",
                each,
                correlate_with_statistic,
                each,
                statistic.values,
                directions,
                group=statistic.name if statistic.name in directions.groups else None,
                statistic_name=statistic.title,
                random_state=seed,
                preprocessors=preprocessors,
            )
    asked = ["words" if words else "page"]
    asked += ["analogies"] if n_analogies else []
    asked += ["statistic"] if statistic is not None else []
    failures.raise_or_log(asked)
    return found


@dataclass
class _Failures:
    """What went wrong, by part; one model is no reason to lose the others."""

    messages: dict[str, list[str]] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)

    def caught(
        self,
        part: str,
        model: WordEmbeddingModel,
        make: Callable[_Given, _Made],
        *args: _Given.args,
        **options: _Given.kwargs,
    ) -> _Made | None:
        """Return what is made, or nothing, and then keep why."""
        try:
            made = make(*args, **options)
        except KeyError as error:
            message = str(error.args[0])
        except ValueError as error:
            message = str(error)
        else:
            self.done.add(part)
            return made
        if model.name not in message:
            message = f"{model.name}: {message}"
        self.messages.setdefault(part, []).append(message)
        return None

    def raise_or_log(self, asked: Sequence[str]) -> None:
        """Raise an error if a part that was asked for is there for no model, log the others."""
        for part in asked:
            if part not in self.done:
                messages = [*self.messages.get("", []), *self.messages.get(part, [])]
                raise ValueError(" ".join(map(_as_sentence, messages)))
        for messages in self.messages.values():
            for message in messages:
                logger.warning("%s", message)


def _as_sentence(message: str) -> str:
    return message if message.endswith((".", "?", "!")) else f"{message}."


def _once(
    words: Sequence[str], model: WordEmbeddingModel, preprocessors: list[dict[str, Any]]
) -> list[str]:
    """Return words without those of which another form is found in the same place."""
    from wefe.explore._lookup import form_of

    first: dict[str, str] = {}
    kept = []
    for word in words:
        try:
            form = form_of(model, word, preprocessors)
        except KeyError:
            # What is wrong with it is said when its page is made.
            kept.append(word)
            continue
        if form in first:
            print(
                f"{model.name} has {visible(word)!r} as {visible(form)!r}, as {first[form]!r}: one "
                "page of both.",
                file=sys.stderr,
            )
            continue
        first[form] = visible(word)
        kept.append(word)
    return kept


def _say_whether_read(model: WordEmbeddingModel) -> None:
    if model.held == "memory" and model.nbytes > _LARGE_BYTES:
        print(
            f"{visible(model.name)} was read to its end; 'wefe convert' makes a file that opens "
            "at once.",
            file=sys.stderr,
        )


# What the user gives


def _word_lists(texts: Sequence[str]) -> dict[str, list[str]]:
    """Return lists of words by name."""
    lists: dict[str, list[str]] = {}
    for text in texts:
        name, source = split_name(text)
        if is_there(source) and Path(source).is_file():
            # Not splitlines: words may hold other marks at which it splits.
            lines = map(str.strip, _text("--words", Path(source)).split("\n"))
            words = [line for line in lines if line and not line.startswith("#")]
            name = name or Path(source).stem
        elif "," in source:
            words = [word.strip() for word in source.split(",") if word.strip()]
            name = name or "words"
        else:
            raise FileNotFoundError(
                f"--words {short(text)}: there is no such file; words have commas between "
                "them, 'nurse,' if there is one only."
            )
        if not words:
            raise ValueError(f"--words {short(text)} has no word.")
        if name in lists or name == "vocabulary":
            raise ValueError(
                f"--words {short(text)}: there is a list called {short(name)!r} already; NAME=LIST "
                "gives another name."
            )
        lists[name] = list(dict.fromkeys(words))
    return lists


def _text(option: str, path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{option} {path} is no text in UTF-8: {error}.") from error


@dataclass
class _Numbers:
    """A number of the world for each word."""

    name: str
    title: str
    values: Mapping[str, float]


def _statistic(text: str, offline: bool) -> _Numbers | None:
    """Return what --statistic names; nothing if it is not given."""
    if not text:
        return None
    if text == "census":
        from wefe.datasets import fetch_occupation_shares
        from wefe.datasets._download import at_hand
        from wefe.datasets._eds import GENDER_TABLE

        if offline and not at_hand((GENDER_TABLE,)):
            raise ValueError("--statistic census is a download, which --offline rules out.")
        column = fetch_occupation_shares(_CENSUS)["female"]
        shares = {str(word): float(share) for word, share in column.items()}
        return _Numbers("female", f"share of women, census of {_CENSUS}", shares)
    path = Path(text)
    if not (is_there(text) and path.is_file()):
        raise FileNotFoundError(
            f"--statistic {short(text)}: there is no such file; or 'census' for occupations."
        )
    rows = _rows(path)
    head = [cell.strip() for cell in rows[0][1]] if rows else []
    if len(head) < 2 or "word" not in head:
        raise ValueError(
            f"--statistic {path}: expected a CSV file with the columns word and value; the first "
            f"line is {', '.join(map(repr, head)) or 'empty'}."
        )
    of_word = head.index("word")
    rest = [name for name in head if name != "word"]
    name = "value" if "value" in rest else rest[0]
    if len(rest) > 1 and name != "value":
        raise ValueError(
            f"--statistic {path}: which column? It has {', '.join(map(repr, rest))}; call one "
            "'value', or leave out the others."
        )
    values: dict[str, float] = {}
    for number, row in rows[1:]:
        if not any(cell.strip() for cell in row):
            continue
        cells = [cell.strip() for cell in row]
        try:
            word, value = cells[of_word], cells[head.index(name)]
            of_world = float(value) if value else float("nan")
            if HIDDEN.search(word):
                raise ValueError("a line break or another mark that is no part of a word")
        except (IndexError, ValueError):
            raise ValueError(
                f"--statistic {path}, line {number}: expected a word and a number; got "
                f"{', '.join(map(repr, row))}."
            ) from None
        if word in values:
            raise ValueError(f"--statistic {path}, line {number}: {word!r} has a number already.")
        values[word] = of_world
    return _Numbers(name, path.stem if name == "value" else name, values)


def _rows(path: Path) -> list[tuple[int, list[str]]]:
    """Return the rows of a CSV file, each with the line at which it ends."""
    reader = csv.reader(io.StringIO(_text("--statistic", path), newline=""))
    try:
        return [(reader.line_num, row) for row in reader]
    except csv.Error as error:
        raise ValueError(f"--statistic {path}, line {reader.line_num}: {error}.") from error


# What is shown


def _print(found: Sequence[_Explored]) -> None:
    parts: list[str] = []
    pages = [one.page for one in found if one.page is not None]
    if len(pages) == 1:
        parts.append(str(pages[0]))
    elif pages:
        parts += _side_by_side(pages)
    for page in (page for one in found for page in one.words):
        table = page.neighbors.head(_SHOWN).drop(columns="biased")
        parts += [str(page), as_text(table)]
        if len(page.neighbors) > _SHOWN:
            parts[-1] += f"\n... {len(page.neighbors) - _SHOWN:,} more in --format csv and --out"
    for one in found:
        if one.analogies is not None:
            parts.append(f"Analogies in {visible(one.model)}: words that differ as the groups do")
            parts[-1] += f"\n{as_text(one.analogies)}" if len(one.analogies) else "\nnone"
    correlations = [one.correlation for one in found if one.correlation is not None]
    if correlations:
        first = correlations[0]
        parts.append(
            f"{visible(first.statistic_name)}, and {visible(first.bias_name)}; intervals of "
            f"{first.confidence_level:.0%}\n{as_text(_correlations(correlations))}"
        )
    print("\n\n".join(parts))


def _side_by_side(pages: Sequence[ModelPage]) -> list[str]:
    import pandas as pd

    table = pd.concat([page.distribution for page in pages]).drop(columns=_TAILS)
    parts = [
        f"Projections on the direction of {visible(pages[0].directions.name)}\n{as_text(table)}"
    ]
    for group in pages[0].directions.groups:
        columns = {}
        for page in pages:
            own = page.extremes[page.extremes["group"] == group]
            pairs = zip(own["word"], own["projection"], strict=True)
            columns[page.model_name] = [f"{word} {value:.2f}" for word, value in pairs]
        if sum(map(len, columns)) <= _MOST_ABREAST:
            ranked = pd.DataFrame.from_dict(columns, orient="index").T
            ranked.insert(0, "rank", range(1, len(ranked) + 1))
            shown = as_text(ranked)
        else:
            shown = "\n".join(
                visible(f"  {model}: {', '.join(words) or 'none'}")
                for model, words in columns.items()
            )
        parts.append(f"Farthest towards {visible(group)}\n{shown}")
    return parts


def _correlations(correlations: Sequence[StatisticCorrelation]) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for one in correlations:
        row: dict[str, Any] = {"model": one.model_name, "words": one.n, "lost": len(one.lost)}
        for name, estimate in (("pearson", one.pearson), ("spearman", one.spearman)):
            row[name] = estimate.value
            row[f"{name} interval"] = None
            if not math.isnan(estimate.lower):
                row[f"{name} interval"] = f"[{estimate.lower:.2f}, {estimate.upper:.2f}]"
        rows.append({**row, "p_value": one.pearson.p_value, "slope": one.slope.value})
        if one.nan_reason:
            rows[-1]["nan_reason"] = one.nan_reason
    return pd.DataFrame(rows)


def _as_table(found: Sequence[_Explored], lists: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Return the one table that was asked for."""
    import pandas as pd

    if any(one.words for one in found):
        tables = [page.to_frame() for one in found for page in one.words]
    elif any(one.analogies is not None for one in found):
        tables = [_named(one.analogies, one.model) for one in found if one.analogies is not None]
    elif any(one.correlation is not None for one in found):
        tables = [
            _named(one.correlation.to_frame(), one.model)
            for one in found
            if one.correlation is not None
        ]
    elif lists:
        tables = [_of_lists(one.page, lists) for one in found if one.page is not None]
    else:
        tables = [one.page.extremes for one in found if one.page is not None]
    return pd.concat(tables, ignore_index=True)


def _named(table: pd.DataFrame, model: str) -> pd.DataFrame:
    named = table.copy()
    named.insert(0, "model", model)
    return named


def _of_lists(page: ModelPage, lists: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    return page.projections[page.projections["set"].isin(list(lists))]


def _print_json(found: Sequence[_Explored], lists: Mapping[str, Sequence[str]]) -> None:
    from wefe._plain import plain

    models = []
    for one in found:
        content: dict[str, Any] = {"model": one.model, "criterion": one.directions.name}
        if one.page is not None:
            content = one.page.to_dict()
            if lists:
                content["projections"] = plain(_of_lists(one.page, lists))
        elif any(each.words for each in found):
            content["words"] = [page.to_dict() for page in one.words]
        if one.analogies is not None:
            content["analogies"] = plain(one.analogies)
        if one.correlation is not None:
            content["statistic"] = one.correlation.to_dict()
        models.append(content)
    print(json.dumps({"models": models}, indent=2, ensure_ascii=False, allow_nan=False))
