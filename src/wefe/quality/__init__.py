"""External quality of embeddings: word similarity, analogies, categorisation, outlier detection.

Rank models by quality as well as by bias (WEFE paper, section 4.2): a model may be good at one and
bad at the other.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
