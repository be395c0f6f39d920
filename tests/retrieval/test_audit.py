"""Retrieval audits: a planted gap is found, none is found without, and every measure by a loop."""

import itertools
import json
import zlib

import numpy as np
import pytest

from wefe.retrieval import audit_ranking, load_resume_names

NAMES = {"female": [f"F{i}x" for i in range(9)], "male": [f"M{i}x" for i in range(8)]}
CROSSED = {
    f"{gender}, {ethnicity}": [f"{gender[0]}{ethnicity[0]}{i}x" for i in range(4)]
    for gender in ("female", "male")
    for ethnicity in ("black", "white")
}
QUERIES = ["query one", "query two", "query three"]
TEMPLATES = ["{} is one", "{} is two", "{} is three", "{} is four"]


def reranker(seed, dial=0.0, noise=1.0):
    """Scores of names, queries and documents that are noise, plus the dial for names with F."""
    generator, drawn = np.random.default_rng(seed), {}

    def value(*key):
        return drawn.setdefault(key, noise * generator.normal())

    def score(queries, documents):
        return [
            value(q) + value(q, d) + value(d[:3]) + dial * d.startswith("F")
            for q, d in zip(queries, documents, strict=True)
        ]

    return score


def table_reranker(scores, names, queries=QUERIES, templates=TEMPLATES):
    """A reranker that reads scores (n_queries, n_templates, n_names) from a table."""
    pool = [name for own in names.values() for name in own]
    texts = [template.replace("{}", name) for template in templates for name in pool]
    table = scores.reshape(len(queries), -1)
    return lambda q, d: table[[*map(queries.index, q)], [*map(texts.index, d)]]


def audit(scorer, names=NAMES, **options):
    options = {"reranker": True, "n_bootstrap": 100, "k": 7} | options
    return audit_ranking(scorer, QUERIES, TEMPLATES, names, **options)


def test_a_planted_gap_is_found_with_its_size():
    found = audit(reranker(0, dial=5.0, noise=0.1))
    row = found.gaps.iloc[0]
    assert row["gap"] == pytest.approx(5.0, abs=0.15)
    assert row["gap_lower"] < 5.0 < row["gap_upper"]
    # Of all splits of 17 names, this one alone has a gap as large.
    assert row["p_value"] == pytest.approx(1 / 24310)
    np.testing.assert_allclose(found.queries["p_value_holm"], 3 / 24310)
    assert found.groups["impact_ratio"].tolist() == [1.0, 0.0]
    assert found.decided["queries"][0] == 1
    assert found.names["group"].tolist() == ["female"] * 9 + ["male"] * 8


def test_the_gap_grows_with_the_dial():
    def encode(dial, texts):
        """Unit vectors with a known cosine: 0.5 with every query, and the dial more for women."""
        known = np.array([0.5 + dial * t.startswith("F") if "is" in t else 1.0 for t in texts])
        return np.column_stack([known, np.sqrt(1 - known**2)])

    gaps = [
        audit(lambda t, d=d: encode(d, t), reranker=False).gaps["gap"][0] for d in (0, 0.1, 0.3)
    ]
    assert gaps == pytest.approx([0, 0.1, 0.3])


def test_p_values_are_shares_of_all_splits():
    names = {"female": NAMES["female"][:4], "male": NAMES["male"][:5]}
    found = audit(reranker(3, dial=1.0), names)
    of_names = found.scores.mean(axis=(0, 1))
    gaps = [
        of_names[list(own)].mean() - np.delete(of_names, own).mean()
        for own in itertools.combinations(range(9), 4)
    ]
    observed = of_names[:4].mean() - of_names[4:].mean()
    assert found.gaps["p_value"][0] == pytest.approx(np.mean(np.abs(gaps) >= abs(observed) - 1e-12))


