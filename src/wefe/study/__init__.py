"""Studies: declare models, queries and metrics once, then run, resume and report them.

A study file (TOML) declares what to measure. :class:`Study` computes the results that are missing
and stores all of them in one results file. :class:`StudyResults` provides the tables.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
