"""Can the groups be recovered from a model? The tests of Gonen and Goldberg, for its words."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wefe._checks import as_seed, check_positive_int, check_word_set
from wefe.datasets import Criterion
from wefe.debias._base import check_words
from wefe.debias._residual import CommonWords, plain_words
from wefe.embeddings import embed_tuples
from wefe.explore._directions import CriterionLike, as_criterion, bias_directions
from wefe.explore._lookup import every_form
from wefe.metrics._geometry import Vectors, unit
from wefe.metrics._recovery import (
    RecoveryTest,
    classification_test,
    cluster_test,
    members,
    neighborhood_test,
    projection_test,
)
from wefe.models._passes import Rows
from wefe.models._search import nearest_neighbors
from wefe.models._word_embedding_model import WordEmbeddingModel, check_model
from wefe.words import Preprocessors, check_preprocessors, variants

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = ["test", "group", "value", "chance", "low", "high", "p_value", "n_words", "note"]
# A classifier learns from one word per group, and is tested on another.
_FEWEST_WORDS = 2


def recovery_tests(
    model: WordEmbeddingModel,
    criterion: CriterionLike = "gender",
    *,
    original: WordEmbeddingModel | None = None,
    n_words: int = 500,
    k: int = 100,
    words: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    random_state: int | np.random.Generator | None = 0,
    preprocessors: Preprocessors | None = None,
) -> pd.DataFrame:
    """Test whether the groups that words were biased towards can be recovered from a model.

    Parameters
    ----------
    model : WordEmbeddingModel
        The model to be judged, with its whole vocabulary.
    criterion : str, Criterion, mapping or sequence, default='gender'
        The groups; see :func:`wefe.explore.bias_directions`.
    original : WordEmbeddingModel, optional
        The model before its mitigation, in which words are given to groups; by default `model`
        itself. Then the tests say how far biased words lie apart, which they do by choice: compare
        with other models, and not with chance.
    n_words : int, default=500
        Words of each group: those of largest bias. Of a small vocabulary fewer are taken: the
        words of all groups are half of it at most.
    k : int, default=100
        Number of neighbours.
    words : sequence of str, optional
        Words whose neighbours and projections are looked at, for example occupations, as
        published; by default the most frequent ones, `n_words` for each group.
    ignore : sequence of str, default=()
        Words that are left out, besides those to which a group rightly belongs (the specific
        words of the criterion).
    random_state : int, Generator or None, default=0
        Seed of all that is random.
    preprocessors : list of dict, optional
        Variants of the words of the criterion and of `words`; see
        :class:`wefe.embeddings.Lookup`.

    Returns
    -------
    pandas.DataFrame
        One row for each test:

        - 'test': 'clusters', 'classification (rbf)', 'classification (linear)', 'neighbours', and,
          with `original`, 'projections';
        - 'group': the one whose shares and biases are correlated, for the last two tests (of two
          groups the first: the other mirrors it); '' where all groups are told apart;
        - 'value', 'chance', 'low', 'high' (95 % interval), 'p_value', 'n_words': see
          :class:`wefe.metrics.RecoveryTest`;
        - 'note': why a value is NaN, and which words are missing.

    Raises
    ------
    TypeError
        If an argument is of another type.
    ValueError
        If a model was opened for some words only, the original model lacks the words that stand for
        the groups, or too few words are left.

    Notes
    -----
    Words are those of both models among the 50,000 most frequent: in lower case, shorter than 20
    letters, without digits and punctuation. Of two groups, bias is cos(w, first) - cos(w, second)
    with the words that represent them ('she' and 'he'); of more, the cosine with each direction of
    :func:`wefe.metrics.group_directions`, and a word belongs to the group of its largest bias.

    The published values belong to other models; the packaged vectors are too few to compare.

    References
    ----------
    Gonen and Goldberg, "Lipstick on a Pig: Debiasing Methods Cover up Systematic Gender Biases in
    Word Embeddings But do not Remove Them", NAACL-HLT 2019, for two groups.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> from wefe.datasets import load_criterion
    >>> from wefe.debias import HardDebias
    >>> model, gender = load_test_model(), load_criterion("gender", offline=True)
    >>> debiased = HardDebias().fit_transform(
    ...     model, criterion=gender, ignore=gender.specific_words
    ... )
    >>> table = recovery_tests(debiased, gender, original=model, n_words=100, k=20)
    >>> table[["test", "value", "chance", "low", "high"]].round(2)
                          test  value  chance   low  high
    0                 clusters   0.90    0.53  0.85  0.93
    1     classification (rbf)   0.91    0.50  0.86  0.95
    2  classification (linear)   0.92    0.50  0.86  0.95
    3               neighbours   0.73    0.00  0.65  0.80
    4              projections    NaN    0.00   NaN   NaN
    >>> table.note[4]
    'nothing but rounding is left of the projections'
    """
    k, seed, known = check_positive_int("k", k), as_seed(random_state), as_criterion(criterion)
    chosen = most_biased_words(model, known, original, n_words, ignore, preprocessors)
    common, vocabulary, axes, notes = chosen.common, chosen.vocabulary, chosen.axes, chosen.notes
    vectors = common.vectors(len(common.models) - 1, vocabulary)
    groups = [vectors[rows] for rows in chosen.groups]
    tests: list[tuple[str, str, RecoveryTest, list[str]]] = [
        ("clusters", "", cluster_test(groups, random_state=seed), notes),
        ("classification (rbf)", "", classification_test(groups, random_state=seed), notes),
        (
            *("classification (linear)", ""),
            *(classification_test(groups, kernel="linear", random_state=seed), notes),
        ),
    ]
    asked, lost = vocabulary[: n_words * known.n_classes], list(notes)
    if words is not None:
        asked = _asked(common, check_word_set("words", words), preprocessors, lost)
    everything = np.concatenate([vocabulary, np.setdiff1d(asked, vocabulary)])
    rows = np.flatnonzero(np.isin(everything, asked))
    bias = _bias(common, 0, axes, everything)
    # Of two groups one mirrors the other.
    looked_at = range(1 if known.n_classes == 2 else known.n_classes)
    tests += [
        ("neighbours", known.class_names[group], test, noted)
        for group, test, noted in _neighbors(
            common, everything, bias, rows, looked_at, k, seed, lost
        )
    ]
    if original is not None:
        after, why = _after(common, model, known, preprocessors, everything[rows])
        for group in looked_at:
            test = projection_test(bias[rows, group], after[:, group], random_state=seed)
            test = dataclasses.replace(test, nan_reason=why) if why else test
            tests.append(("projections", known.class_names[group], test, lost))
    return _frame(tests, model, common.models[0], known)


class MostBiased(NamedTuple):
    """The words of largest bias towards each group, in the original model."""

    # The original model first, and the one to be judged, if that is another one.
    common: CommonWords
    # Numbers of all words that may be chosen, and positions in it per group.
    vocabulary: Rows
    groups: list[Rows]
    # What unit vectors are multiplied by to get biases.
    axes: Vectors
    notes: list[str]


def most_biased_words(
    model: WordEmbeddingModel,
    criterion: Criterion,
    original: WordEmbeddingModel | None,
    n_words: int,
    ignore: Sequence[str],
    preprocessors: Preprocessors | None,
) -> MostBiased:
    """Choose the words that tests of recovery look at; see :func:`recovery_tests`."""
    check_model(model)
    models = [model]
    if original is not None:
        check_model(original)
        models = [original, model]
    for each in models:
        if each.held == "selected":
            raise ValueError(
                f"these tests need the whole vocabulary, and {each.name} was opened for some words "
                "only; load it whole. Of an encoder, take a snapshot of all words that matter."
            )
    n_words = check_positive_int("n_words", n_words)
    words = every_form(
        [*criterion.specific_words, *criterion.representatives, *check_words("ignore", ignore)],
        preprocessors,
    )
    common, notes = CommonWords(models), list[str]()
    n_lost = len(models[0].vocab) - len(common)
    if n_lost:
        notes.append(f"{n_lost:,} words of {models[0].name} are not in {model.name}")
    vocabulary = common.usable(plain_words(common, set(words), notes))
    axes = _axes(models[0], criterion, preprocessors)
    groups = _most_biased(_bias(common, 0, axes, vocabulary), n_words, notes)
    return MostBiased(common, vocabulary, groups, axes, notes)


def _axes(
    model: WordEmbeddingModel, criterion: Criterion, preprocessors: Preprocessors | None
) -> Vectors:
    """Return what the unit vectors of words are multiplied by: shape (n_groups, dim)."""
    if criterion.n_classes > 2:
        return bias_directions(model, criterion, preprocessors=preprocessors).towards
    found = embed_tuples(
        *(model, [criterion.representatives], "representatives", preprocessors),
        warn_lost_sets=False,
    )
    if not found:
        raise ValueError(
            f"{model.name} lacks one of {', '.join(criterion.representatives)}, which represent "
            "the groups; name other words: Criterion(..., representatives=[...])."
        )
    vectors = [found[0].vectors[row] for row in found[0].first_row if row is not None]
    first, second = unit("representatives", vectors)
    return np.stack([first - second, second - first])


def _bias(common: CommonWords, model: int, axes: Vectors, numbers: Rows) -> Vectors:
    bias = np.empty((len(numbers), len(axes)))
    for part in common.blocks(len(numbers)):
        bias[part] = unit("words", common.vectors(model, numbers[part])) @ axes.T
    return bias


def _most_biased(bias: Vectors, n_words: int, notes: list[str]) -> list[Rows]:
    """Return positions of the words of largest bias towards each group, no word of two groups."""
    belongs = members(bias)
    n_groups = bias.shape[1]
    per_group = int(min(n_words, len(bias) // (2 * n_groups), belongs.sum(axis=0).min()))
    if per_group < _FEWEST_WORDS:
        raise ValueError(
            f"each of {n_groups} groups needs {_FEWEST_WORDS} words or more that are biased "
            f"towards it; of the {len(bias)} words that may be chosen there are "
            f"{belongs.sum(axis=0).tolist()}. Take a model with more words."
        )
    if per_group < n_words:
        notes.append(f"{per_group} words per group, of the {len(bias):,} that may be chosen")
    order = np.argsort(np.where(belongs, -bias, math.inf), axis=0, kind="stable")
    return list(order[:per_group].T)


def _asked(
    common: CommonWords,
    words: Sequence[str],
    preprocessors: Preprocessors | None,
    notes: list[str],
) -> Rows:
    checked, prefix = check_preprocessors(preprocessors), common.models[0].vocab_prefix
    numbers = []
    for word in dict.fromkeys(words):
        hits = (common.find(form) for form in variants(word, checked, prefix))
        numbers.append(next((hit for hit in hits if hit is not None), None))
    known = np.array([number for number in numbers if number is not None], dtype=np.intp)
    asked = common.usable(np.unique(known))
    if len(asked) < len(numbers):
        notes.append(f"{len(numbers) - len(asked)} of {len(numbers)} words not found")
    return asked


def _neighbors(
    common: CommonWords,
    everything: Rows,
    bias: Vectors,
    rows: Rows,
    looked_at: Sequence[int],
    k: int,
    seed: int,
    notes: list[str],
) -> list[tuple[int, RecoveryTest, list[str]]]:
    vectors = common.vectors(len(common.models) - 1, everything)
    k_possible = min(k, len(everything) - 1)
    if k_possible < k:
        notes = [*notes, f"{k_possible} neighbours, as there are few words"]
    near, _ = nearest_neighbors(vectors, vectors[rows], k_possible, exclude=rows)
    belongs = members(bias)
    return [
        (
            group,
            neighborhood_test(
                *(near, belongs[:, group], bias[:, group], rows, bias.shape[1]), random_state=seed
            ),
            notes,
        )
        for group in looked_at
    ]


def _after(
    common: CommonWords,
    model: WordEmbeddingModel,
    criterion: Criterion,
    preprocessors: Preprocessors | None,
    numbers: Rows,
) -> tuple[Vectors, str]:
    """Return biases in the model to be judged, zero where they cannot be told, and why so."""
    nothing = np.zeros((len(numbers), criterion.n_classes))
    try:
        after = _bias(common, 1, _axes(model, criterion, preprocessors), numbers)
    except ValueError as error:
        return nothing, str(error)
    if np.abs(after).max(initial=0) <= 16 * float(np.finfo(model.dtype).eps):
        return nothing, "nothing but rounding is left of the projections"
    return after, ""


def _frame(
    tests: Sequence[tuple[str, str, RecoveryTest, list[str]]],
    model: WordEmbeddingModel,
    original: WordEmbeddingModel,
    criterion: Criterion,
) -> pd.DataFrame:
    import pandas as pd

    records = [
        (
            *(name, group, test.value, test.chance, *test.interval, test.p_value, test.n_words),
            "; ".join(filter(None, [test.nan_reason, *notes])),
        )
        for name, group, test, notes in tests
    ]
    table = pd.DataFrame(records, columns=_COLUMNS)
    table.attrs = {"model": model.name, "original": original.name, "criterion": criterion.name}
    return table