@pytest.mark.parametrize("n_levels", [4, 1000])
def test_measures_by_a_slow_loop(n_levels):
    scores = np.random.default_rng(1).integers(n_levels, size=(3, 4, 16)).astype(float)
    relevance = np.array([[2, 1, 0, 0], [0, 0, 1, 0], [0, 3, 0, 1]])
    found = audit(table_reranker(scores, CROSSED), CROSSED, relevance=relevance)
    pool = [(group, name) for group, own in CROSSED.items() for name in own]
    selected, exposure, quality = dict.fromkeys(pool, 0.0), dict.fromkeys(pool, 0.0), []
    for own, relevant in zip(scores, relevance, strict=True):
        places = list(np.ndindex(own.shape))
        gains = dict.fromkeys(places, 0.0)
        for place in places:
            # The ranks that tied documents share.
            first = sum(own[other] > own[place] for other in places)
            ranks = range(first + 1, first + 1 + sum(own[other] == own[place] for other in places))
            discounts = [1 / np.log2(1 + rank) for rank in ranks]
            selected[pool[place[1]]] += np.mean([rank <= 7 for rank in ranks])
            exposure[pool[place[1]]] += np.mean(discounts)
            gains[place] = np.mean([d * (r <= 7) for d, r in zip(discounts, ranks, strict=True)])
        best = sorted(np.repeat(relevant, 16), reverse=True)[:7]
        ideal = sum(gain / np.log2(2 + i) for i, gain in enumerate(best))
        quality.append(sum(relevant[t] * gains[t, n] for t, n in places) / ideal)
    assert found.ndcg == pytest.approx(np.mean(quality))
    groups = found.groups.set_index("group")
    for group in groups.index:
        names = [key for key in pool if set(group.split(", ")) <= set(key[0].split(", "))]
        rate = sum(selected[key] for key in names) / (3 * 4 * len(names))
        assert groups["selection_rate"][group] == pytest.approx(rate)
        share = sum(exposure[key] for key in names) / sum(exposure.values())
        assert groups["exposure_share"][group] == pytest.approx(share)
    for _, part in found.groups.groupby("attribute"):
        rates = part["selection_rate"]
        np.testing.assert_allclose(part["impact_ratio"], rates / rates.max())
    assert groups["documents_share"]["female"] == 0.5
    assert groups["documents_share"]["male, white"] == 0.25
    assert len(found.gaps) == 1 + 1 + 6


def test_bootstrap_counts_names_and_queries_as_copies():
    """The interval is that of rankings in which drawn names and queries really occur as copies."""
    scores = np.random.default_rng(5).normal(size=(3, 4, 17))
    found = audit(table_reranker(scores, NAMES), n_bootstrap=60, random_state=2)
    generator = np.random.default_rng(2)
    drawn = [generator.multinomial(n, np.full(n, 1 / n), 60) for n in (9, 8, 3)]
    rates = []
    for of_female, of_male, of_queries in zip(*drawn, strict=True):
        rows = np.repeat(np.arange(17), np.concatenate([of_female, of_male]))
        own = scores[np.repeat(np.arange(3), of_queries)][:, :, rows].reshape(3, -1)
        is_female = np.tile(rows < 9, 4)
        # A copy more or less at the threshold is shared out in the audit; so it is here.
        top = np.sort(own, axis=1)[:, [-7]]
        above, tied = own > top, own == top
        room = 7 - above.sum(axis=1, keepdims=True)
        chosen = above + tied * room / tied.sum(axis=1, keepdims=True)
        rates.append((chosen * is_female).sum() / (3 * 4 * 9))
    bounds = found.groups.loc[0, ["selection_rate_lower", "selection_rate_upper"]]
    np.testing.assert_allclose(bounds.astype(float), np.quantile(rates, [0.025, 0.975]))


def lexical(queries, documents):
    """Scores that depend on the texts alone."""
    return [zlib.crc32(f"{q}{d}".encode()) / 2**32 for q, d in zip(queries, documents, strict=True)]


