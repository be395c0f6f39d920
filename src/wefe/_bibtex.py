"""Write the references of a run as BibTeX entries."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from itertools import starmap
from typing import TYPE_CHECKING

from wefe.metrics._registry import as_metric, metric_names

if TYPE_CHECKING:
    import pandas as pd

# References that no metric has, in the same form: authors, title, venue and year.
RANKING = (
    'Badilla, Bravo-Marquez and Pérez, "WEFE: The Word Embeddings Fairness Evaluation Framework", '
    "IJCAI 2020."
)
AUDIT = (
    'Schröder, Schulz, Hinder and Hammer, "Semantic Properties of Cosine Based Bias Scores for '
    'Word Embeddings", ICPRAM 2024.'
)
INTERVALS = (
    'Efron, "Better Bootstrap Confidence Intervals", Journal of the American Statistical '
    "Association 82, 1987."
)
ADJUSTED = (
    'Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian Journal of '
    'Statistics 6, 1979. Benjamini and Hochberg, "Controlling the False Discovery Rate: A '
    'Practical and Powerful Approach to Multiple Testing", Journal of the Royal Statistical '
    "Society B 57, 1995."
)
_REFERENCE = re.compile(r'([^".]+(?:et al\.)?), "([^"]+)",(?: ([^"]*?),?)? ((?:19|20)\d\d)\b')
_SOURCE = re.compile(r"^([\w-]+).*\b((?:19|20)\d\d)", re.MULTILINE)


def bibtex(metrics: Iterable[str], query_sets: Iterable[str], others: Iterable[str]) -> str:
    """Return the BibTeX entries of metrics, published query sets and other methods used."""
    from wefe.datasets import list_query_sets

    entries = _entries([*(as_metric(name).reference for name in metrics), *others])
    known = _entries([RANKING, *(as_metric(name).reference for name in metric_names())])
    sources = {entry["name"]: str(entry["source"]) for entry in list_query_sets()}
    cited = "\n".join(sources.get(name, "") for name in query_sets)
    keys = starmap(_key, _SOURCE.findall(cited))
    entries |= {key: known[key] for key in keys if key in known}
    return "\n".join(entries.values())


def others_used(tidy: pd.DataFrame, *, audited: bool) -> list[str]:
    """Return the references that a table of scores needs besides metrics and query sets."""
    used = {
        INTERVALS: tidy["score_lower"].notna().any(),
        AUDIT: audited,
        ADJUSTED: tidy["p_value"].notna().sum() > 1,
        RANKING: tidy["model_name"].nunique() > 1,
    }
    return [reference for reference, is_used in used.items() if is_used]


def _entries(references: Iterable[str]) -> dict[str, str]:
    entries = {}
    for authors, title, venue, year in _REFERENCE.findall(" ".join(references)):
        names = re.split(r", | and ", authors.strip().replace(" et al.", ", others"))
        fields = {"author": " and ".join(names), "title": f"{{{title}}}", "year": year}
        fields |= {"howpublished": venue} if venue else {}
        lines = [f"  {name} = {{{_escaped(text)}}},\n" for name, text in fields.items()]
        key = _key(names[0], year)
        entries[key] = f"@misc{{{key},\n{''.join(lines)}}}\n"
    return entries


def _key(author: str, year: str) -> str:
    # BibTeX keys are ASCII letters.
    plain = unicodedata.normalize("NFKD", author.casefold()).encode("ascii", "ignore").decode()
    return f"{plain}{year}"


def _escaped(text: str) -> str:
    return re.sub(r"([&%$#_])", r"\\\1", text)
