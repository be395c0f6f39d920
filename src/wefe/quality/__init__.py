"""External quality of embeddings: word similarity, analogies, categorisation, outlier detection."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
