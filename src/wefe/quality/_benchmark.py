"""Benchmarks of word vectors, and the files that contain them."""

from __future__ import annotations

import ast
import contextlib
import csv
import dataclasses
import importlib.util
import json
import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from wefe._checks import check_choice, check_text, found, nearest
from wefe._files import read_text
from wefe.datasets._download import FILES, fetch_file
from wefe.words import Preprocessors, variants

Kind: TypeAlias = Literal["similarity", "analogy", "categorisation", "outlier"]
Mask: TypeAlias = npt.NDArray[np.bool_]
_Items: TypeAlias = list[tuple[str, ...]]

# Minimum and maximum number of strings per item. The last is a label, except for similarity.
_LENGTHS = {
    "similarity": (2, 2),
    "analogy": (5, 5),
    "categorisation": (2, 2),
    "outlier": (4, math.inf),
}
# Columns of files with a header; files without one have the first of them.
_COLUMNS: dict[Kind, tuple[str, ...]] = {
    "similarity": ("word1", "word2", "similarity"),
    "analogy": ("word1", "word2", "word3", "target", "type"),
    "categorisation": ("word", "category"),
    "outlier": ("outliers", "words", "category"),
}
# Number of columns without a header -> kind, and what a line should be.
_WITHOUT_HEADER: dict[int, tuple[Kind, str]] = {
    2: ("categorisation", "a word and a category"),
    3: ("similarity", "two words and a number"),
    4: ("analogy", "four words, or ': ' and the name of a section"),
}
#: Words are looked up as written, then in lower case.
LOOKUP: Preprocessors = ({}, {"lowercase": True})
_MARKED = re.compile("-[njv]$")

# Name -> kind, n_items, about, and a file that gensim's tests contain or that is downloaded.
_KNOWN: dict[str, dict[str, Any]] = json.loads(
    resources.files("wefe.quality").joinpath("benchmarks.json").read_text("ascii")
)
for _row in _KNOWN.values():
    _file = _row["file"]
    _where = FILES[_file].url if _file in FILES else f"{_file} of gensim's test data"
    _row["source"] = f"{_row['about']} ({_where})"


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
        check_text("name", self.name)
        check_choice("kind", self.kind, tuple(_LENGTHS))
        items, scores = tuple(map(tuple, self.items)), tuple(map(float, self.scores))
        if not items:
            raise ValueError("items is empty; pass at least one item.")
        for place, item in enumerate(items):
            self._check_item(place, item)
        wanted = len(items) if self.kind == "similarity" else 0
        if len(scores) != wanted or not all(map(math.isfinite, scores)):
            raise ValueError(
                f"scores must be {wanted} finite numbers for {len(items)} items of kind "
                f"{self.kind!r}; got {found(self.scores)}."
            )
        # The dataclass is frozen.
        vars(self).update(items=items, scores=scores)

    def _check_item(self, place: int, item: tuple[Any, ...]) -> None:
        least, most = _LENGTHS[self.kind]
        if not least <= len(item) <= most or not all(isinstance(part, str) for part in item):
            raise ValueError(
                f"items of kind {self.kind!r} must have {least}"
                f"{' or more' if most > least else ''} strings; item {place} is {found(item)}."
            )

    @property
    def n_items(self) -> int:
        """Number of pairs, questions, words in categories, or outliers."""
        return len(self.items)

    @property
    def words(self) -> frozenset[str]:
        """The words of all items, as in the file."""
        return frozenset(self._in_order())

    def _words_of(self, item: tuple[str, ...]) -> tuple[str, ...]:
        return item if self.kind == "similarity" else item[:-1]

    def _answerable(self, vocab: set[str], vocab_prefix: str | None) -> Mask:
        """Tell for each item whether a vocabulary has a form of all its words."""
        known = {word for word in self._in_order() if vocab & {*forms_of(word, vocab_prefix)}}
        return np.array([known.issuperset(self._words_of(item)) for item in self.items])

    def _part(self, places: Sequence[int]) -> Benchmark:
        scores = tuple(self.scores[i] for i in places if self.scores)
        return dataclasses.replace(self, items=tuple(self.items[i] for i in places), scores=scores)

    def _in_order(self) -> dict[str, None]:
        return dict.fromkeys(word for item in self.items for word in self._words_of(item))

    def __repr__(self) -> str:
        return f"<Benchmark {self.name!r}: {self.kind}, {self.n_items:,} items>"


