"""Descriptors of people: HolisticBias (Smith et al., EMNLP 2022)."""

import json

from wefe._checks import check_bool
from wefe.datasets._download import fetch_file

DESCRIPTORS = "holistic_bias/descriptors.json"


def fetch_holistic_bias(
    *, several_words: bool = False, dispreferred: bool = False
) -> dict[str, list[str]]:
    """Fetch the descriptors of people of HolisticBias [1]_, version 1.1.

    The first call downloads them. Their licence is CC BY-SA 4.0, so they do not ship.

    Parameters
    ----------
    several_words : bool, default=False
        Keep descriptors such as 'hard-of-hearing' and 'physically fit'. Encoders take them; word
        embeddings have no vector for them.
    dispreferred : bool, default=False
        Keep terms that the people described dislike. The authors asked them.

    Returns
    -------
    dict of str to list of str
        'axis_group' -> its descriptors, for example 'age_old' or 'body_type_thin'; 'nonce_all' are
        invented words, a control. Groups without a word are left out.

    Raises
    ------
    ConnectionError
        If the file is neither at hand nor to be downloaded.
    ValueError
        If the file found is not the one published.

    See Also
    --------
    wefe.datasets.load_query_set : 'age', 'disability' and other query sets are made of them.

    References
    ----------
    .. [1] E. M. Smith, M. Hall, M. Kambadur, E. Presani and A. Williams. "I'm sorry to hear that":
       Finding New Biases in Language Models with a Holistic Descriptor Dataset. EMNLP 2022.

    Examples
    --------
    >>> from wefe.datasets import fetch_holistic_bias, list_datasets
    >>> cached = {row["name"]: row["cached"] for row in list_datasets()}
    >>> if cached["holistic_bias"]:
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
