"""The word lists of Bias Silhouette Analysis (Spliethöver and Wachsmuth, IJCAI 2021)."""

import itertools
import json

from wefe.datasets._download import fetch_file

LEXICON = "bsa/social-bias-lexicon.json"


def fetch_bsa() -> dict[str, list[str]]:
    """Fetch the word lists of Bias Silhouette Analysis [1]_; the first call downloads them.

    They join lists of earlier studies, first names of Dev and Phillips among them. Words are as
    published: names have capitals, and 19 surnames are in both lists of ethnicity.

    Returns
    -------
    dict of str to list of str
        Groups, for example `male` and `female` (39 words each), then concepts, for example
        `male_professions` (224), `female_professions` (66), `positive` (2006), `negative` (4783).

    Raises
    ------
    ConnectionError
        If the file is neither at hand nor to be downloaded.
    ValueError
        If the file found is not the one published.

    See Also
    --------
    wefe.datasets.load_query_set : 'bsa' holds the three queries of the study.

    References
    ----------
    .. [1] M. Spliethöver and H. Wachsmuth. Bias Silhouette Analysis: Towards Assessing the Quality
       of Bias Metrics for Word Embedding Models. IJCAI 2021.

    Examples
    --------
    >>> from wefe.datasets import fetch_bsa, list_datasets
    >>> cached = {row["name"]: row["cached"] for row in list_datasets()}
    >>> if cached["bsa"]:
    ...     assert len(fetch_bsa()["female"]) == 39
    """
    lexicon = json.loads(fetch_file(LEXICON).read_text(encoding="utf-8"))
    groups = itertools.chain(*(each.items() for each in lexicon["target_sets"].values()))
    return {name: each["set"] for name, each in [*groups, *lexicon["attribute_sets"].items()]}
