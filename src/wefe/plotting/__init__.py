"""Figures of scores, ranks and correlations: DataFrame in, plotly figure out.

Functions neither show nor save a figure, nor change their input. Missing values are marked, with
the reason where it is known. Hover over a mark to see its values and its full name.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
