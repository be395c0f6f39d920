"""Distance between attribute sets in each model, as in table 2 of the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from wefe._checks import check_sequence, check_word_set, found
from wefe._visible import unique_labels
from wefe.embeddings import DEFAULT_THRESHOLD, embed_query
from wefe.metrics._pairs import paired as paired_sets
from wefe.metrics._pairs import too_few_tuples
from wefe.models._word_embedding_model import WordEmbeddingModel, check_models
from wefe.query import Query

Words: TypeAlias = Sequence[str]
AttributeSets: TypeAlias = Query | Mapping[str, Words] | Sequence[Words]


def mean_attribute_differences(
    attribute_sets: AttributeSets,
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
    attribute_sets : Query, mapping or sequence
        A query with two attribute sets; two sets, ``{"Female": [...], "Male": [...]}``; or a list
        of pairs, ``[["she", "he"], ["her", "his"], ...]``, whose first words form one set, the
        second words the other. Incomplete pairs are left out.
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
        'mean_attribute_difference'; 'share_of_largest', its ratio to the first row, in [0, 1];
        'n_words_1' and 'n_words_2', the number of words (or pairs) used; 'words_lost', separated by
        commas; 'nan_reason', why a distance is undefined.

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
    query, paired = _as_query(attribute_sets)
    given = check_models(models)
    lookup["normalize"] = normalize
    rows = [_measure(query, model, paired, lookup) for model in given]
    names = unique_labels([model.name for model in given], "models")
    table = pd.DataFrame(rows, index=pd.Index(names, name="model_name"))
    table = table.sort_values("mean_attribute_difference", ascending=False, kind="stable")
    distances = table["mean_attribute_difference"]
    table.insert(1, "share_of_largest", distances / distances.max())
    return table


def _as_query(given: object) -> tuple[Query, bool]:
    """Return the sets as target sets of a query, and whether they are paired."""
    paired = not isinstance(given, Query | Mapping)
    if paired:
        pairs = [check_word_set("a pair", pair) for pair in check_sequence("attribute_sets", given)]
        if {*map(len, pairs)} != {2}:
            raise ValueError(
                f"attribute_sets must be pairs of words; got {found(given)}. If they are two sets, "
                "name them: {'Female': [...], 'Male': [...]}."
            )
        given = dict(zip(("First words", "Second words"), zip(*pairs, strict=True), strict=True))
    if isinstance(given, Query):
        given = dict(zip(given.attribute_sets_names, given.attribute_sets, strict=True))
    sets: Any = given
    if len(sets) != 2:
        raise ValueError(
            f"attribute_sets must be two sets; got {len(sets)} sets. "
            "query.get_subqueries(('n', 2)) returns the subqueries of a query with two."
        )
    return Query(list(sets.values()), [], list(map(str, sets))), paired


def _measure(
    query: Query, model: WordEmbeddingModel, paired: bool, lookup: Mapping[str, Any]
) -> dict[str, Any]:
    embedded = embed_query(model, query, **lookup)
    sets, reason = embedded.targets, embedded.nan_reason
    if reason is None and paired:
        threshold = lookup.get("lost_vocabulary_threshold", DEFAULT_THRESHOLD)
        reason = too_few_tuples(sets, threshold)
    a, b = (part.vectors for part in (paired_sets(sets) if paired else sets))
    distance = np.nan if reason else float(np.linalg.norm(a.mean(axis=0) - b.mean(axis=0)))
    return {
        "mean_attribute_difference": distance,
        "n_words_1": len(a),
        "n_words_2": len(b),
        "words_lost": ", ".join(dict.fromkeys(word for part in sets for word in part.lost)),
        "nan_reason": reason,
    }
