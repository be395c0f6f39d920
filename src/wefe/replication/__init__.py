"""Each paper's experiments in one command: its tables and figures for your models.

:func:`replicate` runs the study that a paper is known for, shows its tables and figures, and
compares what was measured with what is printed. :func:`list_replications` lists the papers.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
