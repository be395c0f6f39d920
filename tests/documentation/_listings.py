"""Cut the listings out of the text of the documentation, ready to be run.

The text was extracted from a PDF. What that did to the code is undone here and nowhere else:

- `GENERAL`: damage that is everywhere, undone by rule;
- `REPAIRS`: damage to one line, undone line by line, each with its reason;
- `LOST`: listings the extraction dropped whole, written anew from what the prose says;
- `ERRORS`: the document's own mistakes, which no package could run.

Nothing else touches the code, so what the tests run is what the document says.
"""

from __future__ import annotations

import ast
import math
import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Damage that is everywhere -> how it is undone.
GENERAL = {
    "page breaks": "A listing goes on in the next block if nothing but the marks of a page break "
    "or a displaced bracket stands between the two.",
    "prompts": "'>>>', '...' and '. . .' are dropped. One that stands alone belongs to the line "
    "after it: the columns of prompts and of code were read one after the other.",
    "wrap marks": "A line that begins with an arrow is the rest of the line before it.",
    "lone brackets": "A '[' or ']' alone on its line was read as a Greek, Cyrillic or Arabic sign.",
    "indentation": "Rounded to a multiple of four; spaces were lost.",
    "escapes": "'\\_' outside a block is '_'.",
}

AS_IS = "s///"

_COMMA = "the comma at the end of the line was read as a full stop"
_NO_COMMA = "the comma at the end of the line was lost; the printed sets have these as two words"
_UNFENCED = "code that stands outside the blocks"
_BRACKET = "the closing bracket was carried behind a later line by the page break"
_QUOTES = "the quotes of a docstring were read as dots"
_DOT = "the dot of query.query_name was read as an underscore"
_LINK = "the name was a hyperlink, which the extraction dropped"
_UNDERSCORE = "the underscores were lost"
_BODY = "the page break took the common indentation off the rest of the method"
_PRINTED = "what the transformation prints, read into the block of the code"
_MARKUP = "markup of the extraction"
_RULE = "a line drawn in a comment, read as code"


@dataclass(frozen=True)
class Repair:
    """One line of the document and what it says.

    Attributes
    ----------
    line : int
        Its number.
    found : str
        What was extracted (or its beginning, up to '...'), to make sure that it is that line.
    put : str or None
        What the document says; ``s/old/new/`` to change a part of the line, `AS_IS` for code that
        only has to be told from prose, None to leave the line out.
    reason : str
        Why.
    """

    line: int
    found: str
    put: str | None
    reason: str


