"""Texts of strangers, such as names in a file: what would be obeyed, or not seen, is shown."""

from __future__ import annotations

import re

# Control characters, line ends, marks that turn the direction of text, halves of characters, and
# codes that no text has (reports mark names with them). No joiners and marks of one letter
# that some scripts need.
_HIDDEN = "\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef"
HIDDEN = re.compile(f"[{_HIDDEN}]")


def visible(text: str, keep: str = "") -> str:
    r"""Return a text with escapes for what is not seen, or is obeyed by terminals and pages.

    Parameters
    ----------
    text : str
        Any text.
    keep : str, default=''
        Characters that stay as they are: line ends, where there may be several lines.

    Examples
    --------
    >>> print(visible("glove\x1b[2J \u202e"))
    glove\u001b[2J \u202e
    """
    return HIDDEN.sub(
        lambda found: found[0] if found[0] in keep else f"\\u{ord(found[0]):04x}", text
    )
