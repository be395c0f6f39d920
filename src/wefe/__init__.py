"""wefe: measure the bias of word embeddings, and check how reliable the scores are.

Modules are imported when you first use them, so that ``import wefe`` is quick.
"""

import lazy_loader as lazy

from wefe import _compat

__version__ = "2.0.0rc1"

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)

_compat.install()
