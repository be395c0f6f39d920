"""Numbers that are parsed many at once are those that `float` reads, to the last bit."""

import numpy as np
import pytest

from wefe.models.formats._numbers import PAD, parse_rows, text_lines

# Between two numbers of float32, and where rounding twice differs from rounding once.
FIXED = (
    b"1.00000005960464 1.00000017881393 0.333333333333333 3.40282e38 16777217.0 -0.0 00.50 .5 5. "
    b"999999999999999. 9.999999999999999 0.000000000000001 123456789012345.6 12345678.12345678"
)
GARBAGE = (
    b"1:2 1.2.3 --1 --1.5 - . -. + 1.-2 1-.2 \xd9\xa3 1.\xd9\xa3 1\x00 \x001.0 1.0\x00 \xff.5 "
    b"nan inf 1_0.0 1.0_0 0x1.8 1,5 1.5f /.0 0./ :.: 1.5- 1e e5 .e5 1..2 12345678:.5"
)


def reference(number):
    """Return the float32 that a text stands for, None if it stands for none."""
    try:
        with np.errstate(over="ignore"):
            return None if b"_" in number else np.float32(float(number))
    except ValueError:
        return None


def check(lines):
    """Whatever is called regular is right; returns which lines are."""
    dim = len(lines[0])
    text = b"".join(b"".join(b" " + number for number in line) + b"\n" for line in lines)
    parsed = parse_rows(PAD + text, len(lines), dim)
    if parsed is None:
        return np.zeros(len(lines), bool)
    vectors, regular = parsed
    assert (vectors.shape, vectors.dtype, regular.shape) == ((len(lines), dim), "f4", (len(lines),))
    for row in np.flatnonzero(regular):
        expected = [reference(number) for number in lines[row]]
        assert None not in expected, lines[row]
        assert vectors[row].tobytes() == np.array(expected, np.float32).tobytes(), lines[row]
    return regular


def test_what_is_called_regular_is_right_to_the_last_bit():
    numbers = np.random.default_rng(0).normal(size=(500, 4)) * 10.0 ** np.arange(-2, 6, 2)
    assert check(
        [[b"%.*f" % (row % 8 + 1, n) for n in line] for row, line in enumerate(numbers)]
    ).all()
    for number in [*FIXED.split(), *GARBAGE.split(b" ")]:
        for place in range(3):
            line = [b"0.5", b"-12.25", b"7.125"]
            line[place] = number
            check([line, [b"1.5"] * 3])


@pytest.mark.parametrize("n_whole", [0, 1, 2, 8, 9])
def test_every_number_of_digits_is_right(n_whole):
    for n_digits in range(1, 26):
        digits = ("9876543219" * 3)[:n_digits]
        text = (digits[:n_whole] + "." + digits[n_whole:]).encode()
        regular = check([[b"0.5", text], [b"-" + text, b"0.25"]])
        assert regular.all() == (n_digits <= 15 and 0 < min(n_whole, n_digits) <= 8)


@pytest.mark.parametrize("place", range(13))
def test_every_byte_in_every_place_is_a_digit_or_makes_a_line_irregular(place):
    lines = []
    for byte in sorted(set(range(33, 256)) - {ord(".")}):
        number = bytearray(b"12.3456789012")
        number[place] = byte
        lines.append([bytes(number)])
    signed = b"-" if place == 0 else b""
    expected = [
        b"." in number and number.removeprefix(signed).replace(b".", b"").isdigit()
        for (number,) in lines
    ]
    assert check(lines).tolist() == expected


# Writing


def check_digits(numbers):
    """The text of float32 numbers is the shortest that numpy finds."""
    (line,) = text_lines(["she"], np.asarray(numbers, np.float32).reshape(1, -1))
    assert line.decode().split()[1:] == [str(np.float32(number)) for number in numbers]


def test_digits_are_the_fewest_at_powers_of_two_and_ten_beside_them_and_anywhere():
    powers = np.array([*2.0 ** np.arange(-149, 128), *10.0 ** np.arange(-45, 39)], np.float32)
    largest = np.finfo(np.float32).max
    any_bits = np.random.default_rng(0).integers(0x7F800000, size=5000).astype(np.uint32)
    beside = np.nextafter(powers, np.float32(0)), -np.nextafter(powers, largest)
    for numbers in (powers, *beside, any_bits.view(np.float32)):
        # Very large and very small ones together, and the others, are written in different ways.
        check_digits(numbers)
        check_digits(numbers[np.abs(numbers) < 1e11])
        check_digits(numbers[(np.abs(numbers) < 10) & (np.abs(numbers) > 1e-4)])
