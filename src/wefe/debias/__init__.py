"""Mitigation methods, which lower bias; :func:`wefe.debias.compare` measures the effect."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