REPAIRS = (
    # 3 Bias measurement
    Repair(342, '"parents"', '"parents",', _NO_COMMA),
    Repair(345, '"cousins"', '"cousins",', _NO_COMMA),
    Repair(352, '"management"', '"management",', _NO_COMMA),
    Repair(353, '"professional".', '"professional",', _COMMA),
    Repair(373, r"gender\_query", AS_IS, _UNFENCED),
    Repair(539, "result", AS_IS, _UNFENCED),
    Repair(608, "warn_not_found_words=True,", r"s/True,/True,\n)/", _BRACKET),
    Repair(611, "result", AS_IS, _UNFENCED),
    Repair(689, "import ...", AS_IS, _UNFENCED),
    Repair(690, "from wefe.datasets ...", AS_IS, _UNFENCED),
    Repair(691, "from wefe.metrics ...", AS_IS, _UNFENCED),
    Repair(692, "from wefe.query ...", AS_IS, _UNFENCED),
    Repair(693, "from wefe.utils ...", AS_IS, _UNFENCED),
    Repair(694, "from wefe.word...", AS_IS, _UNFENCED),
    Repair(767, "queries_set_name=...", r's/",/",\n)/', _BRACKET),
    Repair(774, "WEAT...", AS_IS, _UNFENCED),
    Repair(816, "plot...", AS_IS, _UNFENCED),
    Repair(910, '["Math", "Arts"],', r"s/],/],\n)/", _BRACKET),
    Repair(923, "models.", "models,", _COMMA),
    Repair(995, "models.", "models,", _COMMA),
    Repair(1003, "RNSB.", "RNSB,", _COMMA),
    Repair(1032, "fig = ...", AS_IS, _UNFENCED),
    Repair(1033, "fig.show()", AS_IS, _UNFENCED),
    Repair(1055, "calculate...", AS_IS, _UNFENCED),
    # 4 Bias mitigation
    Repair(1165, "hd = ...", AS_IS, _UNFENCED),
    Repair(1193, "gender...", AS_IS, _UNFENCED),
    Repair(1209, "weat...", AS_IS, _UNFENCED),
    Repair(1210, "weat = WEAT()", AS_IS, _UNFENCED),
    Repair(1249, "gender_query_2, model...", r"s/}]/}]\n)/", _BRACKET),
    Repair(1268, ")</pre>", ")", _MARKUP),
    Repair(1320, "Copy argument is True....", None, _PRINTED),
    Repair(1321, "-This may fail...", None, _PRINTED),
    Repair(1322, "Model copy created...", None, _PRINTED),
    Repair(1421, "model=model.", "model=model,", _COMMA),
    # 6.3 Metrics
    Repair(2017, '"daughter"].', '"daughter"],', _COMMA),
    Repair(2547, "model.", "model,", _COMMA),
    Repair(3044, "<hr/>", None, "a wrap mark, read as markup"),
    Repair(3045, '→"].', '→"],', _COMMA),
    Repair(3054, '"Black biased words"', '"Black biased words",', "the comma was lost; three sets"),
    Repair(3151, "attribute sets=[", "attribute_sets=[", "the underscore was lost"),
    # 6.4 Debias
    Repair(3658, '"management"', '"management",', _NO_COMMA),
    Repair(3660, '"professional"', '"professional",', _NO_COMMA),
    Repair(3666, '"office".', '"office",', _COMMA),
    Repair(3670, '"career".', '"career",', _COMMA),
    Repair(3674, '"parents"', '"parents",', _NO_COMMA),
    Repair(3680, '"cousins"', '"cousins",', _NO_COMMA),
    Repair(
        3847,
        r"$\texttt{fit}(model...",
        "fit(model: WordEmbeddingModel, definitional_sets: List[List[str]], "
        "equalize_sets: List[List[str]])",
        "a signature that was read again and again in one line, each time shorter",
    ),
    Repair(4363, ">>> model = load test model()", ">>> model = load_test_model()", _UNDERSCORE),
    # 11 Previous studies replication
    Repair(
        5229,
        ">>> from wefe.word_embedding import",
        "s/import/import WordEmbeddingModel/",
        _LINK,
    ),
    Repair(
        5263,
        ">>> glove = (api.load(...",
        "s/(api/WordEmbeddingModel(api/",
        _LINK,
    ),
    Repair(
        5267,
        ">>> conceptnet = (api.load(...",
        "s/(api/WordEmbeddingModel(api/",
        _LINK,
    ),
    Repair(
        5295,
        ">>> # Show the results obtained with conceptnet >>> ...",
        r"s/ >>> /\n>>> /",
        "a whole listing that was flattened into one line outside the blocks",
    ),
    # 13.5 Ease of running bias mitigation algorithms
    Repair(5889, '"executive"', '"executive",', _NO_COMMA),
    Repair(5890, '"management"', '"management",', _NO_COMMA),
    Repair(5898, '"parents"', '"parents",', _NO_COMMA),
    Repair(5899, '"children".', '"children",', _COMMA),
    Repair(5901, '"cousins"', '"cousins",', _NO_COMMA),
    Repair(5907, '"relatives",', r's/",/",\n]/', _BRACKET),
    Repair(5923, "from wefe.debias.hard debias...", None, "the next line, read twice"),
    Repair(5940, "model.", "model,", _COMMA),
    # 15.4 How to implement your own metric
    Repair(6316, "model=model.", "model=model,", _COMMA),
    Repair(
        6455, "# check ...", r's/# check/    """\n# check/', "the end of the docstring was lost"
    ),
    Repair(6471, "'query_name': query_query_name...", "s/query_query_name/query.query_name/", _DOT),
    Repair(6484, ".....", '"""', _QUOTES + "; from here to the end the body is a string"),
    Repair(6503, ".....", '        """', _QUOTES),
    Repair(6548, ".. .. ..", '"""', _QUOTES),
    Repair(6649, ".....", '    """', _QUOTES),
    Repair(6654, "model=model.", "model=model,", _COMMA),
    Repair(6655, "query=query.", "query=query,", _COMMA),
    Repair(6666, "'query_name': query_query_name...", "s/query_query_name/query.query_name/", _DOT),
    Repair(6681, "return ...", "s/query_query_name/query.query_name/", _DOT),
    # 15.5 Mitigation method implementation guide
    Repair(
        6775,
        "self._check_sets...",
        's/   self/    """\n    self/',
        "the end of the docstring was lost",
    ),
    Repair(6781, "(continues on next page)", None, "the mark of a page break, in the block"),
    Repair(6793, "_____", None, _RULE),
    Repair(6803, ". . .", "...", "the three dots, an expression, were spaced out"),
    Repair(6831, "(continued from previous page)", None, "the mark of a page break, in a block"),
    Repair(6863, "......", '"""', _QUOTES),
    Repair(6913, ".....", '"""', _QUOTES),
    Repair(6915, "_____", None, _RULE),
)

