"""Audit of a query: the individual biases behind a score, and warnings to read with it."""

from __future__ import annotations

import contextlib
import copy
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from wefe._checks import check_sequence, check_share, check_word_set, found
from wefe._visible import Facts, unique_labels
from wefe.audit._direction import audit_direction
from wefe.audit._warnings import AuditWarning
from wefe.embeddings import EmbeddedQuery, UnanswerableError, embed_query, paired
from wefe.metrics._base import BaseMetric
from wefe.metrics._exchange import TestType
from wefe.metrics._geometry import ZERO_LENGTH, Vectors, association, average_ranks, unit
from wefe.metrics._projection import RIPA, DirectBias
from wefe.metrics._registry import MetricLike, as_metric
from wefe.metrics._weat import WEAT
from wefe.metrics._weat import largest_effect_size as largest_effect_size
from wefe.models._word_embedding_model import WordEmbeddingModel, check_models
from wefe.query import Query, check_query
from wefe.results import WordUse, uses_of

# A share of the attainable bias d. The position s / d of a word is a cosine, and those of words
# that have nothing to do with the attributes scatter by about 1 / sqrt(dim): 0.06 in 300
# dimensions. A tenth is beyond nine in ten of them.
DEFAULT_EPSILON = 0.1

# These are also shares of the bound, so that they mean the same in every model.
# By convention an effect size of 0.8 is large; that is 0.4 of the attainable 2.
LARGE_EFFECT = 0.4
# Two bell curves of which nine in ten pairs are ordered reach 0.67 of the attainable effect size.
HIGH_AUC, MISSED_EFFECT = 0.9, 0.5
# Two such curves with a large effect size have 0.73 of their pairs in order.
LOW_AUC = 0.65
# Large effect sizes with a larger p-value cause a warning.
SIGNIFICANCE = 0.05
# Cosines below the precision of two decimals, as papers print them.
TINY_BIAS = 0.02
# A tenth of the largest possible difference, 2. Sets of published queries differ by 0.45 or more.
SMALL_DIFFERENCE = 0.2
# A set's biases cancel when the mean keeps no more than a quarter of their size, and the set has
# something to cancel when at least a quarter of its words are biased.
CANCELLED, BIASED_WORDS = 0.25, 0.25
# Both sets lean the same way if both means exceed half of epsilon.
LEAN = 0.5

# Biases that differ by less are equal except for rounding.
_TIE = 1e-12
_TESTED_SIGN = {"right-sided": 1, "left-sided": -1, "two-sided": 0}
# Of the permutation test, unless asked otherwise.
_TEST = {"calculate_p_value": True, "p_value_method": "exact", "random_state": 0}
_FEW_VARY = "only, because a few words vary so much"
_OPPOSITE = "and points the other way, because of a few extreme words"
# A smaller effect size is shown as 0.00 and has no clear sign.
_SHOWN = 0.005


@dataclass(frozen=True)
class TargetComparison:
    """Comparison of the individual biases of two target sets.

    Attributes
    ----------
    weat : float
        Sum of s(w, A, B) over the first set minus that over the second.
    effect_size, largest_effect_size : float
        WEAT effect size (NaN if all biases are equal), and its bound for sets of these sizes, see
        :func:`largest_effect_size`.
    p_value, smallest_p_value : float
        p-value of the permutation test, in (0, 1] (NaN if not run). The second is the smallest
        possible one for so few words, if no two biases are equal.
    alternative : {'right-sided', 'left-sided', 'two-sided'}
        Side that counts as extreme.
    auc : float
        Probability that a word of the first set has a larger bias than one of the second, ties
        counting half (Mann-Whitney), in [0, 1]. 0.5 means no difference; 0 and 1 mean perfect
        separation.
    threshold_accuracy : float
        Share of words on the correct side of the best threshold, in [0.5, 1]; both sets have equal
        weight.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.datasets import load_weat_queries
    >>> compared = audit_query(load_weat_queries()[5], load_test_model()).comparison
    >>> compared.effect_size, compared.share_of_largest, compared.auc, compared.p_value
    (1.04, 0.52, 0.80, 0.019)
    """

    weat: float
    effect_size: float
    largest_effect_size: float
    p_value: float
    smallest_p_value: float
    alternative: TestType
    auc: float
    threshold_accuracy: float

    @property
    def share_of_largest(self) -> float:
        """Effect size as a share of its bound, in [-1, 1]; NaN if undefined."""
        return self.effect_size / self.largest_effect_size

    @property
    def separability(self) -> float:
        """The larger of `auc` and 1 - `auc`, in [0.5, 1]: how well biases separate the sets."""
        return max(self.auc, 1 - self.auc)


