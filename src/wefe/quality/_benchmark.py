"""Benchmarks of word vectors, and the files that contain them."""

from __future__ import annotations

import ast
import csv
import importlib.util
import math
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from wefe._checks import check_choice, found, nearest
from wefe.datasets._download import FILES, at_hand, fetch_file
from wefe.words import variants

Kind: TypeAlias = Literal["similarity", "analogy", "categorisation", "outlier"]
# Number and text of a line.
_Line: TypeAlias = tuple[int, str]

# Minimum and maximum number of strings per item. The last is a label, except for similarity.
_LENGTHS = {
    "similarity": (2, 2),
    "analogy": (5, 5),
    "categorisation": (2, 2),
    "outlier": (4, math.inf),
}
# Columns of CSV files with a header.
_NAMED: dict[Kind, tuple[str, ...]] = {
    "similarity": ("word1", "word2", "similarity"),
    "analogy": ("word1", "word2", "word3", "target", "type"),
    "categorisation": ("word", "category"),
    "outlier": ("outliers", "words", "category"),
}
_MARKED = re.compile("-[njv]$")
_LONGEST_PATH = 200


class _Known(NamedTuple):
    """A file that is part of gensim's tests, or is downloaded."""

    kind: Kind
    n_items: int
    about: str
    file: str


def _web(folder: str, file: str) -> str:
    return f"word_benchmarks/{folder}/monolingual/en/{file}.csv"


_RELATED, _ALIKE, _SORTED = "word-similarity", "word-analogy", "word-categorization"
_KNOWN = {
    "wordsim353": _Known("similarity", 353, "WordSim-353, relatedness", "wordsim353.tsv"),
    "wordsim353-rel": _Known(
        "similarity", 252, "related pairs of WordSim-353", _web(_RELATED, "wordsim353-rel")
    ),
    "wordsim353-sim": _Known(
        "similarity", 203, "similar pairs of WordSim-353", _web(_RELATED, "wordsim353-sim")
    ),
    "men": _Known("similarity", 3000, "MEN, relatedness", _web(_RELATED, "men")),
    "mturk287": _Known("similarity", 287, "MTurk-287, relatedness", _web(_RELATED, "mturk-287")),
    "rg65": _Known("similarity", 65, "RG-65, similarity", _web(_RELATED, "rg-65")),
    "rw": _Known("similarity", 2034, "Rare Words, similarity", _web(_RELATED, "rw")),
    "simlex999": _Known("similarity", 999, "SimLex-999, similarity", "simlex999.txt"),
    "simverb3500": _Known(
        "similarity", 3500, "SimVerb-3500, similarity", _web(_RELATED, "simverb-3500")
    ),
    "google-analogies": _Known("analogy", 19_544, "Google analogies", "questions-words.txt"),
    "msr-analogies": _Known("analogy", 8000, "MSR analogies, syntax", _web(_ALIKE, "msr")),
    "semeval2012": _Known(
        "analogy", 10_014, "SemEval-2012 task 2, as analogies", _web(_ALIKE, "semeval")
    ),
    "ap": _Known("categorisation", 402, "Almuhareb and Poesio", _web(_SORTED, "ap")),
    "bless": _Known("categorisation", 200, "BLESS", _web(_SORTED, "bless")),
    "battig": _Known("categorisation", 5231, "Battig and Montague", _web(_SORTED, "battig")),
    "esslli-2c": _Known("categorisation", 45, "ESSLLI 2008, verbs", _web(_SORTED, "essli-2008")),
    "outliers-888": _Known("outlier", 64, "8-8-8, outliers", _web("outlier-detection", "8-8-8")),
}


