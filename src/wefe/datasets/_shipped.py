"""What the package carries as JSON files: word lists that name their source, and tables."""

import json
from importlib import resources
from typing import Any


def read_shipped(name: str) -> dict[str, Any]:
    """Read one shipped file.

    Parameters
    ----------
    name : str
        File in ``data/``, without its suffix.

    Returns
    -------
    dict
        Of word lists `name`, `source` (`citation`, `url`, `note`) and `word_sets`.

    Examples
    --------
    >>> read_shipped("rnsb")["source"]["url"]
    'https://doi.org/10.18653/v1/P19-1162'
    """
    # Parsed at every call, so that nobody can change the lists of somebody else's next call.
    text = resources.files("wefe.datasets").joinpath("data", f"{name}.json").read_text("ascii")
    data: dict[str, Any] = json.loads(text)
    for alias, key in data.pop("aliases", {}).items():
        data["word_sets"][alias] = list(data["word_sets"][key])
    return data


def shipped_word_sets(name: str) -> dict[str, Any]:
    """Return the word sets of one shipped file; see :func:`read_shipped`.

    Examples
    --------
    >>> shipped_word_sets("eds")["male_terms"][:3]
    ['he', 'son', 'his']
    """
    word_sets: dict[str, Any] = read_shipped(name)["word_sets"]
    return word_sets