@dataclass(frozen=True, eq=False, repr=False)
class QueryAudit(Facts):
    """Individual biases of the target words of a query, and what they mean for its score.

    :func:`wefe.plotting.plot_individual_biases` draws them.

    Attributes
    ----------
    query_name, model_name : str
        Names of the query and the model.
    targets, attributes : tuple of WordUse
        The words used and lost, per set.
    biases : tuple of ndarray of shape (n_words,)
        Individual biases s(w, A, B) per target set, in the order of the words in `targets`.
        Positive if a word is closer to the first attribute set.
    attribute_difference, raw_attribute_difference : float
        d, the distance of the means of the attribute sets' unit vectors, in [0, 2]: the bound of
        individual biases in this model (theorem 1); and that of stored vectors (table 2).
    epsilon : float
        A word counts as biased if its absolute bias exceeds this share of d.
    chance_share : float
        Share of random directions that would count as biased, in [0, 1].
    ddof : int
        As in :class:`wefe.metrics.WEAT`.
    comparison : TargetComparison or None
        Comparison of the two target sets; None if there are not exactly two.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.datasets import load_weat_queries
    >>> audit = audit_query(load_weat_queries()[5], load_test_model())
    >>> audit.most_biased_word, audit.largest_bias, audit.n_biased, audit.chance_share
    ('Joan', 0.103, 1, 0.110)
    """

    query_name: str
    model_name: str
    targets: tuple[WordUse, ...]
    attributes: tuple[WordUse, ...]
    biases: tuple[Vectors, ...]
    attribute_difference: float
    raw_attribute_difference: float
    epsilon: float
    chance_share: float
    ddof: int
    comparison: TargetComparison | None

    _facts = (
        *("query_name", "model_name", "targets", "attributes", "biases", "positions"),
        *("attribute_difference", "raw_attribute_difference", "epsilon", "chance_share"),
        *("n_biased", "largest_bias", "most_biased_word", "ddof", "variance", "means"),
        *("comparison", "warnings"),
    )

    @property
    def all_biases(self) -> Vectors:
        """Individual biases of all target sets, concatenated: shape (n_words,)."""
        return np.concatenate(self.biases)

    @property
    def positions(self) -> tuple[Vectors, ...]:
        """Biases s / d as shares of their bound (signed SAME scores), per target set, or NaN."""
        d = self.attribute_difference
        if d < ZERO_LENGTH:
            return tuple(np.full(len(s), math.nan) for s in self.biases)
        return tuple(np.clip(s / d, -1.0, 1.0) for s in self.biases)

    @property
    def n_biased(self) -> int:
        """Number of words whose absolute bias exceeds epsilon d."""
        return int((np.abs(np.concatenate(self.positions)) > self.epsilon).sum())

    @property
    def most_biased_word(self) -> str:
        """The word with the largest absolute bias."""
        words = [word for use in self.targets for word in use.used]
        return words[int(np.abs(self.all_biases).argmax())]

    @property
    def largest_bias(self) -> float:
        """The largest absolute bias, in [0, d]."""
        return float(np.abs(self.all_biases).max())

    @property
    def variance(self) -> float:
        """Variance of the individual biases of all target words, with `ddof`; NaN for one word."""
        s = self.all_biases
        return float(s.var(ddof=self.ddof)) if len(s) > self.ddof else math.nan

    @property
    def means(self) -> dict[str, float]:
        """Mean individual bias of each target set, by its name, in [-d, d]."""
        return {use.name: float(s.mean()) for use, s in zip(self.targets, self.biases, strict=True)}

    @property
    def warnings(self) -> tuple[AuditWarning, ...]:
        """Reasons not to take the score at face value.

        Possible kinds: 'small-attribute-difference', 'cancelling-biases', 'equal-sets'; for two
        target sets also 'common-lean', 'few-words', 'undefined-effect-size', 'separation-missed',
        'effect-without-separation', 'large-effect-tiny-biases', 'large-but-not-significant',
        'other-direction', 'unequal-sets'.
        """
        # Only ECT misses what all words of a set share.
        return tuple(each for each in _warnings(self) if each.kind != "shared-lean")

    def to_frame(self) -> pd.DataFrame:
        """Return one row per target word.

        'target_set', 'word', 'individual_bias' (s), its bounds 'smallest' (-d) and 'largest'
        (d), and 'position' (s / d).
        """
        d = self.attribute_difference
        return pd.DataFrame(
            {
                "target_set": [use.name for use in self.targets for _ in use.used],
                "word": [word for use in self.targets for word in use.used],
                "individual_bias": self.all_biases,
                "smallest": -d,
                "largest": d,
                "position": np.concatenate(self.positions),
            }
        )

    def __repr__(self) -> str:
        lines = [
            f"<QueryAudit of {self.query_name!r} on {self.model_name!r}",
            f"- individual biases: at most {self.largest_bias:.3f} ({self.most_biased_word!r}) of "
            f"the attainable {self.attribute_difference:.3f}; {self.n_biased} of "
            f"{len(self.all_biases)} words beyond {self.epsilon:.0%} of that",
        ]
        if self.comparison is not None:
            lines.append(f"- {_effect(self.comparison)}, {p_and_auc(self.comparison)}")
        if lost := sum(len(use.lost) for use in self.targets + self.attributes):
            lines.append(f"- words lost: {lost}")
        lines += [f"- {warning}" for warning in self.warnings] or ["- no warnings"]
        return "\n".join(lines) + ">"


