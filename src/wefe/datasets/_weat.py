"""Word sets of the ten WEAT tests (Caliskan, Bryson & Narayanan, Science 2017)."""

from wefe.datasets._shipped import shipped_word_sets


def load_weat() -> dict[str, list[str]]:
    """Load the word sets of the ten WEAT tests; :func:`load_weat_queries` has the tests.

    Source: Caliskan et al., Semantics derived automatically from language corpora, Science 2017.

    Returns
    -------
    dict of str to list of str
        32 sets, cased as published: `flowers`, `insects`, `pleasant_5`, `career`, `male_terms` ...
        A number names the test of a variant. `unpleasant_5a` is for tests 1 and 2, `unpleasant_5b`
        for tests 3 and 4; `unpleasant_5` is an alias of `unpleasant_5a`.

    Examples
    --------
    >>> load_weat()["male_names"]
    ['John', 'Paul', 'Mike', 'Kevin', 'Steve', 'Greg', 'Jeff', 'Bill']
    """
    return shipped_word_sets("weat")
