"""Methods by the names that the command line takes."""

import pytest
from mitigation import METHODS, NAMES

from wefe.debias import HardDebias, get_debias_method, list_debias_methods
from wefe.debias._compare import debias_method_name


def test_methods_are_sorted_and_found_by_any_spelling():
    names = [method.__name__ for method in list_debias_methods()]
    assert names == sorted(names)
    assert len(NAMES) >= 10
    assert not {"BaseDebias", "RowwiseDebias"} & {*names}
    for name in ("HardDebias", "hard-debias", "hard_debias", "Hard Debias", "HARDDEBIAS"):
        assert get_debias_method(name) is HardDebias
    for method in METHODS:
        assert get_debias_method(debias_method_name(method)) is method
    with pytest.raises(ValueError, match="'hard-debias'"):
        get_debias_method("hard-debais")