def audit_query(
    query: Query, model: WordEmbeddingModel, *, epsilon: float = DEFAULT_EPSILON, **params: Any
) -> QueryAudit:
    """Measure the individual biases behind the score of a query, and report what the score hides.

    Parameters
    ----------
    query : Query
        One or more target sets and exactly two attribute sets. Two target sets are compared, as in
        WEAT.
    model : WordEmbeddingModel
        The model.
    epsilon : float, default=0.1
        A word counts as biased if abs(s(w, A, B)) exceeds this share of its bound d.
    **params
        Parameters of `run_query` of :class:`wefe.metrics.WEAT`. By default it runs an exact
        permutation test with seed 0. `ddof` also applies to `variance`, and ``normalize=True``
        affects only `raw_attribute_difference`.

    Returns
    -------
    QueryAudit
        Individual biases, their bounds and distribution, the comparison of two target sets, and
        `warnings`.

    Raises
    ------
    UnanswerableError
        If a set lost too many words, or a vector is unusable.

    Notes
    -----
    The individual bias s(w, A, B) is the mean cosine of w with A minus that with B. It lies in [-d,
    d], with d the distance of the means of the unit vectors of A and B (theorem 1 of Schröder et
    al., ICPRAM 2024, sections 4.1, 5.1 and 5.2). Because d differs between models, only s / d is
    comparable. The effect size is 0 if the biases of each set cancel out (theorem 3), and largest
    if all words of a set have the same bias, however small the gap between the sets (theorem 4).

    Examples
    --------
    >>> import wefe
    >>> print(audit_query(wefe.datasets.load_weat_queries()[8], wefe.load_test_model()).warnings[0])
    common-lean: 'Mental disease' and 'Physical disease' both lean to 'Temporary': ...
    """
    from scipy.special import betainc

    check_query(query)
    _check_attributes(query)
    epsilon = check_share("epsilon", epsilon)
    weat, lookup = WEAT()._with_params(**{**_TEST, **params})
    embedded = embed_query(model, query, **lookup)
    if embedded.nan_reason is not None:
        raise UnanswerableError(
            f"{query.query_name!r} cannot be audited with {model.name}: {embedded.nan_reason}."
        )
    a, b = (part.vectors for part in embedded.attributes)
    biases = tuple(association(part.vectors, a, b) for part in embedded.targets)
    return QueryAudit(
        query_name=query.query_name,
        model_name=model.name,
        targets=uses_of(embedded.targets),
        attributes=uses_of(embedded.attributes),
        biases=biases,
        attribute_difference=_distance(unit("a", a), unit("b", b)),
        raw_attribute_difference=_distance(a, b),
        epsilon=epsilon,
        # The squared cosine of a random direction has a beta distribution.
        chance_share=float(1 - betainc(0.5, (model.dim - 1) / 2, epsilon**2)),
        ddof=weat.ddof,
        comparison=_compared(weat, embedded, *biases) if len(biases) == 2 else None,
    )


