"""The report of a study: what it found, in words first, for people who have no Python.

:func:`summarize` says everything as plain data; :func:`to_html` and :func:`to_markdown` show it.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
