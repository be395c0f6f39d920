"""Mitigation: methods that lower the bias of a model, and measures of their effects.

Every method is a class with `fit`, `transform` and `fit_transform`; :func:`compare` measures
models before and after.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
