"""Plans: what is asked of them by a label."""

import pytest

from wefe.study import Study


@pytest.mark.parametrize("of", ["model", "query_set", "metric"])
def test_a_label_that_the_plan_lacks_is_refused_with_those_it_has(of):
    plan = Study.example().plan
    listed = {
        "model": [model.label for model in plan.models],
        "query_set": [part.name for part in plan.query_sets],
        "metric": [metric.label for metric in plan.metrics],
    }[of]
    for label in listed:
        assert getattr(plan, of)(label) is not None
    near = listed[0][:-1]
    with pytest.raises(ValueError, match="of this study, which has") as caught:
        getattr(plan, of)(near)
    assert all(repr(label) in str(caught.value) for label in listed)
    assert "Did you mean" in str(caught.value)
