"""Metrics: classes that measure the bias of a model for a query, and the same formulas on arrays.

For each class with `run_query` (WEAT, RND, ...) there are functions on arrays (weat, rnd, ...).
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
