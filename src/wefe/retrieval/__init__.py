"""Audit whom encoders and rerankers rank first, with documents that differ only in a name.

:func:`audit_ranking` compares how groups of names are ranked; :func:`compare_documents` does it for
your own texts with exchanged group words.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
