"""Cut the listings out of the text of the documentation, ready to be run.

The text was extracted from a PDF, which damaged the code. The tables undo that, line by line; rules
undo what is everywhere:

- A listing goes on in the next block if nothing but the mark of a page break is between them.
- '>>>', '...' and '. . .' are dropped. One that stands alone belongs to the line after it.
- A line that begins with an arrow is the rest of the line before it.
- A '[' or ']' alone on its line was read as a Greek, Cyrillic or Arabic sign.
- Indentation is rounded to a multiple of four.

Nothing else touches the code, so what the tests run is what the document says.
"""

import ast
import contextlib
import math
import re
import textwrap
from dataclasses import dataclass
from typing import NamedTuple

# The headings between which the sections stand.
_HEADINGS = re.split(
    " ",
    "2.1 3.1 4.1 5.1 6.1 6.2 6.3.1 6.3.2 6.3.3 6.3.4 6.3.5 6.3.6 6.4.1 6.4.2 6.4.3 6.4.4 6.4.5 6.5 "
    "6.6 6.7 7.1 11.1 13.1 13.5 13.5.2 15.4 15.5 SIXTEEN",
)


def _lines(text):
    return set(map(int, text.split()))


# Code that stands outside the blocks.
_UNFENCED = _lines(
    "373 539 611 689 690 691 692 693 694 774 816 1032 1033 1055 1165 1193 1209 1210 5295 6503"
)
# The comma at the end was lost or read as a full stop.
_COMMAS = _lines(
    "342 345 352 353 923 995 1003 1421 2017 2547 3045 3054 3658 3660 3666 3670 3674 3680 5889 5890 "
    "5898 5899 5901 5940 6316 6654 6655"
)
# The quotes of a docstring were read as dots.
_QUOTES = _lines("6484 6503 6548 6649 6863 6913")
# Printed texts, lines of comments, marks of page breaks, and lines that were read twice; and (1583)
# a mistake of the document: it overwrites the model with a result, and passes that as a model.
_LEFT_OUT = _lines("1320 1321 1322 1583 3044 5923 6781 6793 6831 6915")
# The closing bracket was carried behind a later line by the page break.
_BRACKETS = {608: ")", 767: ")", 910: ")", 1249: ")", 5907: "]"}
# What else was misread: line -> what was extracted, what the document says.
_CHANGES = {
    1268: ("</pre>", ""),
    2784: ("500", "5"),  # 500 classifiers on 6,789 words take minutes; 5 take the same path
    3151: ("attribute sets", "attribute_sets"),
    # A signature that was read again and again in one line, each time shorter.
    3847: (r"^.*?fit}(\(.*?\)).*", r"fit\1"),
    4363: ("load test model", "load_test_model"),
    # The name was a hyperlink.
    5229: ("import", "import WordEmbeddingModel"),
    **dict.fromkeys((5263, 5267), (r"\(api", "WordEmbeddingModel(api")),
    5295: (" >>> ", "\n>>> "),  # a listing in one line
    # The end of a docstring was lost.
    6455: ("# check", '    """\n# check'),
    6775: (r"\s+self", '    """\n    self'),
    **dict.fromkeys((6471, 6666, 6681), ("query_query_name", "query.query_name")),
    6803: (r"\. \. \.", "..."),
}
# The page break took the common indentation off the rest of a method: lines and spaces.
_INDENTS = {
    range(6552, 6595): 4,
    range(6650, 6682): 8,
    range(6733, 6739): 4,
    range(6785, 6805): 4,
    range(6886, 6937): 4,
    range(6937, 6941): 8,
    range(6941, 6946): 4,
}
# Listings that were not extracted, written from what the prose says: the line before -> the code.
_LOST = {
    # Only its figure is there; this import of the name is nowhere else.
    780: "from wefe.utils import plot_queries_results\n"
    "plot_queries_results(WEAT_gender_results).show()",
    1057: "plot_ranking_correlations(correlations).show()",
    # The prose names functions, parameters and their values.
    1553: ">>> from gensim.models import KeyedVectors\n"
    ">>> vectors = KeyedVectors.load_word2vec_format('path/to/embeddings.bin', binary=True)\n"
    ">>> weat.run_query(query, WordEmbeddingModel(vectors, 'word2vec'))",
    1811: ">>> from wefe.query import Query",
    2231: ">>> RND().run_query(query, model, normalize=True)",
    2233: ">>> RND().run_query(query, model, normalize=True, distance='cos')",
    # Stands in an earlier section; here each is run by itself.
    3022: ">>> import gensim.downloader as api",
    5877: "from wefe.datasets import load_weat\n"
    "from wefe.query import Query\n"
    "weat_wordset = load_weat()\n"
    "query = Query(\n"
    "    [weat_wordset['female_terms'], weat_wordset['male_terms']],\n"
    "    [weat_wordset['family'], weat_wordset['career']],\n"
    "    ['Female terms', 'Male terms'],\n"
    "    ['Family terms', 'Career terms'],\n"
    ")",
    # Cut off by the page break; 15.4.2 makes the same query, and the output names it.
    6692: "query = Query([flowers, weat['weapons']], [weat['pleasant_5']],\n"
    "    ['Flowers', 'Weapons'], ['Pleasant'])\n"
    "ExampleMetric().run_query(query, model)",
}
# Bodies of methods, which the guide explains before it shows the method, and methods without class.
_BODIES = (*range(6258, 6294), *range(6722, 6946))

