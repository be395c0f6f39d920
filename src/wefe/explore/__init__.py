"""Explore words, directions and neighbourhoods: which words carry a bias, not only how large it is.

Projections on a bias direction, extreme words, pages of a word and of a model, analogies along a
direction, association with statistics of the world, and the words that rightly belong to a group.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
