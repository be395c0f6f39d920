"""Models that map words to embeddings.

- `WordEmbeddingModel` wraps gensim's vectors or plain arrays.
- `load_test_model` returns the small real model that ships with the package.
- `flair_to_gensim` unwraps flair's classic word embeddings.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
