"""The most biased words in two dimensions, with the clusters that they fall into."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from wefe._checks import as_seed
from wefe.explore._directions import CriterionLike, as_criterion
from wefe.explore._maps import MapMethod, in_two_dimensions
from wefe.explore._projections import bare_words
from wefe.explore._recovery import most_biased_words
from wefe.metrics._recovery import clusters_of
from wefe.models._word_embedding_model import WordEmbeddingModel
from wefe.words import Preprocessors

if TYPE_CHECKING:
    import pandas as pd


def cluster_map(
    model: WordEmbeddingModel,
    criterion: CriterionLike = "gender",
    *,
    original: WordEmbeddingModel | None = None,
    n_words: int = 250,
    method: MapMethod = "t-sne",
    ignore: Sequence[str] = (),
    random_state: int | None = 0,
    preprocessors: Preprocessors | None = None,
) -> pd.DataFrame:
    """Draw the words of largest bias in two dimensions, and say which cluster each falls into.

    Parameters
    ----------
    model : WordEmbeddingModel
        The model to be judged, with its whole vocabulary.
    criterion : str, Criterion, mapping or sequence, default='gender'
        The groups; see :func:`bias_directions`.
    original : WordEmbeddingModel, optional
        The model before its mitigation, in which words are given to groups; by default `model`.
    n_words : int, default=250
        Words of each group; fewer, if the vocabulary is small.
    method : {'pca', 't-sne', 'umap'}, default='t-sne'
        How words are drawn. Clusters are those of the space, not of the picture.
    ignore : sequence of str, default=()
        Words that are left out, besides those to which a group rightly belongs.
    random_state : int, default=0
        Seed of the clusters, and of UMAP.
    preprocessors : list of dict, optional
        Variants of the words of the criterion; see :class:`wefe.embeddings.Lookup`.

    Returns
    -------
    pandas.DataFrame
        `word`, `x`, `y`, `group` (that of its largest bias in the original model), `cluster` (the
        group that its k-means cluster is matched with). The share of rows in which both agree is
        :func:`wefe.metrics.cluster_alignment`. :func:`wefe.plotting.plot_clusters` draws it.

    Raises
    ------
    ValueError
        If a model was opened for some words only, or too few words are left.

    References
    ----------
    Gonen and Goldberg, NAACL-HLT 2019, figure 1.

    Examples
    --------
    >>> from wefe import load_test_model
    >>> table = cluster_map(load_test_model(), n_words=50, method="pca")
    >>> list(table), float((table["group"] == table["cluster"]).mean())
    (['word', 'x', 'y', 'group', 'cluster'], 0.99)
    """
    import pandas as pd

    known, seed = as_criterion(criterion), as_seed(random_state)
    chosen = most_biased_words(model, known, original, n_words, ignore, preprocessors)
    numbers = chosen.vocabulary[np.concatenate(chosen.groups)]
    vectors = chosen.common.vectors(len(chosen.common.models) - 1, numbers)
    points = in_two_dimensions(vectors, method, seed)
    sizes = [len(rows) for rows in chosen.groups]
    names = np.array(known.class_names, dtype=object)
    own = np.repeat(np.arange(len(sizes)), sizes)
    table = pd.DataFrame(
        {
            "word": bare_words(model, [chosen.common.words[number] for number in numbers]),
            "x": points[:, 0],
            "y": points[:, 1],
            "group": names[own],
            "cluster": names[clusters_of(np.split(vectors, np.cumsum(sizes)[:-1]), seed)],
        }
    )
    table.attrs = {"model": model.name, "criterion": known.name, "groups": list(names)}
    return table
