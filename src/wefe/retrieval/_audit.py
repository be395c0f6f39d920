"""Rank documents that differ only in a name, and compare groups of names."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from wefe._bootstrap import Resampling
from wefe._checks import check_array, check_positive_int, check_word_set
from wefe._visible import count, plain
from wefe._wordset import Vectors
from wefe.contextual._contexts import check_templates, fill_template
from wefe.metrics._permutation import permutation_test, random_orders
from wefe.retrieval._texts import Scorer, check_groups, count_tokens, score_texts
from wefe.running import holm

Copies: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]

# Scores that differ by less than this, relative to the largest one, are ties.
_TIE = 1e-12
# Numbers that are worked on at once.
_BLOCK_NUMBERS = 1 << 21
_N_SPLITS = 1000
_N_EXCHANGES = 200
_FEW_NAMES = "intervals and halves need two or more names in each group"


@dataclass(frozen=True, eq=False, repr=False)
class RankingAudit:
    """How groups of names are ranked: the result of :func:`audit_ranking`.

    Groups are compared with the other groups of the same attribute, and intersections with
    intersections. Columns that end in '_lower' and '_upper' are bounds of bootstrap intervals over
    names and queries. :func:`wefe.plotting.plot_impact_ratios` draws the impact ratios.

    Attributes
    ----------
    groups : DataFrame
        One row per group: 'attribute', 'group', 'n_names', 'documents_share', 'selection_rate'
        (share of its documents in the top k, averaged over queries), 'impact_ratio' (selection rate
        divided by that of the most selected group), 'exposure_share' (share of the sum of 1 /
        log2(1 + rank)), 'mean_score', 'gap_to_neutral' (mean score minus that of the neutral
        names), the mean 'frequency' and 'n_tokens' of its names, and 'nan_reason' (why there is no
        interval).
    gaps : DataFrame
        One row per pair of groups: 'gap' (mean score of 'group' minus that of 'other') with
        interval, 'p_value' (exact two-sided permutation test of the group labels of names),
        'p_value_holm' (adjusted over this table) and 'nan_reason'.
    queries, templates : DataFrame
        The same gaps for each query and for each template, without intervals, adjusted over each
        table.
    names : DataFrame
        One row per name, the highest scores first: 'name', 'group', 'mean_score', 'selection_rate',
        'frequency' and 'n_tokens'.
    null : DataFrame
        The gap between two random halves of the names of one group: 95 % of these lie between
        'gap_lower' and 'gap_upper'. Halves are smaller than the group, so they differ more.
    decided : DataFrame
        'queries', the share of queries whose top k changes if names are exchanged in all documents,
        'between groups' or, for comparison, 'within groups'; and 'places', that of places in it.
    ndcg : float
        nDCG at k, from 0 to 1 (best), averaged over queries; NaN without relevance.
    k, n_bootstrap, confidence : int, int and float
        As for :func:`audit_ranking`.
    scores : ndarray of shape (n_queries, n_templates, n_names) or None
        The scores, with names in the order in which you gave them. A study does not keep them.

    Examples
    --------
    >>> import numpy as np
    >>> def encode(texts):  # a toy encoder that recognises nurses and two of the names
    ...     return np.array([["nurse" in t, 0.1 * ("Amy" in t), 0.2 * ("Ann" in t)] for t in texts])
    >>> names = {"female": ["Amy", "Ann"], "male": ["Bill", "John"]}
    >>> audit_ranking(encode, ["a nurse"], ["{} is a nurse."], names, k=2)
    <RankingAudit of 2 groups, 4 names, 1 query, 1 template: k=2, lowest impact ratio 0.00 (female),
    largest gap -0.0122 (female against male; p = 0.333)>
    """

    groups: pd.DataFrame
    gaps: pd.DataFrame
    queries: pd.DataFrame
    templates: pd.DataFrame
    names: pd.DataFrame
    null: pd.DataFrame
    decided: pd.DataFrame
    k: int
    ndcg: float
    n_bootstrap: int
    confidence: float
    scores: Vectors | None = None

    @classmethod
    def _from_dict(cls, data: Mapping[str, Any]) -> RankingAudit:
        """Restore an audit, without scores, from the result of :meth:`to_dict`."""
        tables = {name: _table(rows) for name, rows in data.items() if isinstance(rows, list)}
        ndcg = np.nan if data["ndcg"] is None else data["ndcg"]
        return cls(**{**data, **tables, "ndcg": ndcg})

    def to_dict(self) -> dict[str, Any]:
        """Return everything except the scores as plain data for JSON."""
        return {name: plain(each) for name, each in vars(self).items() if name != "scores"}

    def __repr__(self) -> str:
        low = self.groups.nsmallest(1, "impact_ratio").iloc[0]
        gap = largest_gap(self.gaps)
        queries = count(self.queries["query"].nunique(), "query", "queries")
        templates = count(self.templates["template"].nunique(), "template")
        return (
            f"<RankingAudit of {len(self.groups)} groups, {len(self.names)} names, {queries}, "
            f"{templates}: k={self.k}, lowest impact ratio {low.impact_ratio:.2f} ({low.group}), "
            f"largest gap {gap.gap:.3g} ({gap.group} against {gap.other}; p = {gap.p_value:.3g})>"
        )


def audit_ranking(
    scorer: Scorer,
    queries: Sequence[str],
    templates: str | Sequence[str],
    names: Mapping[str, Sequence[str]],
    *,
    reranker: bool = False,
    k: int = 10,
    relevance: npt.ArrayLike | None = None,
    neutral: Sequence[str] = (),
    frequency: Mapping[str, float] | None = None,
    n_bootstrap: int = 1000,
    confidence: float = 0.95,
    random_state: int | np.random.Generator | None = 0,
) -> RankingAudit:
    """Rank documents that differ only in a name, and compare groups of names.

    Each query ranks all templates, filled with all names. Equal scores share their ranks.

    Parameters
    ----------
    scorer : ContextualModel or callable
        An encoder from :func:`wefe.contextual.load_encoder`, a callable that turns a list of texts
        into an array of shape (n_texts, dim), or a reranker. Scores of the first two are cosines.
    queries : sequence of str
        Search texts, for example job advertisements or questions.
    templates : str or sequence of str
        Documents with one ``{}`` each, where the name goes.
    names : mapping of str to sequence of str
        The names of each group, all different. Commas make intersections: with the groups 'female,
        black', 'female, white', 'male, black' and 'male, white', the audit compares female with
        male, black with white, and all four. See :func:`match_names` and :func:`load_resume_names`.
    reranker : bool, default=False
        Whether `scorer` is a callable that takes two lists of the same length, queries and
        documents, and returns a score for each pair.
    k : int, default=10
        Number of documents that each query selects. With half of all documents, the selection rate
        is the share above the median score (the scoring rate of New York City's Local Law 144).
    relevance : array-like of shape (n_queries, n_templates), optional
        Relevance of each template for each query, at least 0; needed for nDCG.
    neutral : sequence of str, optional
        Replacements of a name that do not indicate a group, such as 'The applicant'. These
        documents are scored, not ranked.
    frequency : mapping of str to float, optional
        Frequency of names, to show in the tables, as for :func:`match_names`.
    n_bootstrap, confidence, random_state : optional
        As for :func:`wefe.silhouette.bootstrap_interval`, for resamples of names (within groups)
        and queries.

    Returns
    -------
    RankingAudit
        Tables of groups, gaps, queries, templates, names and controls.

    Raises
    ------
    ValueError
        If the scorer does not return one row per text.

    Notes
    -----
    The unit of all tests is the name, because the same names occur in all documents. P-values refer
    to these queries and templates. Intervals also cover other queries of the same kind, so they may
    contain 0 where the p-value is small: the sign of the gap then differs between queries. With few
    names or queries, intervals are slightly too short: with 9 names per group and 5 queries, about
    90 % of those with confidence 0.95 contain the gap. Tests of one attribute assume that the other
    attributes are balanced.

    Source: Wilson and Caliskan. Gender, Race, and Intersectional Bias in Resume Screening via
    Language Model Retrieval. AIES 2024. https://arxiv.org/abs/2407.20371

    Examples
    --------
    >>> def overlap(queries, documents):  # a toy reranker that counts common letters
    ...     return [len(set(q) & set(d)) for q, d in zip(queries, documents)]
    >>> names = {"female": ["Amy", "Ann"], "male": ["Bill", "John"]}
    >>> audit = audit_ranking(overlap, ["Any aunt"], ["{}, 40"], names, reranker=True, k=2)
    >>> audit.groups[["group", "impact_ratio"]].values.tolist()
    [['female', 1.0], ['male', 0.0]]
    """
    asked, cells = check_word_set("queries", queries), check_groups(names)
    sentences = check_templates("templates", templates)
    wanted = Resampling(n_bootstrap, confidence, random_state)
    pool = [name for own in cells.values() for name in own]
    n_documents = len(sentences) * len(pool)
    if check_positive_int("k", k) >= n_documents:
        raise ValueError(f"k must be below the number of documents, {n_documents}; got {k}.")
    control = check_word_set("neutral", neutral) if len(neutral) else ()
    texts = [fill_template(each, name)[0] for each in sentences for name in (*pool, *control)]
    scores = score_texts(scorer, asked, texts, reranker).reshape(len(asked), len(sentences), -1)
    scores, of_control = scores[..., : len(pool)], scores[..., len(pool) :]
    ranking = _Ranking(scores, int(k), cells, wanted)
    facts = pd.DataFrame({"name": pool})
    facts["group"] = [group for group, own in cells.items() for _ in own]
    facts["mean_score"] = scores.mean(axis=(0, 1))
    facts["selection_rate"] = ranking.selected.mean(axis=(0, 1))
    facts["frequency"] = [float((frequency or {}).get(name, np.nan)) for name in pool]
    facts["n_tokens"] = count_tokens(scorer, pool)
    groups = ranking.group_table()
    groups["gap_to_neutral"] = groups["mean_score"] - (of_control.mean() if control else np.nan)
    for column in ("frequency", "n_tokens"):
        groups[column] = [facts[column][own].mean() for own in ranking.members]
    return RankingAudit(
        groups=groups,
        gaps=ranking.gap_table(),
        queries=ranking.gaps(scores.mean(axis=1), "query", asked),
        templates=ranking.gaps(scores.mean(axis=0), "template", sentences),
        names=facts.sort_values("mean_score", ascending=False, kind="stable", ignore_index=True),
        null=ranking.null(),
        decided=ranking.decided(),
        k=int(k),
        ndcg=np.nan if relevance is None else ranking.ndcg(relevance),
        n_bootstrap=wanted.n_bootstrap,
        confidence=wanted.confidence,
        scores=scores,
    )


class _Ranking:
    """Scores of shape (n_queries, n_templates, n_names), ranked for each query.

    Resamples are weights of names and queries in each case. In case 0 each counts once.
    """

    def __init__(
        self, scores: Vectors, k: int, cells: Mapping[str, Sequence[str]], wanted: Resampling
    ) -> None:
        self.scores, self.k, self._wanted = scores, k, wanted
        self._cell_sizes = [len(own) for own in cells.values()]
        groups = groups_of(cells)
        self._keys, self.members = list(groups), np.array(list(groups.values()))
        attributes = np.array([attribute for attribute, _ in groups])
        self._are_alike = attributes[:, None] == attributes
        self._pairs = np.argwhere(np.triu(self._are_alike, 1))
        self._sizes = self.members.sum(axis=1)
        step = _TIE * float(np.abs(scores).max()) or 1.0
        self._levels = np.rint(scores / step).reshape(len(scores), -1)
        ranks = np.arange(1, self._levels.shape[1] + 1)
        exposure = 1 / np.log2(1 + ranks)
        self._rewards = np.array([ranks <= k, exposure, exposure * (ranks <= k)])
        once = np.ones((1, len(ranks)), dtype=np.int64)
        gains = [_gains(own, once, self._rewards)[:, 0] for own in self._levels]
        # What each document gets: a place in the top k, exposure, and exposure in the top k.
        self.selected, _, self._discounts = np.stack(gains, axis=1).reshape(3, *scores.shape)
        self._statistics = self._resampled()

    def group_table(self) -> pd.DataFrame:
        table = pd.DataFrame(self._keys, columns=["attribute", "group"])
        share = self._sizes / len(self.members[0])
        table = table.assign(n_names=self._sizes, documents_share=share)
        return self._with_intervals(table, self._statistics, self._sizes > 1)

    def gap_table(self) -> pd.DataFrame:
        table = self.gaps(self.scores.mean(axis=(0, 1))[None], "all", [""])
        means, (i, j) = self._statistics["mean_score"], self._pairs.T
        gaps = {"gap": means[:, i] - means[:, j]}
        known = self._sizes[self._pairs].min(axis=1) > 1
        own = self._with_intervals(table[["attribute", "group", "other"]].copy(), gaps, known)
        return own.join(table[["p_value", "p_value_holm"]])

    def gaps(self, values: Vectors, column: str, texts: Sequence[str]) -> pd.DataFrame:
        """Test each pair of groups for each row of values, (n_rows, n_names)."""
        rows = []
        asked = zip(texts, values, strict=True)
        for (text, row), (i, j) in itertools.product(asked, self._pairs):
            one, other = row[self.members[i]], row[self.members[j]]
            test = permutation_test(
                one, other, alternative="two-sided", method="exact", random_state=self._wanted.seed
            )
            gap = one.mean() - other.mean()
            rows.append((text, *self._keys[i], self._keys[j][1], gap, test.p_value))
        columns = [column, "attribute", "group", "other", "gap", "p_value"]
        table = pd.DataFrame(rows, columns=columns)
        return table.assign(p_value_holm=holm(table["p_value"]))

    def null(self) -> pd.DataFrame:
        rows = []
        for key, own in zip(self._keys, self.members, strict=True):
            values = self.scores.mean(axis=(0, 1))[own]
            orders = random_orders(len(values), _N_SPLITS, self._wanted.seed)
            first, second = np.array_split(values[orders], 2, axis=1)
            gaps = first.mean(axis=1) - second.mean(axis=1) if second.size else np.nan
            rows.append((*key, len(values), *np.quantile(gaps, [0.025, 0.975])))
        columns = ["attribute", "group", "n_names", "gap_lower", "gap_upper"]
        table = pd.DataFrame(rows, columns=columns)
        return table.assign(nan_reason=_reasons(table["n_names"] > 1))

    def decided(self) -> pd.DataFrame:
        """Return how the top k changes when names are exchanged, between and within groups."""
        rows = []
        for between, kind in ((True, "between groups"), (False, "within groups")):
            changes = [
                np.abs(self.selected - self.selected[..., order]).sum(axis=(1, 2)) / (2 * self.k)
                for order in _exchanges(self._cell_sizes, between, self._wanted.seed)
            ]
            rows.append((kind, np.mean(np.array(changes) > _TIE), np.mean(changes)))
        return pd.DataFrame(rows, columns=["exchange", "queries", "places"])

    def ndcg(self, relevance: npt.ArrayLike) -> float:
        """Return nDCG at k, averaged over queries with a relevant template."""
        gains = check_array("relevance", relevance, "(n_queries, n_templates)")
        shape = self.scores.shape[:2]
        if gains.shape != shape or gains.min() < 0 or not gains.max():
            raise ValueError(
                f"relevance must have shape (n_queries, n_templates) = {shape}, and values of at "
                f"least 0, some above 0; got shape {gains.shape} from {gains.min():g}."
            )
        found = (gains * self._discounts.sum(axis=2)).sum(axis=1)
        best = np.sort(np.repeat(gains, self.scores.shape[2], axis=1), axis=1)[:, ::-1]
        best = best @ self._rewards[2]
        return float((found[best > 0] / best[best > 0]).mean())

    def _resampled(self) -> dict[str, Vectors]:
        """Measure all groups in all resamples of names and queries: arrays (n_cases, n_groups)."""
        generator = np.random.default_rng(self._wanted.seed)
        drawn = [
            generator.multinomial(size, np.full(size, 1 / size), self._wanted.n_bootstrap)
            for size in (*self._cell_sizes, len(self.scores))
        ]
        *names, queries = (np.vstack([np.ones_like(own[:1]), own]) for own in drawn)
        copies = np.hstack(names)
        n_blocks = -(-len(copies) * self._levels.shape[1] // _BLOCK_NUMBERS)
        blocks = (np.array_split(own, n_blocks) for own in (copies, queries))
        sums = np.hstack([*map(self._sums, *blocks)])
        n_names = copies @ self.members.T
        of_names = queries @ self.scores.mean(axis=1) / len(self.scores) * copies
        rates = sums[0] / (len(self.scores) * self.scores.shape[1] * n_names)
        return {
            "selection_rate": rates,
            "impact_ratio": rates / (rates[:, None] * self._are_alike).max(axis=2),
            "exposure_share": sums[1] / (sums[1][:, None] * self._are_alike).sum(axis=2),
            "mean_score": of_names @ self.members.T / n_names,
        }

    def _sums(self, copies: Copies, queries: Copies) -> Vectors:
        """Sum what the documents of groups receive in some cases: (2, n_cases, n_groups)."""
        documents = np.tile(copies, self.scores.shape[1])
        sums = np.zeros((2, len(copies), len(self.members)))
        for levels, weights in zip(self._levels, queries.T, strict=True):
            gains = _gains(levels, documents, self._rewards[:2])
            by_name = gains.reshape(2, len(copies), *self.scores.shape[1:]).sum(axis=2)
            sums += weights[:, None] * (by_name @ self.members.T)
        return sums

    def _with_intervals(
        self, table: pd.DataFrame, values: Mapping[str, Vectors], known: Mask
    ) -> pd.DataFrame:
        tail = (1 - self._wanted.confidence) / 2
        for name, cases in values.items():
            table[name] = cases[0]
            bounds = np.quantile(cases[1:], [tail, 1 - tail], axis=0)
            table[f"{name}_lower"], table[f"{name}_upper"] = np.where(known, bounds, np.nan)
        return table.assign(nan_reason=_reasons(known))


def largest_gap(gaps: pd.DataFrame) -> pd.Series:
    return gaps.iloc[int(gaps["gap"].abs().argmax())]


def _table(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return records as a table, with NaN for undefined numbers."""
    table = pd.DataFrame(rows)
    undefined = [name for name in table if name != "nan_reason" and table[name].isna().all()]
    return table.astype(dict.fromkeys(undefined, float))


def _reasons(known: Any) -> pd.Series:
    return pd.Series([None if each else _FEW_NAMES for each in known], dtype=object)


def groups_of(cells: Mapping[str, Sequence[str]]) -> dict[tuple[str, str], Mask]:
    """Return the names of each group by attribute and group: parts of keys, then whole keys."""
    parts = [tuple(part.strip() for part in key.split(",")) for key in cells]
    if len({len(own) for own in parts}) > 1:
        raise ValueError(f"groups must have the same number of parts between commas: {[*cells]}.")
    of_names = [own for own, names in zip(parts, cells.values(), strict=True) for _ in names]
    columns = list(zip(*of_names, strict=True))
    if len(columns) > 1:
        columns.append(tuple(map(", ".join, of_names)))
    found: dict[tuple[str, str], Mask] = {}
    for place, column in enumerate(columns):
        labels = list(dict.fromkeys(column))
        attribute = "intersection" if place == len(parts[0]) else " / ".join(labels)
        if len(labels) > 1:
            found |= {(attribute, label): np.array(column) == label for label in labels}
    return found


def _gains(levels: Vectors, copies: Copies, rewards: Vectors) -> Vectors:
    """Divide the rewards of ranks in several cases: (n_rewards, n_cases, n_documents)."""
    _, run = np.unique(-levels, return_inverse=True)
    order = np.argsort(run, kind="stable")
    starts = np.flatnonzero(np.diff(run[order], prepend=-1))
    counts = np.add.reduceat(copies[:, order], starts, axis=1)
    ends = counts.cumsum(axis=1)
    # What the first 0, 1, 2 ... documents get together.
    totals = np.pad(np.cumsum(rewards, axis=1), ((0, 0), (1, 0)))
    shares = (totals[:, ends] - totals[:, ends - counts]) / np.maximum(counts, 1)
    return np.asarray(shares[..., run] * copies)


def _exchanges(sizes: Sequence[int], between: bool, seed: int) -> Iterator[npt.NDArray[np.intp]]:
    """Yield orders of all names in which the names of two random cells are exchanged."""
    generator = np.random.default_rng(seed)
    cells = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])
    for _ in range(_N_EXCHANGES):
        chosen = generator.choice(len(cells), size=2, replace=False)
        one, other = (generator.permutation(cells[place]) for place in chosen)
        pairs = [(one, other)] if between else [np.array_split(own, 2) for own in (one, other)]
        order = np.arange(sum(sizes))
        for first, second in pairs:
            n = min(len(first), len(second))
            order[first[:n]], order[second[:n]] = second[:n], first[:n]
        yield order
