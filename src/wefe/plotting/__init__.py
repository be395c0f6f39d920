"""Figures of scores, ranks and correlations: DataFrame in, plotly figure out.

Functions do not show or save a figure or change their input. Missing values are marked, with the
reason if known. Hover over a mark to see its values and full name.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
