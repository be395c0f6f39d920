"""No bytes crash a reader, let it take time or memory without bound, or make it give other vectors.

`scripts/fuzz_readers.py` checks millions of inputs; here are some of them, and what it has found.
"""

import gzip
import os
from random import Random

import numpy as np
import pytest
from fuzz_checks import CHANGING, READERS, check_files, check_seed, write
from fuzz_files import VECTORS, WORDS, good_files, make_files, safetensors, token_table
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from model_files import at_most

from wefe import load

# What a reader may say of a file: that it is damaged, unknown, or lacks something beside it.
ALLOWED = (ValueError, FileNotFoundError, ImportError)
N_SEEDS = 60
N_CUTS = 30


def check(path, content, **options):
    """Open bytes in both ways: a whole model comes of it, or an error with the file's name."""
    path.write_bytes(content)
    for words in (None, ["she", "New York"]):
        message = None
        try:
            model = load(path, words=words, progress=False, **options)
        except ALLOWED as error:
            message = str(error)
        if message is not None:
            assert path.name in message
        else:
            vectors = model.get_vectors(list(model.vocab))
            assert vectors.shape == (len(model), model.dim)


LIBRARIES = {
    "parquet": "pyarrow",
    "tokens": "tokenizers",
    "zst": "zstandard",
    "gensim": "gensim",
}
needs_posix = pytest.mark.skipif(os.name == "nt", reason="Windows replaces no open file")


@pytest.fixture(params=READERS)
def reader(request):
    if request.param in LIBRARIES:
        pytest.importorskip(LIBRARIES[request.param])
    return request.param


@needs_posix
def test_good_files_are_read_as_the_reference_reads_them(tmp_path, reader):
    for files in good_files(reader):
        verdict = check_files(reader, files, tmp_path)
        # The reference leaves out the token tables with weights.
        notes = [] if reader == "tokens" else verdict.notes
        assert (verdict.accepted, verdict.problems, notes) == (True, [], [])