def _check_attributes(query: Query) -> None:
    if query.template[1] != 2:
        raise ValueError(
            f"exactly two attribute sets are needed; {query.query_name!r} has "
            f"{query.template[1]}. query.get_subqueries(('n', 2)) returns its subqueries with two."
        )


def _distance(a: Vectors, b: Vectors) -> float:
    return float(np.linalg.norm(a.mean(axis=0) - b.mean(axis=0)))


def _compared(weat: WEAT, embedded: EmbeddedQuery, x: Vectors, y: Vectors) -> TargetComparison:
    # Look words up as the metric does, including its logging.
    sides = embedded.targets, embedded.attributes
    values = weat._tested(weat._measure(*sides), *sides).values
    # Sets of equal size can be swapped, so two splits are as extreme as the observed one.
    extreme = 2 if weat.p_value_test_type == "two-sided" and len(x) == len(y) else 1
    ranks = average_ranks(np.concatenate([x, y]), tolerance=_TIE)
    first, second = ranks[: len(x)], ranks[len(x) :]
    auc = (first.sum() - len(x) * (len(x) + 1) / 2) / (len(x) * len(y))
    cuts = np.unique(ranks)
    above, others = ((part[:, None] > cuts).mean(axis=0) for part in (first, second))
    return TargetComparison(
        weat=values["weat"],
        effect_size=values["effect_size"],
        largest_effect_size=largest_effect_size(len(x), len(y), ddof=weat.ddof),
        p_value=values["p_value"],
        smallest_p_value=extreme / math.comb(len(x) + len(y), len(x)),
        alternative=weat.p_value_test_type,
        auc=float(auc),
        threshold_accuracy=float((1 + np.abs(above - others).max()) / 2),
    )


def _effect(found: TargetComparison) -> str:
    if math.isnan(found.effect_size):
        return "effect size undefined"
    share = f"{found.share_of_largest:z.0%} of the attainable {found.largest_effect_size:.2f}"
    return f"effect size {found.effect_size:z.2f} ({share})"


def p_and_auc(found: TargetComparison) -> str:
    """Format p-value and AUC; an AUC of 1 or 0 appears only for perfect separation."""
    p_value = "" if math.isnan(found.p_value) else f"p = {found.p_value:.2g}, "
    auc = f"{found.auc:.2f}"
    if 0 < found.auc < 1:
        auc = {"1.00": ">0.99", "0.00": "<0.01"}.get(auc, auc)
    return f"{p_value}AUC {auc}"


def _warnings(audit: QueryAudit) -> Iterator[AuditWarning]:
    if audit.attribute_difference < SMALL_DIFFERENCE:
        yield AuditWarning._of("small-attribute-difference", audit=audit)
    for use, s, positions in zip(audit.targets, audit.biases, audit.positions, strict=True):
        mean, size, flags = s.mean(), np.abs(s).mean(), np.abs(positions) > audit.epsilon
        facts = {"name": use.name, "mean": mean, "low": s.min(), "high": s.max()}
        if abs(mean) <= CANCELLED * size and flags.mean() >= BIASED_WORDS:
            counts = {"n_biased": flags.sum(), "n_words": len(s)}
            yield AuditWarning._of("cancelling-biases", **facts, **counts)
        # All clearly on one side.
        if abs(mean) >= (1 - CANCELLED) * size and abs(positions.mean()) > LEAN * audit.epsilon:
            towards = audit.attributes[0 if mean > 0 else 1].name
            yield AuditWarning._of("shared-lean", towards=towards, **facts)
    for uses in (audit.targets, audit.attributes):
        for first, second in itertools.combinations(uses, 2):
            if {*first.used} == {*second.used}:
                yield AuditWarning._of("equal-sets", first=first.name, second=second.name)
    if audit.comparison is not None:
        yield from _of_comparison(audit, audit.comparison)


