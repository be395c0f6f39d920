"""Bias Silhouette Analysis: how reliable are a metric and its word lists?

:func:`bias_silhouette` measures a query with ever more of its words, in many random orders;
:func:`accuracy_score` compares two models with known bias, which :func:`make_biased_embeddings`
can make.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
