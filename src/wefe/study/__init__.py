"""Studies: declare models, queries and metrics once, then run, resume and report them.

A study file (TOML) says what is measured; :class:`Study` runs what is missing of it and keeps every
result, under a hash of all that it was computed from, in one results file; :class:`StudyResults`
has the tables.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