@dataclass(frozen=True)
class Benchmark:
    """Questions about words, with answers by people.

    Parameters
    ----------
    name : str
        Column heading in tables.
    kind : {'similarity', 'analogy', 'categorisation', 'outlier'}
        Use 'similarity' for relatedness as well.
    items : tuple of tuple of str
        Similarity: (word, word). Analogy: (a, b, c, d, section), where a is to b as c is to d.
        Categorisation: (word, category). Outlier: (outlier, word, word, ..., group).
    scores : tuple of float, default=()
        For similarity: the human score of each pair, on any scale.
    source : str, default=''
        Origin of the items.

    Raises
    ------
    TypeError, ValueError
        If there are no items, or items or scores do not fit the kind.

    Examples
    --------
    >>> Benchmark("tiny", "similarity", [("cup", "mug"), ("cup", "tree")], [9.1, 0.4])
    <Benchmark 'tiny': similarity, 2 items>
    """

    name: str
    kind: Kind
    items: tuple[tuple[str, ...], ...]
    scores: tuple[float, ...] = ()
    source: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise TypeError(f"name must be a string; got {found(self.name)}.")
        check_choice("kind", self.kind, tuple(_LENGTHS))
        items = tuple(tuple(item) for item in self.items)
        scores = tuple(float(score) for score in self.scores)
        least, most = _LENGTHS[self.kind]
        for place, item in enumerate(items):
            fits = least <= len(item) <= most
            if not fits or not all(isinstance(part, str) for part in item):
                kind = TypeError if fits else ValueError
                raise kind(
                    f"items of kind {self.kind!r} must have {least}{' or more' * (most > least)} "
                    f"strings; item {place} is {found(item)}."
                )
        if not items:
            raise ValueError("items is empty; pass at least one item.")
        wanted = len(items) if self.kind == "similarity" else 0
        if len(scores) != wanted or not all(map(math.isfinite, scores)):
            raise ValueError(
                f"scores must be {wanted} finite numbers for {len(items)} items of kind "
                f"{self.kind!r}; got {found(self.scores)}."
            )
        object.__setattr__(self, "items", items)
        object.__setattr__(self, "scores", scores)

    @property
    def n_items(self) -> int:
        """Number of pairs, questions, words in categories, or outliers."""
        return len(self.items)

    @property
    def words(self) -> frozenset[str]:
        """The words of all items, as in the file."""
        return frozenset(self._in_order())

    @property
    def content(self) -> tuple[Any, ...]:
        """What determines a score: kind, items and scores, without the name; hashable."""
        return (self.kind, self.items, self.scores)

    def forms(self, *, lowercase: bool = True, vocab_prefix: str | None = None) -> frozenset[str]:
        """Return every string that :func:`evaluate` may look up.

        Parameters
        ----------
        lowercase : bool, default=True
            As for :func:`evaluate`.
        vocab_prefix : str, optional
            The prefix of the model.

        Returns
        -------
        frozenset of str
            For ``wefe.load(source, words=benchmark.forms())``; analogies need the whole model.
        """
        return frozenset(
            form for word in self._in_order() for form in forms_of(word, lowercase, vocab_prefix)
        )

    def _in_order(self) -> dict[str, None]:
        end = None if self.kind == "similarity" else -1
        return dict.fromkeys(word for item in self.items for word in item[:end])

    def __repr__(self) -> str:
        return f"<Benchmark {self.name!r}: {self.kind}, {self.n_items:,} items>"


def forms_of(word: str, lowercase: bool, vocab_prefix: str | None) -> list[str]:
    """Return the forms of a word in look-up order."""
    return variants(word, ({}, {"lowercase": True}) if lowercase else ({},), vocab_prefix)


def list_benchmarks() -> list[dict[str, Any]]:
    """List the benchmarks that :func:`load_benchmark` knows by name.

    Returns
    -------
    list of dict
        'name', 'kind', 'n_items', 'source' and 'at_hand' (whether its file is on this machine, with
        gensim or downloaded).

    Examples
    --------
    >>> [each["name"] for each in list_benchmarks() if each["kind"] == "analogy"]
    ['google-analogies', 'msr-analogies', 'semeval2012']
    """
    return [
        {
            "name": name,
            "kind": known.kind,
            "n_items": known.n_items,
            "source": _source(known),
            "at_hand": _is_at_hand(known.file),
        }
        for name, known in _KNOWN.items()
    ]