# First and last line -> spaces to put back, and why.
INDENTS = {
    (6552, 6594): (4, _BODY),
    (6650, 6681): (8, _BODY),
    (6733, 6738): (4, _BODY),
    (6785, 6804): (4, _BODY),
    (6886, 6936): (4, _BODY),
    (6937, 6940): (8, _BODY),
    (6941, 6945): (4, _BODY),
}

# Line after which a listing was -> what the prose around it says it does, and the reason.
LOST = {
    780: (
        "from wefe.utils import plot_queries_results\n"
        "plot_queries_results(WEAT_gender_results).show()",
        "only its figure was extracted; this import of the name is nowhere else",
    ),
    1057: ("plot_ranking_correlations(correlations).show()", "only its figure was extracted"),
    1553: (
        ">>> from gensim.models import KeyedVectors\n"
        ">>> vectors = KeyedVectors.load_word2vec_format('path/to/embeddings.bin', binary=True)\n"
        ">>> weat.run_query(query, WordEmbeddingModel(vectors, 'word2vec'))",
        "the prose names the function and the format",
    ),
    2231: (
        ">>> RND().run_query(query, model, normalize=True)",
        "the prose names the parameter and its value",
    ),
    2233: (
        ">>> RND().run_query(query, model, normalize=True, distance='cos')",
        "the prose names the parameter and its value",
    ),
    3022: (
        ">>> import gensim.downloader as api",
        "imported by the listings of 6.3.3; here each section is run by itself",
    ),
    1811: (
        ">>> from wefe.query import Query",
        "the heading of the section names the class and its module; the listing begins after it",
    ),
    5877: (
        "from wefe.datasets import load_weat\n"
        "from wefe.query import Query\n"
        "weat_wordset = load_weat()\n"
        "query = Query(\n"
        "    [weat_wordset['female_terms'], weat_wordset['male_terms']],\n"
        "    [weat_wordset['family'], weat_wordset['career']],\n"
        "    ['Female terms', 'Male terms'],\n"
        "    ['Family terms', 'Career terms'],\n"
        ")",
        "made in 13.4, of the same words; here each section is run by itself",
    ),
    6692: (
        "weapons = weat['weapons']\n"
        "pleasant = weat['pleasant_5']\n"
        "query = Query([flowers, weapons], [pleasant], ['Flowers', 'Weapons'], ['Pleasant'])\n"
        "ExampleMetric().run_query(query, model)",
        "cut off by the page break; 15.4.2 makes the same query and the output names it",
    ),
}

# The document's own mistakes: line -> what is left out or changed, and why.
ERRORS = {
    1583: (
        None,
        "overwrites the model with a result, so that the next line passes a result as the model",
    ),
}

# Lines of a method's body, which the guide explains before it shows the method; and those of
# methods without the class around them.
METHOD_BODY = (*range(6258, 6294), *range(6722, 6946))

