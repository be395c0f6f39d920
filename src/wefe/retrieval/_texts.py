"""Texts of an audit: their scores, the names that fill them, and group words in them."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from wefe._checks import as_seed, check_array, check_number, check_word_set, found
from wefe._wordset import Vectors, unit
from wefe.contextual._encoder import Context
from wefe.contextual._model import ContextualModel, UnitVectors
from wefe.datasets import fetch_eds, load_weat
from wefe.metrics._permutation import flip_test
from wefe.running import holm

#: An encoder of load_encoder, a callable that encodes texts, or one that scores pairs of texts.
Scorer: TypeAlias = ContextualModel | Callable[..., Any]

# The lists of WEAT 7 name men first.
_N_MALE = 9
# What English words become right before another word: 'her book', but 'I saw her.'
_BEFORE_A_WORD = {"his": "her", "her": "his"}
_N_RANDOM = 10_000


def score_texts(
    scorer: Scorer, queries: Sequence[str], documents: Sequence[str], reranker: bool
) -> Vectors:
    """Score every document for every query: shape (n_queries, n_documents)."""
    if reranker:
        of_queries = np.repeat(queries, len(documents)).tolist()
        scores = _call(scorer, "(n_pairs,)", of_queries, [*documents] * len(queries))
        return scores.reshape(len(queries), len(documents))
    rows, texts = pd.factorize(np.array([*queries, *documents], dtype=object))
    vectors = unit("vectors of the scorer", _encode(scorer, texts.tolist()))[rows]
    return np.asarray(vectors[: len(queries)] @ vectors[len(queries) :].T)


def count_tokens(scorer: Scorer, names: Sequence[str]) -> Vectors:
    """Count the tokens of names; NaN if the scorer has no tokenizer or cannot read a name."""
    if not isinstance(scorer, ContextualModel):
        return np.full(len(names), np.nan)
    encoder = scorer._source.encoder
    tokens = encoder.tokenize([encoder.alone(name) for name in names])
    return np.array([len(getattr(each, "word", "")) or np.nan for each in tokens])


def _encode(scorer: Scorer, texts: list[str]) -> Vectors:
    if isinstance(scorer, ContextualModel):
        return UnitVectors(scorer).of([Context(text, 0, len(text)) for text in texts])
    return _call(scorer, "(n_texts, dim)", texts)


def _call(scorer: Scorer, shape: str, *texts: list[str]) -> Vectors:
    """Call a scorer and check that it returns one row per text or pair of texts."""
    if isinstance(scorer, ContextualModel) or not callable(scorer):
        raise TypeError(
            "scorer must be an encoder of load_encoder, a callable that encodes a list of texts "
            f"or, with reranker=True, one that scores pairs of texts; got {found(scorer)}."
        )
    values = check_array("what the scorer returns", scorer(*texts), shape)
    n = len(texts[0])
    if len(values) != n:
        raise ValueError(f"the scorer must return a row for each of {n} texts; got {len(values)}.")
    return values


def load_resume_names() -> dict[str, list[str]]:
    """Load the first names of a study of job applications, as in WEAT's test 7.

    Returns
    -------
    dict of str to list of str
        Nine names for each combination of gender and ethnicity, from Bertrand and Mullainathan, Are
        Emily and Greg More Employable than Lakisha and Jamal? American Economic Review 94(4), 2004.

    Examples
    --------
    >>> list(load_resume_names())[:2]
    ['male, European American', 'female, European American']
    """
    sets = load_weat()
    return {
        f"{gender}, {ethnicity} American": sets[f"{ethnicity.lower()}_american_names_7"][part]
        for ethnicity in ("European", "African")
        for gender, part in (("male", slice(_N_MALE)), ("female", slice(_N_MALE, None)))
    }


def match_names(
    names: Mapping[str, Sequence[str]],
    frequency: Mapping[str, float],
    *,
    encoder: ContextualModel | None = None,
    caliper: float = 0.5,
) -> dict[str, list[str]]:
    """Choose names that are about equally frequent in all groups.

    Each name of the smallest group is matched with one name of every other group so that the sum of
    the differences in frequency is minimal.

    Parameters
    ----------
    names : mapping of str to sequence of str
        The names of each group.
    frequency : mapping of str to float
        Frequency of each name on a logarithmic scale, for example from
        ``wordfreq.zipf_frequency(name, "en")`` (``wefe[names]``; occurrences per billion words).
    encoder : ContextualModel, optional
        Match only names that this encoder splits into the same number of tokens.
    caliper : float, default=0.5
        Largest difference in frequency between matched names.

    Returns
    -------
    dict of str to list of str
        As many names for each group; names at the same position match.

    Examples
    --------
    >>> frequency = {"Amy": 4.5, "Zoe": 3.9, "Bill": 4.6, "Hakim": 2.7, "Theo": 3.7}
    >>> match_names({"female": ["Amy", "Zoe"], "male": ["Bill", "Hakim", "Theo"]}, frequency)
    {'female': ['Amy', 'Zoe'], 'male': ['Bill', 'Theo']}
    """
    from scipy.optimize import linear_sum_assignment

    groups = check_groups(names)
    caliper = check_number("caliper", caliper, at_least=0)
    # Two columns: frequency, and the number of tokens, in which no difference is small enough.
    places = {}
    for group, own in groups.items():
        n_tokens = np.zeros(len(own)) if encoder is None else count_tokens(encoder, own)
        places[group] = np.column_stack([[frequency[name] for name in own], n_tokens])
    smallest = min(places.values(), key=len)
    chosen, is_matched = {}, np.ones(len(smallest), dtype=bool)
    for group, place in places.items():
        differences = np.abs(smallest[:, None] - place) @ np.array([1, caliper + 1])
        # A match beyond the caliper costs more than all others together.
        is_near = differences <= caliper
        costs = np.where(is_near, differences, caliper * len(smallest) + 1)
        rows, chosen[group] = linear_sum_assignment(costs)
        is_matched &= is_near[rows, chosen[group]]
    if not is_matched.any():
        raise ValueError(f"no names match within caliper={caliper:g}; use a larger caliper.")
    return {group: [groups[group][i] for i in rows[is_matched]] for group, rows in chosen.items()}


def check_groups(names: Any) -> dict[str, tuple[str, ...]]:
    """Return the names of at least two groups; raise an error if a name occurs twice."""
    if not isinstance(names, Mapping) or len(names) < 2:
        raise TypeError(f"names must be a dict of two or more groups; got {found(names)}.")
    groups = {str(group): check_word_set(f"names[{group!r}]", own) for group, own in names.items()}
    name, times = Counter(itertools.chain(*groups.values())).most_common(1)[0]
    if times > 1:
        raise ValueError(f"names must not repeat a name; remove one {name!r}.")
    return groups


def exchange_group_words(
    texts: Sequence[str], pairs: Sequence[Sequence[str]] | None = None
) -> tuple[list[str], list[str]]:
    """Return each text with the words of one group, and with those of the other.

    Capitals are kept. 'her' becomes 'his' right before a word and 'him' elsewhere, which is
    sometimes wrong ('I told her that'): read some of the texts.

    Parameters
    ----------
    texts : sequence of str
        The documents.
    pairs : sequence of (str, str), optional
        Words of the first group with those of the second. By default female and male pronouns and
        kinship terms (Garg et al., PNAS 2018; Caliskan et al., Science 2017).

    Returns
    -------
    first, second : list of str
        All texts with words of the first group only, and with words of the second group only.

    Examples
    --------
    >>> exchange_group_words(["He asked his sister. This is HIS."])
    (['She asked her sister. This is HERS.'], ['He asked his brother. This is HIS.'])
    """
    documents = check_word_set("texts", texts)
    exchanged = pairs or _default_pairs()
    if any(isinstance(pair, str) for pair in exchanged):
        raise TypeError(f"pairs must be pairs of words, such as ('she', 'he'); got {exchanged}.")
    to_first = {second.lower(): first for first, second in exchanged}
    to_second = {first.lower(): second for first, second in exchanged}
    before_a_word = _BEFORE_A_WORD if pairs is None else {}
    return (
        [_written(text, to_first, before_a_word) for text in documents],
        [_written(text, to_second, before_a_word) for text in documents],
    )


def compare_documents(
    scorer: Scorer,
    queries: Sequence[str],
    first: Sequence[str],
    second: Sequence[str],
    *,
    reranker: bool = False,
    random_state: int | np.random.Generator | None = 0,
) -> pd.DataFrame:
    """Test whether documents score higher with the words of one group than with the other's.

    The test exchanges the two versions of documents (paired sign-flip test, two-sided; exact up to
    40 documents).

    Parameters
    ----------
    scorer, queries : ContextualModel or callable, and sequence of str
        As for :func:`audit_ranking`.
    first, second : sequence of str
        The two versions of each document, from :func:`exchange_group_words`. Documents with equal
        versions are left out.
    reranker, random_state : optional
        As for :func:`audit_ranking`; the seed is for more than 40 documents.

    Returns
    -------
    DataFrame
        One row for the mean over queries ('all queries') and one for each query: 'query',
        'n_documents', 'gap' (mean score of the first versions minus that of the second),
        'share_first' (share of documents whose first version scores higher), 'p_value' and, for
        single queries, 'p_value_holm'.

    Raises
    ------
    ValueError
        If all versions are equal, or the scorer does not return one row per text.

    Examples
    --------
    >>> import numpy as np
    >>> first, second = exchange_group_words(["He is a nurse.", "My aunt is a nurse."])
    >>> def encode(texts):  # a toy encoder that recognises 'nurse' and female words
    ...     return np.array([["nurse" in t, 0.5 * ("She" in t or "aunt" in t), 1] for t in texts])
    >>> compare_documents(encode, ["a nurse"], first, second).round(3)["gap"].tolist()
    [-0.057, -0.057]
    """
    asked = check_word_set("queries", queries)
    versions = check_word_set("first", first), check_word_set("second", second)
    n_first, n_second = map(len, versions)
    changed = [pair for pair in zip(*versions, strict=False) if len({*pair}) > 1]
    if n_first != n_second or not changed:
        raise ValueError(
            "first and second must be two versions of the same documents that differ in one at "
            f"least; got {n_first} and {n_second} documents, of which {len(changed)} differ."
        )
    texts = itertools.chain(*zip(*changed, strict=True))
    scores = score_texts(scorer, asked, list(texts), reranker)
    differences = scores[:, : len(changed)] - scores[:, len(changed) :]
    differences = np.vstack([differences.mean(axis=0), differences])
    seed = as_seed(random_state)
    tests = [flip_test(own, "two-sided", "exact", _N_RANDOM, seed) for own in differences]
    table = pd.DataFrame({"query": ["all queries", *asked], "n_documents": len(changed)})
    table["gap"] = differences.mean(axis=1)
    table["share_first"] = (differences > 0).mean(axis=1)
    table["p_value"] = [test.p_value for test in tests]
    return table.assign(p_value_holm=holm(table["p_value"][1:]))


def _default_pairs() -> list[tuple[str, str]]:
    """Pairs of a female and a male word, some of which occur twice."""
    eds, weat = fetch_eds(offline=True), load_weat()
    female = [*weat["female_terms_2"], *eds["female_terms"]]
    return list(zip(female, [*weat["male_terms_2"], *eds["male_terms"]], strict=True))


def _written(text: str, table: Mapping[str, str], before_a_word: Mapping[str, str]) -> str:
    """Replace the words of a table; some have another form right before a word."""

    def replaced(match: re.Match[str]) -> str:
        word, follows = match.groups()
        new = table[word.lower()]
        if follows:
            new = before_a_word.get(word.lower(), new)
        if word.isupper():
            return new.upper()
        return new.capitalize() if word[0].isupper() else new

    words = "|".join(map(re.escape, table))
    return re.sub(rf"\b({words})\b(?=(\s+\w)?)", replaced, text, flags=re.IGNORECASE)
