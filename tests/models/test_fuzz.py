"""No bytes crash a reader, let it take time or memory without bound, or make it give other vectors.

`scripts/fuzz_readers.py` checks millions of inputs; here are some of them, and what it has found.
"""

import os

import numpy as np
import pytest
from fuzz_checks import CHANGING, READERS, check_files, check_seed
from fuzz_files import VECTORS, good_files, safetensors
from model_files import at_most

from wefe import load
from wefe.models import _tables
from wefe.models.formats import _frames, _text, _word2vec

N_SEEDS = 100
N_CUTS = 30
LIBRARIES = {"parquet": "pyarrow", "tokens": "tokenizers", "zst": "zstandard", "gensim": "gensim"}
pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows replaces no open file")


@pytest.fixture(params=READERS)
def reader(request):
    pytest.importorskip(LIBRARIES.get(request.param, "numpy"))
    return request.param


@pytest.mark.parametrize("size", [None, 2, 33])
def test_good_files_are_read_as_the_reference_reads_them(tmp_path, monkeypatch, reader, size):
    sizes = [(_text, "_PARSE_BYTES"), (_word2vec, "READ_BYTES")]
    sizes += [(_frames, "CHUNK_ROWS"), (_tables, "CHUNK_ROWS"), (_word2vec, "_BATCH_NGRAMS")]
    for module, name in sizes if size else ():
        monkeypatch.setattr(module, name, size)
    for files in good_files(reader):
        verdict = check_files(reader, files, tmp_path)
        # The reference leaves out the token tables with weights.
        notes = [] if reader == "tokens" else verdict.notes
        assert (verdict.accepted, verdict.problems, notes) == (True, [], [])


def test_a_file_that_is_cut_is_refused_or_read_whole(tmp_path, reader):
    for files in good_files(reader):
        for name, content in files.items():
            for part in range(N_CUTS):
                cut = content[: len(content) * part // N_CUTS]
                problems = check_files(reader, {**files, name: cut}, tmp_path).problems
                assert (name, part, problems) == (name, part, [])


@pytest.mark.parametrize("kind", [*READERS, *(f"changing-{reader}" for reader in CHANGING)])
def test_damaged_and_changing_files_are_refused_or_read_as_the_reference_reads_them(tmp_path, kind):
    pytest.importorskip(LIBRARIES.get(kind.removeprefix("changing-"), "numpy"))
    for seed in range(N_SEEDS):
        assert (seed, check_seed(kind, seed, tmp_path).problems) == (seed, [])


# ---- What the fuzzer has found -----------------------------------------------------------------


def test_a_numpy_header_that_promises_gigabytes_takes_no_memory(write):
    # numpy makes room for the bytes of a header before it reads them.
    header = b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + b"{'descr': '<f4', 'shape': (1, 2)}"
    path = write(header, "m.npy")
    with at_most(1e6), pytest.raises(ValueError, match=r"m\.npy"):
        load(path, vocabulary=["she"])


def test_words_that_come_twice_do_not_point_behind_the_vectors(write):
    # Six different words for six vectors, but ten words in all: the last had row 9.
    letters = np.frombuffer(b"she\nhe\nit\n\n\n\nme", np.uint8)
    path = write(safetensors(embeddings=VECTORS[:5], vocabulary=letters), "m.safetensors")
    with pytest.raises(ValueError, match=r"m\.safetensors: the vocabulary has 5 different words"):
        load(path)


@pytest.mark.parametrize("words", [None, ["she"]])
def test_a_word_that_is_skipped_may_come_again(write, words):
    # Reading only some words took the first vector of each, found it damaged and gave it up.
    path = write(b"word,a,b,c\nhe,1,2,3\nshe,1,2,inf\nshe,4,5,6\n")
    assert load(path, words=words, on_error="skip")["she"].tolist() == [4, 5, 6]


def test_a_parquet_page_that_promises_a_gigabyte_takes_no_memory(tmp_path):
    # pyarrow's buffer grew to the size that the page says it has.
    pytest.importorskip("pyarrow")
    content = good_files("parquet")[1]["fuzzed.parquet"]
    verdict = check_files("parquet", {"m.parquet": content[:56] + content[58:]}, tmp_path)
    assert (verdict.accepted, verdict.problems) == (False, [])


def test_text_with_damaged_bytes_is_not_read_as_binary(write):
    # It was as long as its header promises in binary, and there all bytes made numbers.
    lines = b"6 3\nshe 0.12573022 -0.13210486\nNew York 1.30\x00\x00\xc0\x7f94708097 -0.70373523\n"
    lines += b". -2.3250208 -0.21879166 -1.245911\nu.s. -0.7322674 5\n"
    with pytest.raises(ValueError, match=r"vectors\.any, line \d: expected a word and 3 numbers"):
        load(write(lines))