def _of_comparison(audit: QueryAudit, found: TargetComparison) -> Iterator[AuditWarning]:
    means, sizes = list(audit.means.values()), list(map(len, audit.biases))
    share = found.share_of_largest  # NaN is never beyond a bound
    directed = found.auc if share > 0 else 1 - found.auc
    few_words_vary = directed >= 0.5 or abs(found.effect_size) < _SHOWN
    lean = LEAN * audit.epsilon * audit.attribute_difference
    is_large = abs(share) >= LARGE_EFFECT
    is_missed = share * math.copysign(1, found.auc - 0.5) < MISSED_EFFECT
    is_tiny = audit.n_biased == 0 or audit.largest_bias <= TINY_BIAS
    not_significant = is_large and found.p_value > SIGNIFICANCE
    is_untested = share * _TESTED_SIGN[found.alternative] < 0
    too_few = found.smallest_p_value > SIGNIFICANCE and not math.isnan(found.p_value)
    holds = {
        "common-lean": min(map(abs, means)) > lean and np.prod(means) > 0,
        "unequal-sets": sizes[0] != sizes[1],
        "few-words": too_few,
        "undefined-effect-size": math.isnan(share),
        "separation-missed": found.separability >= HIGH_AUC and is_missed,
        "effect-without-separation": is_large and directed < LOW_AUC,
        "large-effect-tiny-biases": is_large and is_tiny,
        "other-direction": not_significant and is_untested,
        "large-but-not-significant": not_significant and not is_untested,
    }
    facts = {
        "audit": audit,
        "found": found,
        "significance": SIGNIFICANCE,
        "names": " and ".join(repr(use.name) for use in audit.targets),
        "towards": audit.attributes[0 if means[0] > 0 else 1].name,
        "means": means,
        "sizes": sizes,
        "shift": (sizes[0] - sizes[1]) * audit.all_biases.mean(),
        "share": abs(share),
        "directed": directed,
        "pairs": "over 99%" if 0.995 <= found.separability < 1 else f"{found.separability:.0%}",
        "ordered": _FEW_VARY if few_words_vary else _OPPOSITE,
        "largest_share": float(np.abs(np.concatenate(audit.positions)).max()),
    }
    yield from (AuditWarning._of(kind, **facts) for kind, applies in holds.items() if applies)


def mean_attribute_differences(
    attribute_sets: Query | Sequence[Sequence[str]],
    models: Sequence[WordEmbeddingModel] | WordEmbeddingModel,
    normalize: bool = True,
    **lookup: Any,
) -> pd.DataFrame:
    """Measure the distance between the means of two attribute sets in each model.

    For unit vectors, this distance d bounds individual biases: s(w, A, B) lies in [-d, d]. Biases
    of models with different d are not comparable (Schröder et al., ICPRAM 2024, table 2). Small
    sets differ in any model: the means of n_1 and n_2 random directions in many dimensions are
    about sqrt(1 / n_1 + 1 / n_2) apart.

    Parameters
    ----------
    attribute_sets : Query or sequence
        A query with two attribute sets; or a list of pairs, ``[["she", "he"], ["her", "his"],
        ...]``, whose first words form one set, the second words the other. Incomplete pairs are
        left out.
    models : WordEmbeddingModel or sequence of them
        The models to compare.
    normalize : bool, default=True
        Whether to use unit vectors, which gives d in [0, 2]. The distance of stored vectors, as in
        the paper's table, has no upper bound and does not bound biases.
    **lookup
        Lookup options, see :class:`wefe.embeddings.Lookup`. For pairs, 'lost_vocabulary_threshold'
        is the share that may be incomplete.

    Returns
    -------
    DataFrame
        One row per model, the largest distance first, undefined ones (NaN) last. Columns:
        'mean_attribute_difference'; 'n_words_1' and 'n_words_2', the number of words (or pairs)
        used; 'words_lost', separated by commas; 'nan_reason', why a distance is undefined.

    Raises
    ------
    UnusableVectorError
        If a word has a zero or non-finite vector.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> pairs = [["she", "he"], ["her", "his"], ["woman", "man"]]
    >>> mean_attribute_differences(pairs, load_test_model())["mean_attribute_difference"].item()
    0.971
    """
    query, in_pairs = _as_query(attribute_sets)
    given, rows = check_models(models), []
    for model in given:
        embedded = embed_query(model, query, normalize=normalize, **lookup)
        sets, reason = embedded.targets, embedded.nan_reason
        lost = dict.fromkeys(word for part in sets for word in part.lost)
        if reason is None and in_pairs:
            sets, reason = paired(sets, **lookup)
        a, b = (part.vectors for part in sets)
        distance = math.nan if reason else _distance(a, b)
        rows.append((distance, len(a), len(b), ", ".join(lost), reason))
    columns = ["mean_attribute_difference", "n_words_1", "n_words_2", "words_lost", "nan_reason"]
    names = unique_labels([model.name for model in given], "models")
    table = pd.DataFrame(rows, names, columns).rename_axis("model_name")
    return table.sort_values("mean_attribute_difference", ascending=False, kind="stable")


