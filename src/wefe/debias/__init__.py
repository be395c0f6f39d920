"""Mitigation methods, which lower bias, and :func:`compare`, which measures the effect."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
