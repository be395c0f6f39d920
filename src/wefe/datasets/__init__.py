"""Word sets of published studies, and the query sets built from them.

``fetch_*`` and :func:`load_bingliu` may download files once, into a cache. They raise
ConnectionError if that fails, ValueError if a file differs from the published one. Without
internet, use ``offline=True``, or set ``WEFE_DATA_DIR`` to a copy of another machine's cache.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
