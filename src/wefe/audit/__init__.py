"""Check how reliable scores, bias directions and metrics are.

The requirements for cosine-based scores come from Schröder, Schulz, Hinder and Hammer, "Semantic
Properties of Cosine Based Bias Scores for Word Embeddings", ICPRAM 2024 ("the paper").
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