# How much of the number of iterations printed in the document is run: line -> number and reason.
SHORTENED = {
    2784: ("n_iterations=5,", "500 classifiers on 6,789 words take minutes; 5 take the same path"),
}


# Number of the first heading of a section, that of the heading after it, and whether its listings
# have prompts.
SECTIONS = {
    "2": ("2.1", "3.1", True),
    "3": ("3.1", "4.1", False),
    "4": ("4.1", "5.1", False),
    "5": ("5.1", "6.1", True),
    "6.1": ("6.1", "6.2", True),
    "6.2": ("6.2", "6.3", True),
    "6.3.1": ("6.3.1", "6.3.2", True),
    "6.3.2": ("6.3.2", "6.3.3", True),
    "6.3.3": ("6.3.3", "6.3.4", True),
    "6.3.4": ("6.3.4", "6.3.5", True),
    "6.3.5": ("6.3.5", "6.3.6", True),
    "6.3.6": ("6.3.6", "6.4", True),
    "6.4.1": ("6.4.1", "6.4.2", True),
    "6.4.2": ("6.4.2", "6.4.3", True),
    "6.4.3": ("6.4.3", "6.4.4", True),
    "6.4.4": ("6.4.4", "6.4.5", True),
    "6.4.5": ("6.4.5", "6.5", True),
    "6.5": ("6.5", "6.6", True),
    "6.6": ("6.6", "6.7", True),
    "6.7": ("6.7", "7.1", True),
    "7": ("7.1", "8.1", True),
    "8": ("8.1", "9.1", True),
    "11": ("11.1", "13.1", True),
    "13.5": ("13.5", "13.5.2", False),
    "15.4": ("15.4", "15.5", False),
    "15.5": ("15.5", "SIXTEEN", False),
}

# Methods of which signatures are printed without their class.
METHODS = ("run_query", "__init__", "fit", "transform", "get_target_words")

_PROMPT = re.compile(r"^\s*(>>>|\.\.\.|\. \. \.)(\s|(?=[)\]])|$)")
_WRAP = re.compile(r"^\s*(\{\\scriptstyle )?_?(\{\\)?(→|\\(hook|left)?rightarrow)\}*\s*")
_SPACED_DOTS = re.compile(r"^\s*\. \. \.\s*$")
_BETWEEN_BLOCKS = re.compile(r"^(\(continue[sd] .* page\)|[)\]}]+,?)$")
_LONE = {"Ε": "[", "Γ": "[", "Г": "[", "٦": "]"}
_PRINTED_STARTS = (
    *("{", "<", "[", "'", "WARNING", "100%"),
    *("Debiased vs", "ethnicity_definitional_sets:"),
)


@dataclass
class Cell:
    """A statement with a prompt, or a block without prompts, and what the document prints."""

    code: str
    line: int
    printed: str = ""
    is_body: bool = False


@dataclass(frozen=True)
class _Line:
    number: int
    text: str
    kind: str  # 'code' (in a block, or repaired into code), 'edge' of a block, 'prose'