def test_the_order_of_names_and_of_groups_changes_nothing_but_the_sign_of_the_gap():
    shuffled = {group: own[::-1] for group, own in reversed(NAMES.items())}
    one, other = (audit(lexical, names) for names in (NAMES, shuffled))
    plain = ["n_names", "selection_rate", "impact_ratio", "exposure_share", "mean_score"]
    turned = other.groups.set_index("group").loc[one.groups["group"], plain]
    np.testing.assert_allclose(one.groups[plain], turned)
    assert one.gaps["gap"][0] == pytest.approx(-other.gaps["gap"][0])
    assert one.gaps["p_value"][0] == other.gaps["p_value"][0]


def test_nothing_is_measured_where_all_documents_tie():
    found = audit(lambda q, d: np.zeros(len(q)))
    np.testing.assert_allclose(found.groups["impact_ratio"], 1)
    assert found.decided["queries"][0] == 0
    assert found.gaps["p_value"][0] == 1


def test_controls_and_facts_of_names():
    frequency = {"F0x": 4.0, "F1x": 5.0}
    found = audit(lexical, neutral=["Someone"], frequency=frequency)
    assert found.groups["frequency"][0] == 4.5
    own = [lexical([q], [t.replace("{}", "Someone")])[0] for q in QUERIES for t in TEMPLATES]
    expected = found.groups["mean_score"] - np.mean(own)
    np.testing.assert_allclose(found.groups["gap_to_neutral"], expected)


def test_the_null_is_the_gap_between_halves_of_a_group():
    found = audit(lexical, {group: own[:4] for group, own in NAMES.items()})
    of_names = found.scores.mean(axis=(0, 1)).reshape(2, 4)
    for row, own in zip(found.null.itertuples(), of_names, strict=True):
        # Of four names there are six halves, so that the quantiles are the ends.
        gaps = [own[[0, i]].mean() - np.delete(own, [0, i]).mean() for i in (1, 2, 3)]
        most = max(map(abs, gaps))
        assert (row.gap_lower, row.gap_upper) == pytest.approx((-most, most))


def test_names_decide_if_their_exchange_changes_the_top():
    # All documents of the nine women are first; the eight men take the places of eight.
    found = audit(reranker(0, dial=1.0, noise=0), k=36)
    assert found.decided["queries"].tolist() == [1, 0]
    assert found.decided["places"].tolist() == pytest.approx([8 / 9, 0])


def test_what_is_undefined_has_a_reason():
    found = audit(lexical, {"female": ["F1x"], "male": ["M1x", "M2x"]}, k=3)
    assert np.isnan(found.groups["impact_ratio_lower"][0])
    assert "two or more names" in found.groups["nan_reason"][0]
    assert found.groups["nan_reason"].isna().tolist() == [False, True]
    assert np.isnan(found.gaps["gap_lower"][0])
    assert found.gaps["nan_reason"].notna().all()
    assert found.null["nan_reason"].isna().tolist() == [False, True]
    json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"names": {"female": ["Amy"]}}, "two or more groups"),
        ({"names": {"female": ["Amy"], "male": ["Amy"]}}, "remove one 'Amy'"),
        ({"names": {"female, black": ["Amy", "Sue"], "male": ["Al"]}}, "parts between commas"),
        ({"templates": ["a nurse"]}, "one '{}'"),
        ({"k": 68}, "below the number of documents, 68"),
        ({"scorer": "all-MiniLM"}, "scorer must be an encoder"),
        ({"scorer": lambda q, d: [1.0]}, "a row for each of 204"),
        ({"relevance": [[1, 0]]}, "n_templates"),
    ],
)
def test_wrong_arguments_are_named(change, says):
    given = {"scorer": lexical, "queries": QUERIES, "templates": TEMPLATES, "names": NAMES}
    options = {"reranker": True} | given | change
    with pytest.raises((ValueError, TypeError), match=says.replace("{", r"\{")):
        audit_ranking(**options)


def test_the_shipped_names_are_nine_of_each_gender_and_ethnicity():
    names = load_resume_names()
    assert {len(own) for own in names.values()} == {9}
    assert names["female, African American"][:2] == ["Aisha", "Ebony"]
    assert "Todd" in names["male, European American"]
