"""Bias Silhouette Analysis: how reliable are a metric and its word lists?

:func:`bias_silhouette` measures a query with growing subsets of its words; :func:`accuracy_score`
compares two models of known bias, for example from :func:`make_biased_embeddings`.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
