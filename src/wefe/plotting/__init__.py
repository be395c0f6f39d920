"""Figures of scores, ranks and correlations: DataFrame in, plotly figure out.

No function shows or saves a figure, or changes its input. Names are wrapped, never cut; the height
follows the content, and the width is left to the page (a heat map has a size of its own). What has
no value is marked as such, with the reason where it is known.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
