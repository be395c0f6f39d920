"""The word lists of Bias Silhouette Analysis (Spliethöver and Wachsmuth, IJCAI 2021)."""

import itertools
import json

from wefe.datasets._download import fetch_file

LEXICON = "bsa/social-bias-lexicon.json"


def fetch_bsa() -> dict[str, list[str]]:
    """Fetch the word lists of Bias Silhouette Analysis; the first call downloads them.

    They combine lists of earlier studies. Names are capitalised, and 19 surnames are in both lists
    of ethnicity, as published. The query set 'bsa' of :func:`load_query_set` has the three queries
    of the study. Source: M. Spliethöver and H. Wachsmuth, Bias Silhouette Analysis: Towards
    Assessing the Quality of Bias Metrics for Word Embedding Models, IJCAI 2021.

    Returns
    -------
    dict of str to list of str
        Groups, for example `male` and `female` (39 words each), then concepts, for example
        `male_professions` (224), `female_professions` (66), `positive` (2006), `negative` (4783).

    Raises
    ------
    ConnectionError, ValueError
        If the download fails, or the file is not the published one.

    Examples
    --------
    >>> from wefe.datasets import fetch_bsa, list_datasets
    >>> if {row["name"]: row["cached"] for row in list_datasets()}["bsa"]:
    ...     assert len(fetch_bsa()["female"]) == 39
    """
    lexicon = json.loads(fetch_file(LEXICON).read_text(encoding="utf-8"))
    groups = itertools.chain(*(each.items() for each in lexicon["target_sets"].values()))
    return {name: each["set"] for name, each in [*groups, *lexicon["attribute_sets"].items()]}
