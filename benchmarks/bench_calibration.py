"""Calibration: how often intervals hold the truth, and how often tests find what is not there.

    OMP_NUM_THREADS=1 python benchmarks/bench_calibration.py

Word lists are drawn at random from generated populations, of which the truth is known: two groups
whose words come in pairs, and two kinds of neutral words, 5,000 words each in 50 dimensions. One
population has normal biases, the other one heavy tails and lengths that vary more.

The first two tables print how many of the 95 % intervals hold the score of the whole population,
and how many hold the expected score of lists of that size: the mean over 2,000 draws. Scores of few
words are biased for some metrics, so that the two differ. WEAT is a sum: that of the population is
scaled to the size of the lists. RNSB, EQT and GIPE of all words would be scores of another kind: a
classifier that learns more, analogies and edges between more words. The last table prints how many
two-sided p-values are at most 0.05 and 0.01 where there is no bias: the words of what the test
exchanges are dealt out at random. SEAT gets a stand-in for an encoder, which makes sentences of the
words of the same population.
"""

from __future__ import annotations

import logging
import re
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from _table import parser, report

from wefe import Query, WordEmbeddingModel
from wefe.contextual import Context
from wefe.metrics import (
    ECT,
    EQT,
    GIPE,
    MAC,
    RIPA,
    RND,
    RNSB,
    SAME,
    SCWEAT,
    SEAT,
    WEAT,
    BaseMetric,
    DirectBias,
    GeneralizedWEAT,
    NeighborPercentage,
    ProximityBias,
)
from wefe.silhouette import bootstrap_interval

DIM, N_POPULATION, SIZES, N_EXPECTED = 50, 5_000, (8, 25), 2_000
MANY, FEW, QUICK = 1_000, 200, 5
# Names of words begin with the letter of their kind: two groups, two kinds of neutral words.
BOTH, FIRST, ALL, ONE = "ab", "a", "cd", "c"


class Case(NamedTuple):
    """A metric, the kinds of words of its target and attribute sets, and how often it is asked."""

    name: str
    metric: BaseMetric
    targets: str = BOTH
    attributes: str = ALL
    n_simulations: int = MANY
    #: Beside those with which scores of other words can be compared, such as unit vectors.
    params: Mapping[str, Any] = {}
    #: Whether a score of all words is a score of the same kind as one of a list.
    has_population: bool = True

    def score(self, query: Query, model: WordEmbeddingModel, **more: Any) -> dict[str, Any]:
        """Return the result of a query."""
        params = {**self.metric.subset_params, **self.params, **more}
        return self.metric.run_query(query, model, **params)


INTERVALS = (
    Case("WEAT", WEAT(), params={"return_effect_size": False}),
    Case("WEAT-ES", WEAT()),
    Case("RND", RND(), BOTH, ONE),
    Case("MAC", MAC()),
    Case("ECT", ECT(), BOTH, ONE),
    Case("SAME", SAME(), BOTH, ONE),
    Case("Direct Bias", DirectBias(), BOTH, ONE, FEW),
    Case("RIPA", RIPA(), BOTH, ONE),
    Case("GWEAT", GeneralizedWEAT()),
    Case("SC-WEAT", SCWEAT(), FIRST),
    Case("RNSB, no hold-out", RNSB(), has_population=False),
    Case("SEAT", SEAT(), n_simulations=FEW),
    Case("EQT", EQT(), BOTH, ONE, FEW, has_population=False),
    Case("GIPE", GIPE(), BOTH, ONE, FEW, has_population=False),
)
# A p-value of each word of SC-WEAT comes with that of the score: counted, they take 2 s.
FEWER: dict[str, Any] = {"p_value_method": "approximate", "p_value_iterations": 999}
TESTS = (
    Case("WEAT, exact", WEAT(p_value_method="exact")),
    Case("WEAT, saddlepoint", WEAT(p_value_method="saddlepoint")),
    Case("RND", RND(), BOTH, ONE),
    Case("ECT", ECT(), BOTH, ONE),
    Case("SAME", SAME(), BOTH, ONE),
    Case("GWEAT", GeneralizedWEAT()),
    Case("RIPA", RIPA(), BOTH, ONE),
    Case("SC-WEAT", SCWEAT(**FEWER), FIRST),
    Case("RNSB, no hold-out", RNSB()),
    Case("SEAT, exact", SEAT(p_value_method="exact"), n_simulations=FEW),
    Case("SEAT, sentences", SEAT(permute="sentences", **FEWER), n_simulations=FEW),
    Case("EQT", EQT(), BOTH, ONE, FEW),
    Case("Proximity Bias", ProximityBias(p_value_iterations=199), BOTH, ONE, FEW),
    Case("PMN", NeighborPercentage(p_value_iterations=199), BOTH, ONE, FEW),
    Case("GIPE", GIPE(p_value_iterations=199), BOTH, ONE, FEW),
)