class Guide:
    """The document.

    Parameters
    ----------
    text : str
        What was extracted.
    """

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._repairs = {repair.line: repair for repair in REPAIRS}
        #: The lines of the tables that were used so far.
        self.used: set[int] = set()

    @classmethod
    def read(cls, path: Path) -> Guide:
        """Read the document."""
        return cls(path.read_text(encoding="utf-8"))

    def cells(self, first: str, after: str, *, prompts: bool) -> list[Cell]:
        """Return what the listings between two headings run, in order."""
        lines = list(self._section(first, after))
        return _with_prompts(lines) if prompts else _without_prompts(lines)

    def raw(self, first: str, after: str) -> str:
        """Return the text between two headings, repaired."""
        lines = range(self._find(first), self._find(after))
        repaired = (self._repair(index + 1, self._lines[index]) for index in lines)
        return "\n".join(line for line in repaired if line is not None)

    def _find(self, heading: str) -> int:
        pattern = re.compile(rf"#+ \**{re.escape(heading)}(?![.\d])")
        return next(i for i, line in enumerate(self._lines) if pattern.match(line))

    def _section(self, first: str, after: str) -> Iterator[_Line]:
        inside = False
        for index in range(self._find(first), self._find(after)):
            number, text = index + 1, self._lines[index]
            if text.startswith("```"):
                inside = not inside
                yield _Line(number, "", "edge")
                continue
            repaired = self._repair(number, text)
            if repaired is None or (not inside and _BETWEEN_BLOCKS.match(text.strip())):
                continue
            is_code = inside or number in self._repairs
            for part in repaired.split("\n"):
                if is_code or part.strip():
                    yield _Line(number, part, "code" if is_code else "prose")
            if number in LOST:
                self.used.add(number)
                for part in LOST[number][0].split("\n"):
                    yield _Line(number, part, "code")

    def _repair(self, number: int, text: str) -> str | None:
        """Return what the document says on a line; None to leave it out."""
        stripped = text.strip()
        if stripped in _LONE:
            return text.replace(stripped, _LONE[stripped])
        for (first, last), (spaces, _) in INDENTS.items():
            if first <= number <= last:
                self.used.add(first)
                text = " " * spaces + text
        repair = self._repairs.get(number)
        if repair is not None:
            self.used.add(number)
            self._check(repair, stripped)
            if repair.put is None:
                return None
            if repair.put.startswith("s/"):
                _, old, new, _ = repair.put.split("/")
                text = text.replace(r"\_", "_")
                return text.replace(old, new.replace(r"\n", "\n")) if old else text
            return text[: len(text) - len(text.lstrip())] + repair.put
        for table in (ERRORS, SHORTENED):
            if number in table:
                self.used.add(number)
                put = table[number][0]
                return None if put is None else text.replace(stripped, put)
        return text

    @staticmethod
    def _check(repair: Repair, stripped: str) -> None:
        exact = not repair.found.endswith("...")
        wanted = repair.found.removesuffix("...").rstrip()
        if not (stripped == wanted if exact else stripped.startswith(wanted)):
            raise ValueError(f"line {repair.line} reads {stripped!r}, not {repair.found!r}.")


def _with_prompts(lines: Iterable[_Line]) -> list[Cell]:
    cells: list[Cell] = []
    statement: list[str] = []
    start = 0
    belongs = False  # a prompt stood alone: the next line is its code
    printing = False
    for line in lines:
        if line.kind == "edge":
            continue
        if line.kind == "prose":
            printing = belongs = False
            continue
        prompt = _PROMPT.match(line.text)
        text = line.text[prompt.end() :] if prompt else line.text
        is_open = bool(statement) and not _is_complete(statement)
        if prompt and not text.strip():
            belongs = prompt[1] == ">>>"
            continue
        starts = (prompt and prompt[1] == ">>>") or belongs
        belongs = False
        if is_open:
            statement.append(text)
        elif starts:
            statement, start = [text], line.number
            printing = False
        elif printing and not prompt:
            cells[-1].printed += line.text + "\n"
            continue
        else:
            continue
        if _is_complete(statement):
            code = _join(statement)
            if ast.parse(code).body:
                cells.append(Cell(code, start))
                printing = True
            statement = []
    if statement:
        raise ValueError(f"the listing from line {start} on never ends: {_join(statement)!r}")
    return cells


def _without_prompts(lines: Iterable[_Line]) -> list[Cell]:
    cells: list[Cell] = []
    for number, texts, goes_on in _blocks(lines):
        if goes_on and cells and texts[0].lstrip().startswith(_PRINTED_STARTS):
            cells[-1].printed += "\n".join(texts) + "\n"
        elif texts[0].lstrip().startswith(_PRINTED_STARTS):
            continue  # shown by the prose, printed by no listing
        elif goes_on and not cells[-1].printed:
            cells[-1].code += "\n" + "\n".join(texts)
        else:
            cells.append(Cell("\n".join(texts), number, is_body=number in METHOD_BODY))
    for cell in cells:
        cell.code = _join(cell.code.split("\n"))
        ast.parse(cell.code)
    return cells