def load_benchmark(
    source: str | os.PathLike[str], kind: Kind | None = None, name: str | None = None
) -> Benchmark:
    r"""Read a benchmark by name, or from a file.

    Parameters
    ----------
    source : str or path
        A name of :func:`list_benchmarks`, such as 'wordsim353' [1]_, 'simlex999' [2]_ or
        'google-analogies' [3]_ (these come with gensim, others are downloaded once), or a text file
        in UTF-8. Empty lines and lines that start with '#' are ignored.

        - similarity: two words and a number per line. A first line of three words is a header.
        - analogy: four words per line, separated by spaces; ``: name`` starts a section.
        - categorisation: a word and its category per line, without a header.
        - any kind: comma-separated values with the header 'word1,word2,similarity',
          'word1,word2,word3,target,type', 'word,category' or 'category,words,outliers'. Lines with
          an empty word are ignored.

        Columns, except in analogies, are separated by tabs, otherwise commas, otherwise spaces.
        Between tabs or commas they may be in double quotes.
    kind : {'similarity', 'analogy', 'categorisation', 'outlier'}, optional
        By default detected from the first line.
    name : str, optional
        By default the name, or the name of the file without its suffix.

    Returns
    -------
    Benchmark
        The items in the order of the file.

    Raises
    ------
    ImportError, ConnectionError, FileNotFoundError
        If gensim is needed and not installed, the download fails, or the file does not exist.
    TypeError, ValueError
        If `source` or `kind` is wrong, or the file has no items or an invalid line.

    References
    ----------
    .. [1] Finkelstein et al. Placing Search in Context. ACM TOIS 20, 2002.
    .. [2] Hill, Reichart and Korhonen. SimLex-999. Computational Linguistics 41, 2015.
    .. [3] Mikolov et al. Efficient Estimation of Word Representations in Vector Space. 2013.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "animals.tsv")
    ...     _ = file.write_text("cat\tmammal\ndog\tmammal\nowl\tbird\n")
    ...     load_benchmark(file)
    <Benchmark 'animals': categorisation, 3 items>
    """
    if kind is not None:
        check_choice("kind", kind, tuple(_LENGTHS))
    if isinstance(source, str) and source in _KNOWN:
        known = _KNOWN[source]
        path, default, where = _path_of(source, known), source, _source(known)
    elif isinstance(source, str | os.PathLike):
        path = Path(os.fspath(source))
        default = path.stem
        where = str(path)
        if not _is_file(path):
            shown = repr(where) if len(where) <= _LONGEST_PATH else f"{where[:_LONGEST_PATH]!r}..."
            if where in _KNOWN:
                hint = f" That is a name, not a path: load_benchmark({where!r})."
            else:
                hint = nearest(where[:_LONGEST_PATH], _KNOWN)
            names = ", ".join(repr(known) for known in _KNOWN)
            raise FileNotFoundError(f"there is no file {shown}; known names are {names}.{hint}")
    else:
        raise TypeError(f"source must be a name or a path; got {found(source)}.")
    label = path.name
    lines = _lines(path)
    if not lines:
        raise ValueError(f"{label} contains no items: every line is empty or starts with '#'.")
    header = _columns(lines[0][1])
    named = next((each for each, columns in _NAMED.items() if {*columns} <= {*header}), None)
    kind = kind or named or _guess(lines[0], label)
    if kind == named:
        items, scores = _named(lines, kind, label)
    else:
        items, scores = _READERS[kind](lines, label)
    if not items:
        raise ValueError(f"{label} contains no items of kind {kind!r}, only {lines[0][1]!r}.")
    return Benchmark(default if name is None else name, kind, tuple(items), tuple(scores), where)


def as_benchmark(benchmark: object) -> Benchmark:
    if isinstance(benchmark, Benchmark):
        return benchmark
    if isinstance(benchmark, str | os.PathLike):
        return load_benchmark(benchmark)
    raise TypeError(f"benchmark must be a Benchmark, a name or a path; got {found(benchmark)}.")


def _source(known: _Known) -> str:
    is_fetched = known.file in FILES
    where = FILES[known.file].url if is_fetched else f"{known.file} of gensim's test data"
    return f"{known.about} ({where})"


def _is_at_hand(file: str) -> bool:
    if file in FILES:
        return at_hand((file,))
    path = _gensim_file(file)
    return path is not None and path.is_file()


def _gensim_file(file: str) -> Path | None:
    """Return the path of a file of gensim without importing gensim; None if it is not installed."""
    spec = importlib.util.find_spec("gensim")
    folders = spec.submodule_search_locations if spec is not None else None
    return Path(next(iter(folders)), "test", "test_data", file) if folders else None


def _path_of(name: str, known: _Known) -> Path:
    if known.file in FILES:
        return fetch_file(known.file)
    path = _gensim_file(known.file)
    if path is None:
        raise ImportError(f'{name!r} comes with gensim: pip install "wefe[gensim]"')
    if not path.is_file():
        raise FileNotFoundError(
            f"{name!r} is {known.file} of gensim's test data, which this installation lacks. "
            "Download the file elsewhere and pass its path."
        )
    return path


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long for the disk, a folder that may not be read
        return False


