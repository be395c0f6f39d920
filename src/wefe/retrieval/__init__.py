"""Audit whom encoders and rerankers rank first, with documents that differ only in a name."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
