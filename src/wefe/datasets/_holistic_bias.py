"""Descriptors of people: HolisticBias (Smith et al., EMNLP 2022)."""

import json

from wefe._checks import check_bool
from wefe.datasets._download import fetch_file

DESCRIPTORS = "holistic_bias/descriptors.json"


def fetch_holistic_bias(
    *, several_words: bool = False, dispreferred: bool = False
) -> dict[str, list[str]]:
    """Fetch the descriptors of people of HolisticBias, version 1.1; the first call downloads them.

    Their licence is CC BY-SA 4.0, so they do not ship. 'age', 'disability' and other query sets of
    :func:`load_query_set` use them. Source: Smith et al., "I'm sorry to hear that": Finding New
    Biases in Language Models with a Holistic Descriptor Dataset, EMNLP 2022.

    Parameters
    ----------
    several_words : bool, default=False
        Keep descriptors such as 'hard-of-hearing', which only encoders can embed.
    dispreferred : bool, default=False
        Keep terms that the people described dislike, according to a survey of the authors.

    Returns
    -------
    dict of str to list of str
        'axis_group' -> its descriptors, for example 'age_old' or 'body_type_thin'. 'nonce_all' has
        invented words, a control. Groups without a word are left out.

    Raises
    ------
    ConnectionError, ValueError
        If the download fails, or the file is not the published one.

    Examples
    --------
    >>> from wefe.datasets import fetch_holistic_bias, list_datasets
    >>> if {row["name"]: row["cached"] for row in list_datasets()}["holistic_bias"]:
    ...     assert fetch_holistic_bias()["age_young"] == ["young", "younger"]
    """
    check_bool("several_words", several_words)
    check_bool("dispreferred", dispreferred)
    sets = {}
    for axis, groups in json.loads(fetch_file(DESCRIPTORS).read_text(encoding="utf-8")).items():
        for group, entries in groups.items():
            words = []
            for entry in entries:
                described = {"descriptor": entry} if isinstance(entry, str) else entry
                word = described["descriptor"]
                is_kept = dispreferred or described.get("preference") != "dispreferred"
                if is_kept and (several_words or not set(word) & {" ", "-"}):
                    words.append(word)
            if words:
                sets[f"{axis}_{group}"] = list(dict.fromkeys(words))
    return sets