def forms_of(word: str, vocab_prefix: str | None) -> list[str]:
    """Return the forms of a word in look-up order."""
    return variants(word, LOOKUP, vocab_prefix)


def list_benchmarks() -> list[dict[str, Any]]:
    """List the benchmarks that :func:`load_benchmark` knows by name.

    Returns
    -------
    list of dict
        'name', 'kind', 'n_items' and 'source'.

    Examples
    --------
    >>> [each["name"] for each in list_benchmarks() if each["kind"] == "analogy"]
    ['google-analogies', 'msr-analogies', 'semeval2012']
    """
    shown = "kind", "n_items", "source"
    return [{"name": name, **{key: row[key] for key in shown}} for name, row in _KNOWN.items()]


def load_benchmark(source: str | os.PathLike[str]) -> Benchmark:
    r"""Read a benchmark by name, or from a file.

    Parameters
    ----------
    source : str or path
        A name of :func:`list_benchmarks`, such as 'wordsim353' [1]_, 'simlex999' [2]_ or
        'google-analogies' [3]_ (these come with gensim, others are downloaded once), or a text file
        in UTF-8. Empty lines, and lines that start with '#' or have an empty word, are ignored. The
        kind is that of the first line:

        - similarity: two words and a number per line. A first line of three words is a header.
        - analogy: four words per line; ``: name`` starts a section.
        - categorisation: a word and its category per line, without a header.
        - any kind: comma-separated values with the header 'word1,word2,similarity',
          'word1,word2,word3,target,type', 'word,category' or 'category,words,outliers'.

        Columns are separated by tabs, otherwise commas, otherwise spaces; those of analogies
        without a header by tabs or spaces. Between tabs or commas they may be in double quotes.

    Returns
    -------
    Benchmark
        The items in the order of the file. Its name is that of a file without its suffix.

    Raises
    ------
    ImportError, ConnectionError, FileNotFoundError, ValueError
        If gensim is needed and not installed, the download fails, the file does not exist, or it
        has no items or an invalid line.

    References
    ----------
    .. [1] Finkelstein et al. Placing Search in Context. ACM TOIS 20, 2002.
    .. [2] Hill, Reichart and Korhonen. SimLex-999. Computational Linguistics 41, 2015.
    .. [3] Mikolov et al. Efficient Estimation of Word Representations in Vector Space. 2013.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "animals.tsv").write_text("cat\tmammal\ndog\tmammal\nowl\tbird\n")
    ...     load_benchmark(Path(folder, "animals.tsv"))
    <Benchmark 'animals': categorisation, 3 items>
    """
    path, name, where = _find(source)
    kind, items = _parsed(path)
    if not items:
        raise ValueError(f"{path.name} contains no items of kind {kind!r}.")
    scores = tuple(float(item[-1]) for item in items if kind == "similarity")
    items = [item[:2] for item in items] if kind == "similarity" else items
    return Benchmark(name, kind, tuple(items), scores, where)


def as_benchmark(benchmark: Any) -> Benchmark:
    return benchmark if isinstance(benchmark, Benchmark) else load_benchmark(benchmark)


def _find(source: object) -> tuple[Path, str, str]:
    """Return the file of a name or path, its name, and where it comes from."""
    if not isinstance(source, str | os.PathLike):
        raise TypeError(f"a benchmark must be a Benchmark, a name or a path; got {found(source)}.")
    if isinstance(source, str) and source in _KNOWN:
        return _path_of(source), source, _KNOWN[source]["source"]
    path = Path(source)
    if path.is_file():
        return path, path.stem, str(path)
    names = ", ".join(map(repr, _KNOWN))
    raise FileNotFoundError(
        f"there is no file {str(path)!r}; known names are {names}.{nearest(path, _KNOWN)}"
    )