_PROMPT = re.compile(r"^\s*(>>>|\.\.\.|\. \. \.)(\s|(?=[)\]])|$)")
_WRAP = re.compile(r"^\s*(\{\\scriptstyle )?_?(\{\\)?(→|\\(hook|left)?rightarrow)\}*\s*")
_BETWEEN_BLOCKS = re.compile(r"^(\(continue[sd] .* page\)|[)\]}]+,?)$")
_LONE = {"Ε": "[", "Γ": "[", "Г": "[", "٦": "]"}
_PRINTED = re.compile(r"\s*([{<\['-]|WARNING|100%|Debiased vs|ethnicity_definitional_sets:)")


@dataclass
class Cell:
    """A statement with a prompt, or a block without prompts, and what the document prints."""

    code: str
    line: int
    printed: str = ""

    @property
    def is_body(self):
        return self.line in _BODIES


class _Line(NamedTuple):
    number: int
    text: str
    kind: str  # 'code' (in a block, or repaired into code), 'edge' of a block, 'prose'


class Guide:
    """The document: its listings (`cells`) and its repaired text by section."""

    def __init__(self, text):
        self._lines = text.split("\n")

    def cells(self, section):
        lines = list(self._section(section))
        has_prompts = any(line.kind == "code" and ">>>" in line.text for line in lines)
        return _with_prompts(lines) if has_prompts else _without_prompts(lines)

    def raw(self, section):
        repaired = (_repair(number, text) for number, text in self._between(section))
        return "\n".join(line for line in repaired if line is not None)

    def _between(self, section):
        # A chapter begins at its first section.
        first = _HEADINGS.index(section if "." in section else f"{section}.1")
        start, end = (
            next(
                i for i, line in enumerate(self._lines) if re.match(rf"#+ \**{name}\b(?!\.)", line)
            )
            for name in map(re.escape, _HEADINGS[first : first + 2])
        )
        return enumerate(self._lines[start:end], start + 1)

    def _section(self, section):
        inside = False
        for number, text in self._between(section):
            if text.startswith("```"):
                inside = not inside
                yield _Line(number, "", "edge")
                continue
            repaired = _repair(number, text)
            if repaired is None or (not inside and _BETWEEN_BLOCKS.match(text.strip())):
                continue
            is_code = inside or number in _UNFENCED
            for part in repaired.split("\n"):
                if is_code or part.strip():
                    yield _Line(number, part, "code" if is_code else "prose")
            for part in _LOST.get(number, "").split("\n"):
                if part:
                    yield _Line(number, part, "code")


def _repair(number, text):
    """Return what the document says on a line; None to leave it out."""
    stripped = text.strip()
    if number in _LEFT_OUT:
        return None
    if stripped in _LONE:
        return text.replace(stripped, _LONE[stripped])
    if number in _QUOTES:
        return '"""'
    text = "".join(" " * n for lines, n in _INDENTS.items() if number in lines) + text
    if number in _UNFENCED:
        text = text.replace(r"\_", "_")
    if number in _COMMAS:
        text = text.rstrip().removesuffix(".") + ","
    if number in _CHANGES:
        text = re.sub(*_CHANGES[number], text)
    return text + ("\n" + _BRACKETS[number] if number in _BRACKETS else "")