def _as_query(given: object) -> tuple[Query, bool]:
    """Return the sets as target sets of a query, and whether they are paired."""
    if isinstance(given, Query):
        _check_attributes(given)
        return Query(given.attribute_sets, [], given.attribute_sets_names), False
    pairs = [check_word_set("a pair", pair) for pair in check_sequence("attribute_sets", given)]
    if {*map(len, pairs)} != {2}:
        raise ValueError(
            "attribute_sets must be pairs of words, or a query with two attribute sets; got "
            f"{found(given)}."
        )
    return Query([*zip(*pairs, strict=True)], [], ["First words", "Second words"]), True


# With these, pairs need no common first component.
_OF_PAIRS = {"few-sets", "lost-sets", "identical-members", "repeated-sets", "outliers"}


def score_warnings(
    metric: MetricLike, query: Query, model: WordEmbeddingModel, **params: Any
) -> tuple[AuditWarning, ...]:
    """Return warnings about what a score of a metric does not show.

    Parameters
    ----------
    metric : metric class, instance or name
        The metric determines which warnings apply: those of :func:`audit_query` about what it
        computes; those of :func:`audit_direction` for Direct Bias and RIPA, whose target words form
        pairs; for ECT, 'shared-lean' (all words lean to the same side). SEAT and CEAT have none,
        because they use vectors of texts, not of words.
    query : Query
        The query. With a single attribute set, its words are audited between each two target sets.
    model : WordEmbeddingModel
        The model.
    **params
        Parameters of the metric's `run_query`.

    Returns
    -------
    tuple of AuditWarning
        Empty if there are none; a single warning 'not-audited' if the query has no score.

    Examples
    --------
    >>> import numpy as np
    >>> from wefe import Query, WordEmbeddingModel
    >>> words = ["she", "he", "nurse", "pilot"]
    >>> model = WordEmbeddingModel((words, np.array([[1, 0], [0, 1], [3, 1], [1.0, 3]])))
    >>> query = Query([["she"], ["he"]], [["nurse", "pilot"]])
    >>> [warning.kind for warning in score_warnings("rnd", query, model)]
    ['cancelling-biases']
    """
    instance = as_metric(metric)
    if instance.encodes_texts:
        return ()
    try:
        return tuple(dict.fromkeys(_found(instance, query, model, params)))
    except UnanswerableError as error:
        return (AuditWarning._of("not-audited", why=error),)


def _found(
    metric: BaseMetric, query: Query, model: WordEmbeddingModel, params: Mapping[str, Any]
) -> Iterator[AuditWarning]:
    instance, lookup = metric._with_params(**params)
    relevant = instance.audit_findings
    own: dict[str, Any] = {"calculate_p_value": False}
    if isinstance(instance, WEAT):
        # A copy, as a generator would draw other numbers afterwards; audits have a seed for None.
        every = copy.deepcopy({name: getattr(instance, name) for name in WEAT.parameters()})
        own = {name: value for name, value in every.items() if value is not None}
    for part in between_two_groups(query):
        audit = audit_query(part, model, **own, **lookup)
        yield from (each for each in _warnings(audit) if each.kind in relevant | {"equal-sets"})
    if isinstance(instance, RIPA):
        one_direction = instance.relation == "pca"
    elif isinstance(instance, DirectBias) and instance.direction == "pca":
        one_direction = instance.n_components == 1
    else:
        return
    pairs = [list(pair) for pair in zip(*query.target_sets, strict=False)]
    with contextlib.suppress(ValueError):  # no pair is complete: the score has its own reason
        found = audit_direction(pairs, model, preprocessors=lookup.get("preprocessors")).warnings
        kinds = _OF_PAIRS | ({"low-correlation"} if isinstance(instance, RIPA) else set())
        yield from (each for each in found if one_direction or each.kind in kinds)


def between_two_groups(query: Query) -> list[Query]:
    """Return a query for each two groups: attribute sets or, if there is only one, target sets."""
    if query.template[1] < 2:
        names = query.attribute_sets_names, query.target_sets_names
        query = Query(query.attribute_sets, query.target_sets, *names)
    return query.get_subqueries(("n", 2))
