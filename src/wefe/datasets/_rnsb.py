"""Identity terms of RNSB (Sweeney & Najafian, ACL 2019)."""

from wefe.datasets._shipped import shipped_word_sets


def load_rnsb_identity_terms() -> dict[str, list[str]]:
    """Load the identity terms that RNSB was published with [1]_.

    Each term stands for a group, so in a query each is a target set of its own; the query sets
    `rnsb_national_origin` and `rnsb_religion` of :func:`load_query_set` are made that way.

    Returns
    -------
    dict of str to list of str
        `national_origin_terms` (15) and `religion_terms` (17, capitalised as published).

    References
    ----------
    .. [1] C. Sweeney and M. Najafian. A Transparent Framework for Evaluating Unintended Demographic
       Bias in Word Embeddings. ACL 2019, pages 1662-1667.

    Examples
    --------
    >>> from wefe.datasets import load_rnsb_identity_terms
    >>> load_rnsb_identity_terms()["national_origin_terms"][:3]
    ['swedish', 'irish', 'mexican']
    """
    return shipped_word_sets("rnsb")