def population(*, heavy: bool) -> WordEmbeddingModel:
    """Make words whose biases are normal, or have a Student's t distribution of 4 degrees."""
    rng = np.random.default_rng(int(heavy))
    axes = np.linalg.qr(rng.normal(size=(DIM, DIM)))[0]
    gender, people, things, topic, common = axes[:5]

    def noise(size: float) -> np.ndarray:
        return size * rng.normal(size=(N_POPULATION, DIM)) / np.sqrt(DIM)

    def lean(mean: float, spread: float) -> np.ndarray:
        shape = N_POPULATION, 1
        standard = rng.standard_t(4, size=shape) / 2**0.5 if heavy else rng.normal(size=shape)
        return mean + spread * standard

    shared, group_spread, neutral_spread = noise(0.75), *((0.25, 0.25) if heavy else (0.18, 0.12))
    kinds = [
        0.4 * common + shared + 0.5 * people + lean(mean, group_spread) * gender + noise(0.55)
        for mean in (0.35, -0.35)
    ] + [
        0.4 * (common + things)
        + side * topic
        + lean(0.1, 0.3) * people
        + lean(mean, neutral_spread) * gender
        + noise(0.8)
        for side, mean in ((0.3, 0.12), (-0.3, -0.04))
    ]
    lengths = [
        np.exp((0.35 if heavy else 0.15) * rng.normal(size=(N_POPULATION, 1))) for _ in kinds
    ]
    vectors = np.concatenate([part * length for part, length in zip(kinds, lengths, strict=True)])
    return WordEmbeddingModel((words_of(BOTH + ALL), vectors.astype(np.float32)), "population")


class StandIn(WordEmbeddingModel):
    """Encoder of which a sentence is its word, its template and noise, all equally long."""

    def can_encode(self, contexts: Sequence[Context]) -> np.ndarray:
        """Every sentence can be encoded."""
        return np.ones(len(contexts), dtype=bool)

    def encode_contexts(self, contexts: Sequence[Context]) -> np.ndarray:
        """Return one vector per sentence."""
        return np.stack([self._encode(context.text) for context in contexts])

    def _encode(self, text: str) -> np.ndarray:
        (word,) = re.findall(rf"[{BOTH + ALL}]\d+", text)
        template, noise = (
            np.random.default_rng(zlib.crc32(each.encode())).normal(size=DIM)
            for each in (text.replace(word, ""), text)
        )
        return sum(each / np.linalg.norm(each) for each in (self[word], template, noise))


def words_of(kinds: str, numbers: np.ndarray | range = range(N_POPULATION)) -> list[str]:
    return [f"{kind}{number}" for kind in kinds for number in numbers]


def drawn(case: Case, n: int, rng: np.random.Generator) -> Query:
    """Draw a query of n words per set; those of pairs together."""

    def numbers() -> np.ndarray:
        return rng.choice(N_POPULATION, n, replace=False)

    of_pairs = numbers() if case.metric.pairs_targets else None
    targets = [words_of(kind, numbers() if of_pairs is None else of_pairs) for kind in case.targets]
    return Query(targets, [words_of(kind, numbers()) for kind in case.attributes])


