"""Contextual and sentence encoders as models: words in isolation, in templates and in contexts.

Needs ``pip install "wefe[transformers]"``; importing this package does not import torch.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
