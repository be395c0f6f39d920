"""Numbers that are parsed many at once are those that `float` reads, to the last bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wefe.models.formats._numbers import PAD, parse_rows

DIGITS = "0123456789"


@st.composite
def decimals(draw, max_digits=25):
    """Draw a decimal number of any shape, exponents and lone points included."""
    sign = draw(st.sampled_from(["", "", "-", "+"]))
    whole = draw(st.text(DIGITS, max_size=max_digits))
    point = draw(st.sampled_from([".", ".", ".", ""]))
    fraction = draw(st.text(DIGITS, max_size=max_digits - len(whole))) if point else ""
    exponent = draw(st.sampled_from(["", "", "", "e5", "E-7", "e+30", "e-300", "e400"]))
    return (sign + whole + point + fraction + exponent).encode()


def plain(max_digits=15):
    """Make the numbers that must be parsed at once: digits, a point, digits, at most 15."""

    def text(sign, whole, fraction):
        return f"{sign}{whole}.{fraction[: max_digits - len(whole)]}".encode()

    return st.builds(
        text,
        st.sampled_from(["", "-"]),
        st.text(DIGITS, min_size=1, max_size=8),
        st.text(DIGITS, max_size=max_digits),
    )


GARBAGE = st.sampled_from(
    [
        *(b"1:2", b"1.2.3", b"--1", b"--1.5", b"-", b".", b"-.", b"", b"+", b"1.-2", b"1-.2"),
        *("٣".encode(), "1.٣".encode(), b"1\x00", b"\x001.0", b"1.0\x00", b"\xff.5", b"5.\xff"),
        *(b"nan", b"inf", b"1_0.0", b"1.0_0", b"0x1.8", b"1,5", b"1.5f", b"/.0", b"0./", b":.:"),
        *(b"1.5-", b"1e", b"e5", b".e5", b"1.e5", b"1..2", b"1.\x1e", b"1\t.5", b"12345678:.5"),
    ]
)
FIXED = st.sampled_from(
    [
        *(b"-0.0", b"0.0", b"00.50", b".5", b"5.", b"-5.", b"-.5", b"0", b"007.250", b"-000.0"),
        *(b"0.1", b"999999999999999.", b"0.99999999999999", b"9.999999999999999", b"16777217.0"),
        # Between two numbers of float32, and where rounding twice differs from rounding once.
        *(b"1.00000005960464", b"1.00000017881393", b"0.333333333333333", b"3.40282e38"),
        *(b"0.000000000000001", b"123456789012345.6", b"0.00000000", b"12345678.12345678"),
    ]
)


def reference(number):
    """Return the float32 that a text stands for, None if it stands for none."""
    try:
        value = float(number)
    except ValueError:
        return None
    if b"_" in number or number != number.strip():
        return None
    with np.errstate(over="ignore"):
        return np.float32(value)


def check(lines, ends, dim):
    """Whatever is called regular is right; returns what was parsed."""
    text = PAD + b"".join(
        b"".join(b" " + number for number in line) + end
        for line, end in zip(lines, ends, strict=True)
    )
    parsed = parse_rows(text, len(lines), dim)
    if parsed is None:
        return None
    vectors, regular = parsed
    assert vectors.shape == (len(lines), dim)
    assert vectors.dtype == np.float32
    assert regular.shape == (len(lines),)
    for row, line in enumerate(lines):
        if regular[row]:
            assert len(line) == dim
            expected = [reference(number) for number in line]
            assert None not in expected, line
            np.testing.assert_array_equal(
                vectors[row].view(np.uint32), np.array(expected, np.float32).view(np.uint32), line
            )
    return parsed


@st.composite
def tables(draw, number):
    dim, n_rows = draw(st.integers(1, 9)), draw(st.integers(1, 20))
    row = st.lists(number, min_size=dim, max_size=dim)
    return dim, draw(st.lists(row, min_size=n_rows, max_size=n_rows))


ENDS = st.sampled_from([b"\n", b" \n", b"\r\n"])


@settings(max_examples=200, deadline=None)
@given(tables(st.one_of(plain(), plain(), FIXED, decimals(), GARBAGE)), ENDS)
def test_what_is_called_regular_is_right_to_the_last_bit(table, end):
    dim, lines = table
    check(lines, [end] * len(lines), dim)


@pytest.mark.parametrize("n_digits", range(1, 26))
@pytest.mark.parametrize("n_whole", [0, 1, 2, 8, 9])
def test_every_number_of_digits_is_right(n_digits, n_whole):
    digits = ("9876543219" * 3)[:n_digits]
    text = (digits[:n_whole] + "." + digits[n_whole:]).encode()
    lines = [[b"0.5", text], [b"-" + text, b"0.25"]]
    _, regular = check(lines, [b"\n"] * 2, 2)
    assert regular.all() == (n_digits <= 15 and 0 < min(n_whole, n_digits) <= 8)


@pytest.mark.parametrize("place", range(13))
def test_every_byte_in_every_place_is_a_digit_or_makes_a_line_irregular(place):
    lines = []
    for byte in sorted(set(range(33, 256)) - {ord(".")}):
        number = bytearray(b"12.3456789012")
        number[place] = byte
        lines.append([bytes(number)])
    _, regular = check(lines, [b"\n"] * len(lines), 1)
    expected = [line[0].replace(b".", b"").isdigit() and b"." in line[0] for line in lines]
    if place == 0:
        expected = [
            good or line[0].startswith(b"-") for good, line in zip(expected, lines, strict=True)
        ]
    assert regular.tolist() == expected


@pytest.mark.parametrize(
    ("text", "n_rows", "dim"),
    [
        (b" 1.0 2.0 3.0\n", 1, 2),
        (b" 1.0\n", 1, 2),
        (b" 1.0 2.0\n 1.0\n", 2, 2),
        (b" 1.0  2.0\n", 1, 2),
        (b"  1.0\n", 1, 1),
        (b" 1.0\t2.0\n", 1, 2),
        (b" 1.0 \r\n", 1, 1),
        (b" 1.0\t\n", 1, 1),
        (b" 1.0\x00\n", 1, 1),
        (b" 1.0\x1f\n", 1, 1),
        (b" 1.0\r2.0\n", 1, 2),
        (b" 1.0 2.0\n 1.0\r2.0\n", 2, 2),
        # As many blanks as expected altogether, in the wrong lines.
        (b" 1.0 2.0 3.0\n 1.0\n", 2, 2),
        (b" 1.0 2.0 \n 1.0\n", 2, 2),
    ],
)
def test_lines_with_other_blanks_are_left_to_the_caller(text, n_rows, dim):
    parsed = parse_rows(PAD + text, n_rows, dim)
    assert parsed is None or not parsed[1].any()