def without_bias(case: Case, n: int, rng: np.random.Generator) -> Query:
    """Draw a query whose words are dealt out at random where the test exchanges them."""
    query = drawn(case, n, rng)
    targets, attributes = query.target_sets, query.attribute_sets
    if case.metric.null_exchange == "pairs":
        pairs = [rng.permutation(pair).tolist() for pair in zip(*targets, strict=True)]
        return Query([list(side) for side in zip(*pairs, strict=True)], attributes)
    dealt = rng.choice(words_of(BOTH), 2 * n, replace=False).tolist()
    if case.metric.null_exchange == "targets":
        return Query([dealt[:n], dealt[n:]], attributes)
    dealt = rng.choice(words_of(ALL), 2 * n, replace=False).tolist()
    return Query(targets, [dealt[:n], dealt[n:]])


def coverage(case: Case, model: WordEmbeddingModel, n: int, n_times: int) -> list[str]:
    """Return how many intervals hold either truth."""
    rng = np.random.default_rng([1, n])
    n_draws = min(N_EXPECTED, 20 * n_times)
    draws = [case.score(drawn(case, n, rng), model)["result"] for _ in range(n_draws)]
    expected = np.mean(draws)
    whole = float("nan")
    if case.has_population:
        sets = ([words_of(kind) for kind in kinds] for kinds in (case.targets, case.attributes))
        whole = case.score(Query(*sets), model)["result"]
        whole *= n / N_POPULATION if case.name == "WEAT" else 1
    truths, held = np.array([[whole], [expected]]), np.zeros((2, 2))
    for seed in range(n_times):
        query = drawn(case, n, rng)
        found = bootstrap_interval(
            case.metric, query, model, random_state=seed, metric_params=case.params, progress=False
        )
        percentile = np.nanquantile(found.samples, [0.025, 0.975])
        lower, upper = np.transpose([percentile, (found.lower, found.upper)])
        held += (lower <= truths) & (truths <= upper)
    shares = [f"{share:.1%}" for share in (held / n_times).ravel()]
    of_population = [f"{whole:.3f}", *shares[:2]] if case.has_population else ["-"] * 3
    return [*of_population, f"{expected:.3f}", *shares[2:]]


def errors(case: Case, model: WordEmbeddingModel, n: int, n_times: int) -> list[str]:
    """Return how many tests are significant where there is no bias."""
    rng, p_values = np.random.default_rng([2, n]), []
    asked: dict[str, Any] = {"calculate_p_value": True, "p_value_test_type": "two-sided"}
    for seed in range(n_times):
        query = without_bias(case, n, rng)
        p_values.append(case.score(query, model, random_state=seed, **asked)["p_value"])
    return [f"{np.mean(np.array(p_values) <= level):.1%}" for level in (0.05, 0.01)]


def table(
    title: str,
    heads: tuple[str, ...],
    cases: tuple[Case, ...],
    run: Callable[[Case, WordEmbeddingModel, int, int], list[str]],
    model: WordEmbeddingModel,
    quick: bool,
) -> None:
    heads = ("metric", "words per set", "simulations", *heads)
    print(f"\n{title}\n\n| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    start = time.perf_counter()
    for case in cases:
        asked = StandIn(model.table, "encoder") if case.metric.encodes_texts else model
        for n in SIZES:
            n_times = QUICK if quick else case.n_simulations
            cells = [case.name, str(n), f"{n_times:,}", *run(case, asked, n, n_times)]
            print(f"| {' | '.join(cells)} |", flush=True)
    report(f"calibration: {title}", time.perf_counter() - start)


def main() -> None:
    quick = parser(__doc__).parse_args().quick
    # What single results warn of is no news in thousands of them.
    logging.getLogger("wefe").setLevel(logging.ERROR)
    truths = ("population", "percentile", "expanded", "expected", "percentile", "expanded")
    models = {name: population(heavy=name == "heavy tails") for name in ("normal", "heavy tails")}
    for name, model in models.items():
        title = f"share of 95 % intervals that hold the truth, {name}"
        table(title, truths, INTERVALS, coverage, model, quick)
    levels = ("p <= 0.05", "p <= 0.01")
    title = "share of two-sided p-values without bias"
    table(title, levels, TESTS, errors, models["normal"], quick)


if __name__ == "__main__":
    main()
