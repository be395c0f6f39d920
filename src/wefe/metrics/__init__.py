"""Metrics: classes that measure the bias of a model for a query, or of arrays of vectors.

Use `run_query` of a metric for words of a model, and `run_vectors` for vectors without a model.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
