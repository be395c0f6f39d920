"""The report of a study, for readers without Python; it starts with the findings in words."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