def _path_of(name: str) -> Path:
    file = _KNOWN[name]["file"]
    if file in FILES:
        return fetch_file(file)
    # Importing gensim takes a second.
    gensim = importlib.util.find_spec("gensim")
    for folder in getattr(gensim, "submodule_search_locations", None) or ():
        path = Path(folder, "test", "test_data", file)
        if path.is_file():
            return path
    raise ImportError(f'{name!r} is {file} of the test data of gensim: pip install "wefe[gensim]"')


def _columns(line: str) -> list[str]:
    separator = next((mark for mark in "\t," if mark in line), None)
    parts = line.split(separator)
    if separator is not None and '"' in line:
        with contextlib.suppress(csv.Error):  # the quotes belong to a word
            (parts,) = csv.reader([line], delimiter=separator, skipinitialspace=True, strict=True)
    return [part.strip() for part in parts]


def _parsed(path: Path) -> tuple[Kind, _Items]:
    """Return the kind of a file and its items; the items of similarity end with the score."""
    lines = [(at, line.strip()) for at, line in enumerate(read_text(path).split("\n"), start=1)]
    lines = [(at, line) for at, line in lines if line and not line.startswith("#")]
    if not lines:
        raise ValueError(f"{path.name} contains no items: every line is empty or starts with '#'.")
    kind, header, has_header, expected = _by_first_line(path, *lines[0])
    items: _Items = []
    section = ""
    for at, line in lines[1 if has_header else 0 :]:
        if kind == "analogy" and line.startswith(":"):
            section = line[1:].strip()
            continue
        # Words of analogies without a header may contain commas.
        columns = line.split() if kind == "analogy" and not has_header else _columns(line)
        try:
            row = {"type": section} | dict(zip(header, columns, strict=True))
            items += _items_of([row[name] for name in _COLUMNS[kind]], kind)
        except (ValueError, SyntaxError, TypeError):
            raise _wrong(path, at, line, f"is not {expected}") from None
    # MEN marks the part of speech of every word.
    if kind == "similarity" and all(_MARKED.search(word) for item in items for word in item[:2]):
        items = [(one[:-2], other[:-2], score) for one, other, score in items]
    return kind, items


def _by_first_line(path: Path, at: int, line: str) -> tuple[Kind, Sequence[str], bool, str]:
    """Return the kind and columns, whether this line is a header, and what lines should be."""
    columns = _columns(line)
    for kind, names in _COLUMNS.items():
        if {*names} <= {*columns}:
            return kind, columns, True, f"a line with {', '.join(names)}"
    n_columns = 4 if line.startswith(":") else len(columns)
    # Not pairs with two numbers.
    if n_columns not in _WITHOUT_HEADER or (n_columns == 4 and any(map(_is_number, columns))):
        raise _wrong(path, at, line, "does not show the kind of benchmark; write a header")
    kind, expected = _WITHOUT_HEADER[n_columns]
    has_header = kind == "similarity" and _is_heading(columns[-1])
    return kind, _COLUMNS[kind][:4], has_header, expected


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _is_heading(text: str) -> bool:
    """Tell a heading from a malformed number such as '6,77'."""
    return text[:1].isalpha() and text.lower() not in ("nan", "inf", "infinity")


def _items_of(columns: list[str], kind: Kind) -> _Items:
    # The last of three or more columns is no word, but a score, a section or a group.
    if not all(columns[: max(2, len(columns) - 1)]):
        return []
    if kind == "outlier":
        outliers, words = map(ast.literal_eval, columns[:2])
        return [(outlier, *words, columns[2]) for outlier in outliers if outlier]
    if kind == "similarity" and not _is_number(columns[-1]):
        raise ValueError
    return [tuple(columns)]


def _wrong(path: Path, at: int, line: str, what: str) -> ValueError:
    return ValueError(f"{path.name}, line {at}: {line[:200]!r} {what}.")
