"""Where labels stand beside their points, so that they can be read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

_LABEL_PX, _GLYPH_PX = 14, 6.4
# Where a label may stand beside its point: plotly's name, and its middle relative to the point,
# in half label widths and heights beyond the point.
_SPOTS = {
    "middle right": (1, 0),
    "middle left": (-1, 0),
    "top center": (0, 1),
    "bottom center": (0, -1),
    "top right": (1, 1),
    "top left": (-1, 1),
    "bottom right": (1, -1),
    "bottom left": (-1, -1),
}


class _Box(NamedTuple):
    """A rectangle in pixels."""

    x: float
    y: float
    half_width: float
    half_height: float

    def meets(self, other: _Box) -> bool:
        return (
            abs(self.x - other.x) < self.half_width + other.half_width
            and abs(self.y - other.y) < self.half_height + other.half_height
        )

    def beyond(self, within: tuple[float, float, float, float]) -> float:
        """Return how many pixels of the rectangle, at most, lie outside another one."""
        left, low, right, high = within
        return max(
            left - (self.x - self.half_width),
            self.x + self.half_width - right,
            low - (self.y - self.half_height),
            self.y + self.half_height - high,
            0.0,
        )


def place_labels(
    points: Sequence[tuple[float, float]],
    labels: Sequence[str],
    order: Iterable[int],
    sizes: Sequence[float],
    *,
    within: tuple[float, float, float, float] | None = None,
    always: Collection[int] = (),
    first: Mapping[int, str] | None = None,
) -> dict[int, str]:
    """Choose which points are labelled, and on which side, so that no two labels overlap.

    Parameters
    ----------
    points : sequence of (float, float)
        Where the points are, in pixels.
    labels : sequence of str
        What would be written beside each.
    order : iterable of int
        Points by falling importance; others get no label, but none is written over them.
    sizes : sequence of float
        Diameters of the points, in pixels.
    within : (left, low, right, high), optional
        The plot area in pixels: no label reaches out of it.
    always : collection of int, default=()
        Points that have a label even where there is no room: where it covers least.
    first : mapping, optional
        Point -> the side to be tried first.

    Returns
    -------
    dict
        Point -> plotly's `textposition`. A point without room around it is not in it.
    """
    taken = [_Box(x, y, size / 2, size / 2) for (x, y), size in zip(points, sizes, strict=True)]
    chosen: dict[int, str] = {}
    for point in order:
        (x, y), beside = points[point], sizes[point] / 2 + 2
        wide, high = _GLYPH_PX * len(labels[point]) / 2, _LABEL_PX / 2
        boxes = {
            # plotly moves a label aside by the radius of the point, in each direction it names.
            spot: _Box(x + right * (wide + beside), y + up * (high + beside), wide, high)
            for spot, (right, up) in _SPOTS.items()
        }
        tried = sorted(boxes, key=lambda spot: spot != (first or {}).get(point))
        cost = {
            spot: (
                boxes[spot].beyond(within) if within else 0.0,
                sum(map(boxes[spot].meets, taken)),
            )
            for spot in tried
        }
        best = min(tried, key=cost.__getitem__)
        if point in always or cost[best] == (0, 0):
            chosen[point] = best
            taken.append(boxes[best])
    return chosen
