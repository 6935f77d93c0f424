"""The options of `jaxbench describe`: one table behind conf, request, help and checks."""

from dataclasses import fields
from fractions import Fraction

import pytest
import yaml

from jaxbench.errors import BadRequest
from jaxbench.options import Protocol
from jaxbench.options.attack import JOB_OPTIONS
from jaxbench.options.describe import DESCRIBE, DescribeRequest, resolve_describe
from jaxbench.options.option import built, help_table


def test_conf_holds_every_built_option_and_nothing_else(root):
    conf = yaml.safe_load((root / "conf" / "describe.yaml").read_text())
    assert set(conf) - {"defaults"} == {option.name for option in built(DESCRIBE)}


def test_the_request_has_a_field_for_every_option():
    names = {field.name for field in fields(DescribeRequest)}
    assert names == {option.name for option in built(DESCRIBE)} - set(JOB_OPTIONS)


def test_help_names_every_option():
    for option in built(DESCRIBE):
        assert f"  {option.name} " in help_table(DESCRIBE)


def test_defaults():
    assert resolve_describe({}, Protocol()) == DescribeRequest(
        scoring="item_mean", min_task_items=1, level=Fraction(19, 20), power=Fraction(4, 5),
        correction="holm", resamples=2000, seed=0,
    )  # fmt: skip
    card = Protocol(scoring="equal_task", min_task_items=10)
    request = resolve_describe({"scoring": None}, card)
    assert (request.scoring, request.min_task_items) == ("equal_task", 10)
    assert resolve_describe({"scoring": "item_mean"}, card).scoring == "item_mean"


@pytest.mark.parametrize("given", [{}, {"level": "2/3", "power": 0.5}, {"level": 0.999}])
def test_a_request_as_options_is_that_request_again(given):
    request = resolve_describe(given, Protocol())
    assert resolve_describe(request.as_options(), Protocol()) == request
    assert resolve_describe({}, Protocol()).as_options()["level"] == 0.95


def test_the_chance_of_error_is_the_decimal_meant():
    assert resolve_describe({}, Protocol()).alpha == 0.05
    assert resolve_describe({"level": 0.9}, Protocol()).alpha == 0.1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"levle": 0.9}, ["'levle'", "did you mean level?"]),
        ({"trials": 3}, ["'trials'"]),
        ({"out": "x"}, ["out is an option of the command line"]),
        ({"scoring": "mean_win_rate"}, ["scoring=mean_win_rate", "no paired test of items"]),
        ({"scoring": "chance_normalised"}, ["chance_normalised", "choose one of item_mean"]),
        ({"scoring": "item_maen"}, ["'item_maen'", "did you mean item_mean?"]),
        ({"level": 95}, ["level=95", "between 0 and 1"]),
        ({"level": "1"}, ["level=1", "between 0 and 1"]),
        ({"level": "0.99999999999"}, ["level=0.99999999999", "1e-9"]),
        ({"power": 0.3}, ["power=0.3", "from 1/2 to 1"]),
        ({"power": True}, ["power=true"]),
        ({"correction": "bonferroni"}, ["'bonferroni'", "holm, none"]),
        ({"resamples": 0}, ["resamples=0", ">= 1"]),
        ({"resamples": 10**6}, ["at most 100,000"]),
        ({"seed": 2**64}, ["18,446,744,073,709,551,615"]),
        ({"min_task_items": 0}, ["min_task_items=0"]),
    ],
)
def test_refusals_name_option_and_value(given, words):
    with pytest.raises(BadRequest) as error:
        resolve_describe(given, Protocol())
    assert len(str(error.value).splitlines()) == 1
    for word in words:
        assert word in str(error.value)