def _with_prompts(lines):
    cells, statement, start = [], [], 0
    belongs = False  # a prompt stood alone: the next line is its code
    printing = False
    for line in lines:
        if line.kind != "code":
            if line.kind == "prose":
                printing = belongs = False
            continue
        prompt = _PROMPT.match(line.text)
        text = line.text[prompt.end() :] if prompt else line.text
        if prompt and not text.strip():
            belongs = prompt[1] == ">>>"
            continue
        starts = (prompt and prompt[1] == ">>>") or belongs
        belongs = False
        if statement:
            statement.append(text)
        elif starts:
            statement, start, printing = [text], line.number, False
        else:
            if printing and not prompt:
                cells[-1].printed += line.text + "\n"
            continue
        with contextlib.suppress(SyntaxError):  # until the statement is complete
            if ast.parse(_join(statement)).body:
                cells.append(Cell(_join(statement), start))
                printing = True
            statement = []
    assert not statement, f"the listing from line {start} on never ends: {_join(statement)!r}"
    return cells


def _without_prompts(lines):
    cells = []
    for number, texts, goes_on in _blocks(lines):
        if _PRINTED.match(texts[0]):
            # What is not below a listing is shown by the prose.
            if goes_on and cells:
                cells[-1].printed += "\n".join(texts) + "\n"
        elif goes_on and not cells[-1].printed:
            cells[-1].code += "\n" + "\n".join(texts)
        else:
            cells.append(Cell("\n".join(texts), number))
    for cell in cells:
        cell.code = _join(cell.code.split("\n"))
    return cells


def _blocks(lines):
    """Yield first line, lines, and whether only a page break parts a block from the one before."""
    number, texts, goes_on = 0, [], False
    for line in [*lines, _Line(0, "", "edge")]:
        if line.kind == "code":
            number = number if texts else line.number
            texts += [line.text] * bool(line.text.strip())
            continue
        if texts:
            yield number, texts, goes_on
            texts, goes_on = [], True
        if line.kind == "prose":
            goes_on = False


def _join(texts):
    """Return the code of some lines: wrapped lines joined, indentation in steps of four."""
    joined = []
    for text in texts:
        wrap = _WRAP.match(text)
        if wrap and joined:
            joined[-1] = re.sub(r"_$", " ", joined[-1].rstrip()) + text[wrap.end() :]
        else:
            indent = len(text) - len(text.lstrip())
            joined.append(" " * (4 * round(indent / 4)) + text.lstrip())
    return textwrap.dedent("\n".join(joined)) if len(joined) > 1 else joined[0].strip()


def parse_printed(printed):
    """Return the value that a printed dictionary or list stands for; None if there is none.

    Text before the first bracket is left out. Closing brackets that the page break took away are
    put back at the end.
    """
    lines = [line for line in printed.split("\n") if line.strip()]
    opening = re.compile(r"\s*\{\s*(['\"]|$)")
    start = next((i for i, line in enumerate(lines) if opening.match(line)), None)
    if start is None:
        return None
    text = _join([line.lstrip() for line in lines[start:]])
    text = re.sub(r"_\s*\n", " \n", text)
    text = re.sub(r"(\d\.\d+)\.\s*\n", r"\1,\n", text)  # a comma read as a full stop
    text = re.sub(r":\.\s*\n?\s*(?=[-\d])", ": ", text)  # a wrap mark read as a full stop
    text = re.sub(r"\}\.?\s*\n\s*\"", '},\n"', text)  # a comma lost or read as a full stop
    text = re.sub(r":\s*nan\b", ": None", text).replace("\n", " ")
    ends = [match.end() for match in re.finditer(r"[]}]", text)]
    for part in (*(text[:end] for end in ends), *(text + tail for tail in ("}", "}}"))):
        with contextlib.suppress(SyntaxError):
            return _with_nan(ast.literal_eval(part))
    raise ValueError(f"no value: {text}")


def _with_nan(value):
    if isinstance(value, dict):
        return {key: _with_nan(part) for key, part in value.items()}
    return math.nan if value is None else value
