"""Contextual and sentence encoders as models; needs ``pip install "wefe[transformers]"``."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
