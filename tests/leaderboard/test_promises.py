"""Sentences of theory: what they promise about every mechanism, with its numbers."""

import pytest

from jaxbench.leaderboard.promise_words import Size, digits
from jaxbench.leaderboard.promises import chain_promises
from jaxbench.options.choosing import mechanism
from jaxbench.options.mechanism import MECHANISMS

EXAMPLES = {
    "rounding": "rounding:0.01",
    "gaussian": "gaussian:0.05",
    "laplace": "laplace:0.05",
    "subsample": "subsample:250",
    "bootstrap": "bootstrap",
    "ladder": "ladder:0.111",
    "parameter_free": "parameter_free",
    "shaky_ladder": {"name": "shaky_ladder", "step": 0.05, "scale": 0.005},
    "frontier_ladder": "frontier_ladder:0.1",
    "thresholdout": {"name": "thresholdout", "threshold": 0.075, "scale": 0.01},
    "delay": "delay:10",
    "public_private": "public_private:0.3",
    "cap": "cap:100",
    "visibility": "visibility:everyone",
    "refresh": "refresh:100",
}


def told(chosen, items=1000, budget=2000, **more):
    return " / ".join(chain_promises(mechanism(chosen), Size(items, budget, **more)))


def test_every_mechanism_has_something_to_be_said():
    assert EXAMPLES.keys() == {spec.name for spec in MECHANISMS}
    for name, chosen in EXAMPLES.items():
        assert "no bound and no slow-down known" not in told(chosen), name


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("rounding", "1.57 times (pi/2)"),
        ("gaussian", "slows the weighted vote 11 times"),
        ("gaussian", "differential privacy of 2,000 releases: eps 5.1 at delta 1e-06"),
        ("gaussian", "too good by about 0.195"),
        ("laplace", "slows the weighted vote 21 times"),
        ("laplace", "eps 40, or 5.51 at delta 1e-06; nothing else follows from it"),
        ("subsample", "4 times (n/m, 250 of 1,000 items)"),
        ("bootstrap", "2 times"),
        (
            "ladder",
            "Ladder, step 0.111: theory bounds the leaderboard error by 0.363 at 95 % for 2,000 "
            "submissions and 1,000 items: nearly empty at this size, so trust the simulation",
        ),
        ("ladder", "submitter=flip"),
        ("ladder", "turns it into plain rounding to its step; state the identity rule"),
        ("parameter_free", "no proven bound"),
        ("shaky_ladder", "unusable: its step is below 4 b ln k = 0.152"),
        ("shaky_ladder", "about 0.0631 for 1,000 items"),
        # 20 acceptances of 2 Delta/b = .4.
        ("shaky_ladder", "20 acceptances: eps 8"),
        ("frontier_ladder", "provisional"),
        ("frontier_ladder", "at most 11 releases of 2,000 submissions on 1 number"),
        ("thresholdout", "for its tolerance of 0.1 and 2,000 submissions"),
        ("thresholdout", "8.69e-05, below one item of 500: the theory setting is no protection"),
        ("delay", "nothing but the last part of a batch of 10"),
        ("public_private", "n is 300 public items in every formula"),
        ("cap", "100 of 2,000 submissions are scored; state the identity rule"),
        ("visibility", "a Ladder with step 0, for which no bound is known"),
        ("refresh", "theory's k is at most 100"),
    ],
)
def test_the_specs_numbers(name, words):
    assert words in told(EXAMPLES[name])


def test_a_bound_is_called_what_it_is():
    assert "empty, as no error is above 1" in told("ladder:0.01", items=500)
    assert "worth having" in told("ladder:0.013", items=1_000_000)
    assert "only with a step" in told("ladder:0")
    for why in ("on=gate", "on=coordinates"):
        sentence = told("ladder:0.1", on=why.removeprefix("on="))
        assert f"{why}: theory's bound is for one number" in sentence
        assert "bounds the leaderboard error" not in sentence
    unrounded = told({"name": "ladder", "step": 0.1, "round": "false"})
    assert "round=false: theory's bound" in unrounded
    assert "turns it into full release" in unrounded


def test_a_shaky_ladder_with_little_noise_is_not_called_unusable():
    # 4 b ln k = .0486 is below the step.
    assert "unusable" not in told({"name": "shaky_ladder", "step": 0.05, "scale": 0.0016})


def test_a_board_of_all_teams_does_not_ask_who_is_who():
    assert "identity" in told("ladder:0.1")
    assert "identity" not in told("ladder:0.1", state="global")


def test_a_cap_and_a_public_part_change_the_size_of_the_others():
    chain = ["cap:100", "gaussian:0.05", "public_private:0.3"]
    sentence = told(chain)
    assert "best of 100 noisy numbers" in sentence
    # 1 + 4 * 300 * .05^2, and Delta = 1/300.
    assert "4 times (1 + 4 n s^2, 300 items)" in sentence
    assert "cap" not in told("gaussian:0.05").lower()
    assert "200 of 2,000 submissions are scored, 100 without other accounts" in told(
        {"name": "cap", "total": 100, "accounts": 2}
    )
    assert "best of 100 noisy numbers" in told(["gaussian:0.05", "refresh:100"], budget=2000)


def test_without_noise_no_privacy_is_claimed():
    quiet = {"name": "shaky_ladder", "step": 0.05, "scale": 0}
    assert "privacy" not in told(quiet)
    assert "privacy" not in told({"name": "thresholdout", "threshold": 0, "scale": 0})


def test_a_frontier_on_many_numbers_withholds_nothing():
    sentence = told("frontier_ladder:0.1", numbers=4)
    assert "lets all 2,000 submissions be released on 4 numbers (all from 3.3 numbers on)" in (
        sentence
    )
    assert "(all from" not in told("frontier_ladder:0", numbers=4)


def test_a_thresholdout_with_normal_noise_claims_no_privacy_by_laplace_accounting():
    science = {"name": "thresholdout", "threshold": 0.1, "scale": 0.1, "noise": "science"}
    assert "noise rule science" in told(science)
    assert "privacy" not in told(science)


@pytest.mark.parametrize(
    ("value", "text"),
    [(2.0, "2"), (0.36341, "0.363"), (999.7, "1,000"), (4382.2, "4,382"), (2.1e10, "2e+10")],
)
def test_numbers_as_people_write_them(value, text):
    assert digits(value) == text


@pytest.mark.parametrize("chosen", EXAMPLES.values(), ids=list(EXAMPLES))
@pytest.mark.parametrize(("items", "budget"), [(1, 1), (2, 1), (12_000, 10**6)])
def test_no_size_is_too_odd(chosen, items, budget):
    if chosen == "subsample:250" and items < 250:
        chosen = "subsample:1"
    for state in ("team", "global"):
        assert told(chosen, items=items, budget=budget, numbers=40, state=state)
