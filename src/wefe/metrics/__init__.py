"""Metrics: from a query and a model to a number.

Every metric is a class with `run_query` (WEAT, RND, RNSB, MAC, ECT, RIPA, DirectBias, SAME,
GeneralizedWEAT) over a pure function on arrays (weat, rnd, rnsb, ...).
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