def _blocks(lines: Iterable[_Line]) -> Iterator[tuple[int, list[str], bool]]:
    """Yield first line, lines, and whether only a page break parts a block from the one before."""
    number, texts, goes_on = 0, [], False
    for line in [*lines, _Line(0, "", "edge")]:
        if line.kind == "code":
            if not texts:
                number = line.number
            if line.text.strip():
                texts.append(line.text)
            continue
        if texts:
            yield number, texts, goes_on
            texts, goes_on = [], True
        if line.kind == "prose":
            goes_on = False


def _join(texts: list[str]) -> str:
    """Return the code of some lines: wrapped lines joined, indentation in steps of four."""
    joined: list[str] = []
    for text in texts:
        wrap = _WRAP.match(text)
        if wrap and joined:
            joined[-1] = re.sub(r"_$", " ", joined[-1].rstrip()) + text[wrap.end() :]
        else:
            indent = len(text) - len(text.lstrip())
            joined.append(" " * (4 * round(indent / 4)) + text.lstrip())
    return textwrap.dedent("\n".join(joined)) if len(joined) > 1 else joined[0].strip()


def _is_complete(texts: list[str]) -> bool:
    try:
        ast.parse(_join(texts))
    except SyntaxError:
        return False
    return True


def parse_printed(printed: str) -> Any:
    """Return the value that a printed dictionary or list stands for; None if there is none.

    Text before the first bracket is left out, and so are closing brackets that the page break
    took away: they are put back at the end.
    """
    lines = [line for line in printed.split("\n") if line.strip()]
    opening = re.compile(r"\s*(\{\s*(['\"]|$)|\[+['\"])")
    start = next((i for i, line in enumerate(lines) if opening.match(line)), None)
    if start is None:
        return None
    text = _join([line.lstrip() for line in lines[start:]])
    text = re.sub(r"_\s*\n", " \n", text)
    text = re.sub(r"(\d\.\d+)\.\s*\n", r"\1,\n", text)  # a comma read as a full stop
    text = re.sub(r":\.\s*\n?\s*(?=[-\d])", ": ", text)  # a wrap mark read as a full stop
    text = re.sub(r"\}\.?\s*\n\s*\"", '},\n"', text)  # a comma lost or read as a full stop
    text = re.sub(r":\s*nan\b", ": None", text)
    return _with_nan(ast.literal_eval(_closed(text.replace("\n", " "))))


def _with_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_nan(part) for key, part in value.items()}
    return math.nan if value is None else value


def _closed(text: str) -> str:
    """Cut a text after its first bracketed value, or close what was left open."""
    pairs = {"{": "}", "[": "]", "(": ")"}
    open_brackets: list[str] = []
    quote = ""
    for position, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter in pairs:
            open_brackets.append(pairs[letter])
        elif open_brackets and letter == open_brackets[-1]:
            open_brackets.pop()
            if not open_brackets:
                return text[: position + 1]
    return text + "".join(reversed(open_brackets))


def signatures(text: str) -> Iterator[tuple[str, list[tuple[str, str | None]]]]:
    """Yield the signatures printed in a section: name, then parameters and defaults as text."""
    flat = re.sub(r"\s+", " ", re.sub(r"```|[\\*~$]", "", text))
    flat = re.sub(r"\b_+init_+", "__init__", flat)
    for match in re.finditer(rf"\b(wefe(?:\.\w+)+|{'|'.join(METHODS)}) ?\( ?", flat):
        inside = _balanced(flat, match.end())
        if not re.match(r"\w+: ", inside):
            continue  # a call, or a table of contents with abbreviated signatures
        parameters = []
        for part in _split(inside):
            name, _, rest = part.partition(":")
            default = rest.rpartition(" =")[2].strip() if " =" in rest else None
            if name.strip() not in ("args", "kwargs"):
                parameters.append((name.strip(), default))
        yield match[1], parameters


def _balanced(text: str, start: int) -> str:
    depth = 1
    for position in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        if depth == 0:
            return text[start:position]
    raise ValueError(f"unbalanced signature: {text[start : start + 60]!r}")


def _split(text: str) -> list[str]:
    parts, depth, part = [], 0, ""
    for letter in text:
        depth += (letter in "([{<") - (letter in ")]}>")
        if letter == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += letter
    return [*parts, part]
