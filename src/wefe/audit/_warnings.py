"""What an audit has to say against a number, in words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AuditWarning:
    """A reason not to take a score at face value.

    ``str`` of it is its kind and its message.

    Attributes
    ----------
    kind : str
        What was found, in lower case with hyphens, for programs: 'cancelling-biases'.
    message : str
        What was found and what it means, for people: one or two sentences with the numbers.

    See Also
    --------
    wefe.audit.score_warnings : those that concern the score of a metric.

    Examples
    --------
    >>> from wefe.audit import AuditWarning
    >>> print(AuditWarning("cancelling-biases", "The score is 0, and no word is."))
    cancelling-biases: The score is 0, and no word is.
    """

    kind: str
    message: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"
