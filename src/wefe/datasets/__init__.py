"""Word sets of published studies, and the query sets built from them.

``load_*`` reads what ships with the package. ``fetch_*`` and :func:`load_bingliu` may download each
file once, into a cache. Without internet, use ``offline=True``, or set the environment variable
``WEFE_DATA_DIR`` to a copy of another machine's cache (``bingliu/negative-words.txt``, ...).
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
