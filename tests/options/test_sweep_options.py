"""The options of `jaxbench sweep`: its own, and those in place of the study's."""

import pytest

from jaxbench.errors import BadRequest
from jaxbench.options.study import study_names
from jaxbench.options.sweep import OVERRIDES, OWN_NAMES, SWEEP, overrides, study_and_size


def test_every_option_has_one_meaning():
    names = [option.name for option in SWEEP]
    assert len(set(names)) == len(names)
    assert set(OWN_NAMES) >= {"study", "size", "resume", "out", "overwrite", "memory", "dry_run"}
    assert {option.published for option in OVERRIDES} == {"the study's"}


def test_only_what_is_given_takes_the_studys_place():
    given = dict.fromkeys([option.name for option in SWEEP])
    assert overrides(given) == {}
    own = {"study": "published", "size": "full", "out": "x", "resume": True, "memory": "1GB"}
    assert overrides(given | own | {"trials": 3, "save_trials": False}) == {
        "trials": 3, "save_trials": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    "options",
    [
        {"benchmark": "a", "path": "b"},
        {"world": {"items": 60}, "benchmark": "a"},
        {"world": {}, "path": "b"},
    ],
)
def test_outcomes_come_from_one_place(options):
    with pytest.raises(BadRequest, match="outcomes come from one of"):
        overrides(options)


def test_study_and_size():
    assert study_and_size({"study": "published", "size": None}) == ("published", "smoke")
    assert study_and_size({"study": "published", "size": "full"}) == ("published", "full")
    with pytest.raises(BadRequest) as refusal:
        study_and_size({"study": None})
    for name in study_names():
        assert name in str(refusal.value)