@needs_posix
def test_a_file_that_is_cut_or_has_a_changed_bit_is_refused_or_read_whole(tmp_path, reader):
    random = Random(reader)
    for files in good_files(reader):
        for name, content in files.items():
            damaged = [content[: len(content) * part // N_CUTS] for part in range(N_CUTS)]
            for _ in range(N_CUTS):
                place, bit = random.randrange(len(content)), 1 << random.randrange(8)
                changed = bytes([content[place] ^ bit])
                damaged.append(content[:place] + changed + content[place + 1 :])
            for each in damaged:
                problems = check_files(reader, {**files, name: each}, tmp_path).problems
                assert (name, each, problems) == (name, each, [])


@needs_posix
def test_damaged_files_are_refused_or_read_as_the_reference_reads_them(tmp_path, reader):
    for seed in range(N_SEEDS):
        assert (seed, check_seed(reader, seed, tmp_path).problems) == (seed, [])


@needs_posix
@pytest.mark.parametrize("reader", CHANGING)
def test_a_file_that_changes_gives_the_old_vectors_or_an_error(tmp_path, reader):
    pytest.importorskip(LIBRARIES.get(reader, "numpy"))
    for seed in range(N_SEEDS):
        problems = check_seed(f"changing-{reader}", seed, tmp_path).problems
        assert (seed, problems) == (seed, [])


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.binary(max_size=2000) | st.text(max_size=500).map(str.encode))
def test_any_bytes_are_refused_or_read(tmp_path, content):
    check(tmp_path / "any", content)
    check(tmp_path / "any", content, on_error="skip")


MEGABYTE = 1 << 20
LONG = {
    "spaces": b" " * MEGABYTE,
    "digits": b"1" * MEGABYTE,
    "numbers on lines": b"1 1\n" * (MEGABYTE // 4),
    "words": b"a " * (MEGABYTE // 2),
    "one good line, then a long one": b"a 1 2\n" + b"b" * MEGABYTE,
    "points": b"a 1 2\n" + b". . .\n" * (MEGABYTE // 6),
    "header, then letters": b"9999 2\n" + b"a" * MEGABYTE,
    "header, then zeros": b"99999 2\n" + bytes(MEGABYTE),
    "header of one huge vector": b"1 250000\na " + bytes(MEGABYTE),
    "header that lies": b"999999999999 300\na \0\0\0\0" + bytes(MEGABYTE),
    "quotes": b'"a",1\n' + b'"' * MEGABYTE,
    "brackets": (8 * MEGABYTE // 10).to_bytes(8, "little") + b"{" + b"[" * MEGABYTE,
}


@pytest.mark.slow
@pytest.mark.parametrize("on_error", ["raise", "skip"])
@pytest.mark.parametrize("name", LONG)
def test_a_megabyte_of_the_same_takes_little_memory(tmp_path, name, on_error):
    with at_most(200e6):
        check(tmp_path / "long", LONG[name], on_error=on_error)


# ---- What the fuzzer has found -----------------------------------------------------------------


def test_a_numpy_header_that_promises_gigabytes_takes_no_memory(tmp_path):
    # numpy makes room for the bytes of a header before it reads them.
    path = tmp_path / "m.npy"
    path.write_bytes(b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + b"{'descr': '<f4', 'shape': (1, 2)}")
    with at_most(1e6), pytest.raises(ValueError, match=r"m\.npy"):
        load(path, vocabulary=["she"])


def test_words_that_come_twice_do_not_point_behind_the_vectors(tmp_path):
    # Six different words for six vectors, but ten words in all: the last had row 9.
    path = tmp_path / "m.safetensors"
    letters = np.frombuffer(b"she\nhe\nit\n\n\n\nme", np.uint8)
    path.write_bytes(safetensors({"embeddings": VECTORS[:5], "vocabulary": letters}))
    with pytest.raises(ValueError, match=r"m\.safetensors: the vocabulary has 5 different words"):
        load(path)


@pytest.mark.parametrize(
    ("part", "array"),
    [("mapping", np.ones(6)), ("mapping", np.ones((6, 1), int)), ("weights", np.ones(6, int))],
)
def test_a_token_table_with_parts_of_another_type_is_refused(tmp_path, part, array):
    # A mapping of floats was a TypeError without the name of the file.
    pytest.importorskip("tokenizers")
    path = write(tmp_path, token_table({"embeddings": VECTORS, part: array}))
    with pytest.raises(ValueError, match=rf"model\.safetensors: expected '{part}'"):
        load(path)


def test_two_words_with_the_number_of_one_token_are_none_of_its_words(tmp_path):
    # Which of the two was the word of the token changed from one loading to the next.
    pytest.importorskip("tokenizers")
    files = token_table({"embeddings": VECTORS})
    files["tokenizer.json"] = files["tokenizer.json"].replace(b'"job": 4', b'"job": 1')
    path = write(tmp_path, files)
    assert [*load(path).vocab] == ["he", "naïve", "us"]


@pytest.mark.parametrize("apart", [False, True])
def test_rows_of_gensim_that_belong_to_no_word_shift_no_others(tmp_path, apart):
    # Whatever went through all rows stopped before the last of the words.
    keyed_vectors = pytest.importorskip("gensim.models").KeyedVectors(3)
    keyed_vectors.add_vectors(WORDS, VECTORS)
    del keyed_vectors.key_to_index["he"]
    keyed_vectors.save(str(tmp_path / "m.kv"), sep_limit=0 if apart else 1 << 20)
    model = load(tmp_path / "m.kv")
    assert [*model.vocab] == [WORDS[0], *WORDS[2:]]
    assert np.array_equal(model.vectors, VECTORS[[0, 2, 3, 4, 5]])
    assert np.array_equal(model["u.s."], VECTORS[5])


@pytest.mark.parametrize("words", [None, ["she"]])
def test_a_word_that_is_skipped_may_come_again(tmp_path, words):
    # Reading only some words took the first vector of each, found it damaged and gave it up.
    path = tmp_path / "m.csv"
    path.write_text("word,a,b,c\nhe,1,2,3\nshe,1,2,inf\nshe,4,5,6\n")
    assert load(path, words=words, on_error="skip")["she"].tolist() == [4, 5, 6]


@needs_posix
def test_a_parquet_page_that_promises_a_gigabyte_takes_no_memory(tmp_path):
    # pyarrow's buffer grew to the size that the page says it has.
    pytest.importorskip("pyarrow")
    verdict = check_files("parquet", make_files("parquet", 680), tmp_path)
    assert (verdict.accepted, verdict.problems) == (False, [])


@pytest.mark.parametrize("content", [b"\r" * 5000, b" " * 5000 + b"\n", b"\x0b\x0c" * 2500])
def test_a_file_that_begins_with_blanks_is_in_no_known_format(tmp_path, content):
    # Its first line was looked for where there was none: an IndexError.
    path = tmp_path / "m.gz"
    path.write_bytes(gzip.compress(content))
    with pytest.raises(ValueError, match=r"m\.gz"):
        load(path)


@pytest.mark.parametrize("seed", [14183, 12341, 1002409])
def test_text_with_damaged_bytes_is_not_read_as_binary(tmp_path, seed):
    # Each was as long as its header promises in binary, and there all bytes made numbers.
    files = make_files("word2vec", seed)
    with pytest.raises(ValueError, match=r"fuzzed\.vec, line \d: expected a word and 3 numbers"):
        load(write(tmp_path, files))


def test_words_with_line_ends_do_not_make_a_binary_file_text(tmp_path):
    path = tmp_path / "m.bin"
    path.write_bytes(b"1 3\na\nb " + VECTORS[:1].tobytes())
    assert np.array_equal(load(path)["a\nb"], VECTORS[0])
