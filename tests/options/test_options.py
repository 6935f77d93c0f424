"""One table of options behind the command line, the README and the checks."""

from dataclasses import fields
from fractions import Fraction

import pytest
import yaml

from jaxbench.errors import BadRequest
from jaxbench.options import AttackRequest, Protocol, resolve
from jaxbench.options.attack import JOB_OPTIONS
from jaxbench.options.describe import DESCRIBE
from jaxbench.options.option import built, help_table, markdown_table
from jaxbench.options.reading import FORMATS, SOURCE
from jaxbench.options.sweep import OWN, SWEEP
from jaxbench.options.table import ATTACK, BUILT, KNOWN
from jaxbench.options.world import WORLD


def test_conf_holds_every_built_option_and_nothing_else(root):
    conf = yaml.safe_load((root / "conf" / "attack.yaml").read_text())
    assert set(conf) - {"defaults"} == {option.name for option in built(ATTACK)}


def test_the_request_has_a_field_for_every_option():
    names = {field.name for field in fields(AttackRequest)} - {"endpoints_given"}
    assert names == {option.name for option in built(ATTACK)} - set(JOB_OPTIONS)


def test_the_readme_shows_the_tables(root):
    readme = (root / "README.md").read_text()
    own = len(SOURCE)
    assert markdown_table(SOURCE, presets=False) in readme
    assert markdown_table(ATTACK[own:]) in readme
    assert markdown_table(DESCRIBE[own:], presets=False) in readme
    assert ATTACK[:own] == DESCRIBE[:own] == SOURCE
    assert markdown_table(OWN, presets=False) in readme


def test_the_worlds_table_stands_beside_the_studies(root):
    table = markdown_table(WORLD, presets=False).replace("| option |", "| parameter |")
    assert table in (root / "sweeps" / "README.md").read_text()


def test_conf_of_a_sweep_holds_every_built_option(root):
    conf = yaml.safe_load((root / "conf" / "sweep.yaml").read_text())
    assert set(conf) - {"defaults"} == {option.name for option in built(SWEEP)}


def test_the_readme_shows_every_format(root):
    readme = (root / "README.md").read_text()
    for name in FORMATS:
        assert f"| `{name}` |" in readme


def test_help_names_every_option():
    for option in built(ATTACK):
        assert f"  {option.name} " in help_table(ATTACK)


def test_defaults_come_from_the_protocol():
    card = Protocol(trials=7, holdout_fraction="1/3", endpoints="full_frontier", tie_seed="t")
    request = resolve({}, card)
    assert (request.trials, request.tie_seed) == (7, "t")
    assert request.holdout_fraction == Fraction(1, 3)
    assert request.endpoints == ("full_frontier",)
    given = resolve({"trials": 3, "holdout_fraction": 0.575, "endpoints": ["top5"]}, card)
    assert (given.trials, given.endpoints) == (3, ("top5",))
    assert given.holdout_fraction == Fraction(575, 1000)


def test_simulation_has_its_own_defaults():
    card = Protocol(trials=7, scoring="equal_task", tie_seed="t")
    request = resolve({"preset": "simulation", "seed": 5}, card)
    assert (request.trials, request.scoring, request.budgets[-1]) == (1000, "item_mean", 128)
    assert (request.routers, request.split, request.bootstrap_seed) == ("prng", "prng", 5)
    hashed = resolve({"preset": "simulation", "routers": "hash"}, card)
    assert (hashed.split, hashed.routing_seed) == ("hash", "jaxbench")
    assert resolve({}, card, preset="simulation") == resolve({"preset": "simulation"}, card)


def test_where_a_rule_would_see_one_number():
    request = resolve({}, Protocol())
    assert request.endpoint_rules(1) == ("public_top5",)
    assert request.endpoint_rules(2) == ("top5",)
    assert resolve({"endpoints": "top5"}, Protocol()).endpoint_rules(1) == ("top5",)


def test_built_words_are_known_words():
    for name, words in BUILT.items():
        assert set(words) <= set(KNOWN[name])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"trails": 5}, ["'trails'", "did you mean trials?"]),
        ({"device": "gpu"}, ["device", "not built yet"]),
        ({"endpoints": "top_5"}, ["'top_5'", "did you mean top5?"]),
        ({"interface": "top"}, ["'top'", "did you mean top:K?"]),
        ({"interface": "group:3"}, ["'group:3'", "did you mean groups:D?"]),
        ({"precision": 2.5}, ["precision=2.5", "decimals"]),
        ({"precision": "tick"}, ["precision=tick"]),
        ({"min_task_items": 0}, ["min_task_items=0"]),
        ({"seed": 1}, ["seed means nothing"]),
        ({"seed": 2**64, "routers": "prng"}, ["18,446,744,073,709,551,615"]),
        ({"trials": 10**9}, ["at most 100,000,000"]),
        ({"holdout_fraction": "1e-400000000"}, ["between 0 and 1"]),
        ({"tie_seed": "\ud800"}, ["tie_seed", "UTF-8"]),
        ({"budgets": [1, 10**7]}, ["budgets=10000000", "1,048,576"]),
        ({"routers": "prng", "routing_seed": "x"}, ["routing_seed", "routers=prng"]),
        ({"routers": "prng", "banks": 2}, ["banks", "routers=prng"]),
        ({"split": "prng", "split_seed_base": 2}, ["split_seed_base", "split=prng"]),
        ({"group_seed": "x"}, ["group_seed", "groups:D"]),
        ({"endpoints": []}, ["endpoints=[]"]),
        ({"endpoints": ["top5", "top5"]}, ["repeated"]),
        ({"budgets": []}, ["budgets=[]"]),
        ({"budgets": [1, 1]}, ["budget 1 is repeated"]),
        ({"budgets": [4, 2]}, ["2 follows 4"]),
        ({"budgets": [0]}, ["budgets=0", ">= 1"]),
        ({"budgets": [True]}, ["budgets=true"]),
        ({"trials": 1.5}, ["trials=1.5", "whole number >= 1"]),
        ({"trials": True}, ["trials=true"]),
        ({"bootstrap_seed": -1}, ["bootstrap_seed=-1"]),
        ({"holdout_fraction": "3/2"}, ["3/2", "between 0 and 1"]),
        ({"holdout_fraction": "1/0"}, ["1/0"]),
        ({"save_trials": "yes"}, ["save_trials=yes", "true or false"]),
        ({"routing_seed": ""}, ["routing_seed"]),
        ({"path": "x"}, ["path is an option of the command line"]),
    ],
)
def test_refusals_name_option_and_value(given, words):
    with pytest.raises(BadRequest) as error:
        resolve(given, Protocol())
    for word in words:
        assert word in str(error.value)


def test_a_card_with_an_unknown_entry_is_refused():
    with pytest.raises(BadRequest, match="trails"):
        Protocol.from_card({"trails": 3})
