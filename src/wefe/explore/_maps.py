"""Words in two dimensions."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np

from wefe._checks import as_seed, check_choice, import_library
from wefe.metrics._geometry import Vectors, unit

MapMethod: TypeAlias = Literal["pca", "t-sne", "umap"]
METHODS = {"pca": "PCA", "t-sne": "t-SNE", "umap": "UMAP"}
# t-SNE and UMAP need many words.
_FEWEST = 8


def in_two_dimensions(vectors: Any, method: str = "pca", random_state: int | None = 0) -> Vectors:
    """Map words to two dimensions by their directions.

    Parameters
    ----------
    vectors : array-like of shape (n_words, dim)
        Word vectors; they are scaled to unit length.
    method : {'pca', 't-sne', 'umap'}, default='pca'
        't-sne' uses scikit-learn, 'umap' needs umap-learn (``pip install "wefe[umap]"``) and raises
        ImportError without it.
    random_state : int, default=0
        Seed of UMAP. PCA and t-SNE (started from PCA) are deterministic.

    Returns
    -------
    ndarray of shape (n_words, 2)
        For PCA, the plane of largest variance; zeros in dimensions without variance.

    Examples
    --------
    >>> in_two_dimensions([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])[:1].round(2)
    array([[-0.76, -0.07]])
    """
    check_choice("method", method, METHODS)
    units = unit("vectors", vectors)
    if method == "pca" or len(units) < _FEWEST:
        centred = units - units.mean(axis=0)
        left, singular, axes = np.linalg.svd(centred, full_matrices=False)
        # Fix the arbitrary sign of a component: its largest coordinate is positive.
        signs = np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])
        points = np.zeros((len(units), 2))
        width = min(2, len(singular))
        points[:, :width] = (left * singular * signs)[:, :width]
        return points
    seed = as_seed(random_state)
    if method == "t-sne":
        from sklearn.manifold import TSNE

        perplexity = min(30.0, (len(units) - 1) / 3)
        map_ = TSNE(2, perplexity=perplexity, init="pca", random_state=seed, metric="cosine")
        return np.asarray(map_.fit_transform(units), dtype=np.float64)
    umap = import_library("umap", "umap", "method='umap'")
    n_neighbors = min(15, len(units) - 1)
    map_ = umap.UMAP(n_neighbors=n_neighbors, metric="cosine", random_state=seed, n_jobs=1)
    return np.asarray(map_.fit_transform(units), dtype=np.float64)
