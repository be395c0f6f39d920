"""External quality of embeddings: how well do they do what embeddings are used for?

Word similarity and relatedness, analogies, and categorisation, on benchmark files. The ranking by
quality stands beside the rankings by bias (WEFE paper, section 4.2, its column WEB): a model may be
good at one and bad at the other.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
