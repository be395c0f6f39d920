"""Feed damaged files to `wefe.load`, guided by coverage, until something breaks.

    pip install atheris
    python scripts/fuzz_readers.py [folder for the corpus] [-max_total_time=600 -max_len=1048576]

What it finds is a crash, a hang, memory without bound, or an error without the name of the file.
The tests run the same check on random damage; see tests/models/test_fuzz.py.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["wefe"]):
    from wefe import load

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "models"))
from _corpus import corpus

FILE = Path(tempfile.mkdtemp()) / "any"


def test_one_input(content: bytes) -> None:
    """Open one input in both ways; anything but the errors a reader may raise is a find."""
    FILE.write_bytes(content)
    for words in (None, ["she"]):
        try:
            load(FILE, words=words, n_jobs=1, progress=False)
        except (ValueError, FileNotFoundError, ImportError) as error:
            if FILE.name not in str(error):
                raise AssertionError("the message does not name the file") from error


if __name__ == "__main__":
    folders = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    if not folders:
        folder = Path(tempfile.mkdtemp())
        for name, content in corpus().items():
            (folder / name).write_bytes(content)
        sys.argv.append(str(folder))
    atheris.Setup(sys.argv, test_one_input)
    atheris.Fuzz()
