"""Check how reliable scores, bias directions and metrics are.

Individual biases and what their aggregate hides; bias directions that do not represent their
pairs; and the formal requirements for cosine-based scores (Schröder, Schulz, Hinder and Hammer,
"Semantic Properties of Cosine Based Bias Scores for Word Embeddings", ICPRAM 2024).
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
