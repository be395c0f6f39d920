"""Word sets of published studies, and the query sets built from them.

``load_*`` reads what ships with the package. ``fetch_*`` and :func:`load_bingliu` may download each
file once, into a cache; they raise ConnectionError if that fails and ValueError if the content is
not as published. Without internet, use ``offline=True``, or set the environment variable
``WEFE_DATA_DIR`` to a folder with the files (``bingliu/negative-words.txt``, ...), for example a
copy of another machine's cache.

Examples
--------
>>> from wefe.datasets import load_weat
>>> load_weat()["career"][:3]
['executive', 'management', 'professional']
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
