"""The parser of the documentation on damaged texts of our own; the document is not needed."""

import math

import pytest

TEXT = r"""
# 1.1 With prompts

Some prose.

```
>>> # a comment
>>> total = sum(
        [1,
. . .
         2],
. . .
...)
>>> more = [
... 4,
...]
>>>
other = 3
>>> print(total,
>>>       other)
3 3
```

(continues on next page)

}

(continued from previous page)

```
>>> {'a': [
         Γ
```

```
             1.5,
. . .
         ],
. . .
    ]}
{'a': [
```

]

```
[1.5]]}
```

# 1.2 Without prompts

```
def double(x):
   return [x,
x]
```

```
double(
```

Prose does not end a listing, a page break does.

# 1.3 Broken without prompts

```
values = [1,
```

(continues on next page)

)

(continued from previous page)

```
2,
3]
values
```

```
[1,

→2, 3]
```

# 1.4 After
"""


@pytest.fixture
def guide(listings):
    return listings.Guide(TEXT, repaired=False)


def test_statements_with_prompts_are_put_together_again(guide):
    cells = guide.cells("1.1", "1.2", prompts=True)
    names = {}
    for cell in cells[:3]:
        exec(cell.code, names)
    assert (names["total"], names["more"], names["other"]) == (3, [4], 3)
    assert cells[3].code.startswith("print(total,")
    assert cells[3].printed == "3 3\n"


def test_blocks_split_by_a_page_break_are_joined(guide, listings):
    last = guide.cells("1.1", "1.2", prompts=True)[-1]
    assert eval(last.code) == {"a": [[1.5]]}
    block = guide.cells("1.3", "1.4", prompts=False)[0]
    names = {}
    exec(block.code, names)
    assert names["values"] == [1, 2, 3]
    assert block.printed.startswith("[1,")


def test_indentation_is_rounded(listings):
    assert listings._join(["def f():", "   if 1:", "       return 2"]) == (
        "def f():\n    if 1:\n        return 2"
    )


def test_code_that_does_not_parse_is_an_error(guide):
    with pytest.raises(SyntaxError):
        guide.cells("1.2", "1.3", prompts=False)


def test_listing_that_never_ends_is_an_error(listings):
    text = "# 1.1 A\n```\n>>> f(\n```\n# 1.2 B\n"
    with pytest.raises(ValueError, match="never ends"):
        listings.Guide(text, repaired=False).cells("1.1", "1.2", prompts=True)


def test_repair_of_another_line_than_the_table_says_is_an_error(listings):
    repair = listings.Repair(1, "models.", "models,", "")
    with pytest.raises(ValueError, match="line 1"):
        listings.Guide._check(repair, "model.")


@pytest.mark.parametrize(
    ("printed", "value"),
    [
        ("Report\n  a   b\n{'a': 1.5.\n 'b': 0.\n\\rightarrow 25", {"a": 1.5, "b": 0.25}),
        ("{'a': {'b': 1}\n\"c\": {'d': 2},\n", {"a": {"b": 1}, "c": {"d": 2}}),
        ("['x', 'y\n→ ', 'z']\n", ["x", "y", "z"]),
        ("WARNING: no value\n", None),
    ],
)
def test_printed_values_are_read(listings, printed, value):
    read = listings.parse_printed(printed)
    if isinstance(read, list):
        read = [word.strip() for word in read]
    assert read == value


def test_printed_nan_is_read(listings):
    assert math.isnan(listings.parse_printed("{'a': 1, 'p': nan}")["p"])


def test_signatures_are_read(listings):
    text = r"wefe.a.**f\_g**(*x*: *Dict[str, int]*, y: str = 'a', *z: bool* = *True*, \*args: Any)"
    assert list(listings.signatures(text)) == [
        ("wefe.a.f_g", [("x", None), ("y", "'a'"), ("z", "True")])
    ]


def test_signatures_of_methods_are_read_but_not_calls_of_them(listings):
    text = r"""
    $\__init\__(x: Dict[str, Any] = \{'n': 10\}, y: str = 'a') \rightarrow None$
    **fit**(*model*: Model, *pairs*:  $Optional[List[str]] = None, **fit_params) \rightarrow A$
    hd.fit(model, pairs)
    """
    assert list(listings.signatures(text)) == [
        ("__init__", [("x", "{'n': 10}"), ("y", "'a'")]),
        ("fit", [("model", None), ("pairs", "None"), ("fit_params", None)]),
    ]
