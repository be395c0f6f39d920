"""Word sets of published studies, and the query sets built from them.

``load_*`` reads what ships with the package; ``fetch_*`` (and :func:`load_bingliu`, whose name is
older than that rule) may download. Downloads happen once, at the call that needs them, and every
file is compared with a known checksum. ``offline=True`` keeps a call to the shipped words. Where
there is no internet, the environment variable ``WEFE_DATA_DIR`` may name a folder with the bulk
files (``bingliu/negative-words.txt``, ...), for example a copy of another machine's cache.

Examples
--------
>>> from wefe.datasets import load_weat, load_weat_queries
>>> load_weat()["career"][:3]
['executive', 'management', 'professional']
>>> len(load_weat_queries())
10
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
