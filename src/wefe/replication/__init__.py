"""Compute the tables and figures of published papers for your models.

:func:`replicate` compares the results with the printed values; :func:`list_replications` lists
the papers.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