def _lines(path: Path) -> list[_Line]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path.name} is not text in UTF-8: {error}.") from error
    lines = ((number, line.strip()) for number, line in enumerate(text.split("\n"), start=1))
    return [(number, line) for number, line in lines if line and not line.startswith("#")]


def _columns(line: str) -> list[str]:
    separator = next((mark for mark in "\t," if mark in line), None)
    if separator is not None and '"' in line:
        try:
            (parts,) = csv.reader([line], delimiter=separator, skipinitialspace=True, strict=True)
            return [part.strip() for part in parts]
        except csv.Error:
            pass  # the quotes belong to a word
    return [part.strip() for part in line.split(separator)]


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _is_header(columns: list[str]) -> bool:
    """Tell whether the last column is a heading, rather than a malformed number such as '6,77'."""
    last = columns[-1].lower()
    headed = last[:1].isalpha() and last not in ("nan", "inf", "infinity")
    return len(columns) == 3 and all(columns) and headed


def _guess(first: _Line, label: str) -> Kind:
    line = first[1]
    columns = _columns(line)
    if line.startswith(":") or (
        len(columns) == 4 == len(line.split()) and all(_number(word) is None for word in columns)
    ):
        return "analogy"
    if len(columns) == 3:
        return "similarity"
    if len(columns) == 2:
        return "categorisation"
    raise _wrong(label, first, "does not show the kind of benchmark; pass kind")


def _wrong(label: str, line: _Line, what: str) -> ValueError:
    return ValueError(f"{label}, line {line[0]}: {line[1][:200]!r} {what}.")


_Read: TypeAlias = tuple[list[tuple[str, ...]], list[float]]


def _similarity(lines: Sequence[_Line], label: str) -> _Read:
    items: list[tuple[str, ...]] = []
    scores: list[float] = []
    for place, line in enumerate(lines):
        columns = _columns(line[1])
        score = _number(columns[-1])
        if len(columns) == 3 and all(columns) and score is not None:
            items.append((columns[0], columns[1]))
            scores.append(score)
        elif place > 0 or not _is_header(columns):
            raise _wrong(label, line, "is not two words and a number")
    return items, scores


def _analogies(lines: Sequence[_Line], label: str) -> _Read:
    items: list[tuple[str, ...]] = []
    section = ""
    for line in lines:
        if line[1].startswith(":"):
            section = line[1][1:].strip()
            continue
        words = line[1].split()
        if len(words) != 4:
            raise _wrong(label, line, "is neither four words nor ': ' and the name of a section")
        items.append((*words, section))
    return items, []


def _categories(lines: Sequence[_Line], label: str) -> _Read:
    items: list[tuple[str, ...]] = []
    for line in lines:
        columns = _columns(line[1])
        if len(columns) != 2 or not all(columns):
            raise _wrong(label, line, "is not a word and a category")
        items.append((columns[0], columns[1]))
    return items, []


def _outliers(lines: Sequence[_Line], label: str) -> _Read:
    raise _wrong(label, lines[0], f"is not a header with {', '.join(_NAMED['outlier'])}")


def _named(lines: Sequence[_Line], kind: Kind, label: str) -> _Read:
    items: list[tuple[str, ...]] = []
    scores: list[float] = []
    header = _columns(lines[0][1])
    for line in lines[1:]:
        row = dict(zip(header, _columns(line[1]), strict=False))
        columns = [row.get(name, "") for name in _NAMED[kind]]
        if not all(columns) and len(row) == len(header):
            continue
        try:
            if kind == "outlier":
                outliers, words = map(ast.literal_eval, columns[:2])
                items += [(outlier, *words, columns[2]) for outlier in outliers if outlier]
                continue
            if kind == "similarity":
                scores.append(float(columns.pop()))
            items.append(tuple(columns))
        except (ValueError, SyntaxError, TypeError):
            raise _wrong(label, line, f"has no valid {', '.join(_NAMED[kind])}") from None
    # MEN marks the part of speech of every word.
    if kind == "similarity" and all(_MARKED.search(word) for item in items for word in item):
        items = [tuple(word[:-2] for word in item) for item in items]
    return items, scores


_READERS: dict[Kind, Callable[[Sequence[_Line], str], _Read]] = {
    "similarity": _similarity,
    "analogy": _analogies,
    "categorisation": _categories,
    "outlier": _outliers,
}
