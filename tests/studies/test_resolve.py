"""From conditions to cells: what shares trials, what a content key holds, what is refused."""

import dataclasses

import numpy as np
import pytest

from jaxbench.benchmark import Benchmark
from jaxbench.errors import BadRequest
from jaxbench.studies import cells as cells_module
from jaxbench.studies import code
from sweep_studies import FAST, TINY, planned


@pytest.fixture
def plan(tmp_path):
    def planning(given=None, opener=None, options=None, **parts):
        options = {"benchmark": "terminal_science"} | FAST | (options or {})
        opened = {} if opener is None else {"opener": opener}
        return planned(tmp_path, given=given, options=options, **opened, **parts)

    return planning


@pytest.fixture
def plan_worlds(tmp_path):
    def planning(given=None, options=None, world=None, **parts):
        options = FAST | {"world": TINY | (world or {})} | (options or {})
        return planned(tmp_path, given=given, options=options, **parts)

    return planning


def keys(plan):
    return [cell.key for cell in plan.cells]


def test_conditions_of_one_benchmark_and_its_trials_are_one_cell(plan):
    vary = {
        "interface": ["task", "aggregate"],
        "endpoints": ["top5", "public_top5"],
        "precision": ["exact", 2],
        "reused_items": ["all", 12],
    }
    (cell,) = plan(vary=vary, options={"endpoint_view": "tasks"}).cells
    assert len(cell.rows) == len(cell.requests) == 16
    assert {row.request for row in cell.rows} == set(range(16))


def test_what_only_a_summary_depends_on_may_differ_within_a_cell(plan, plan_worlds):
    vary = {"resamples": [5, 6], "bootstrap_seed": [1, 2], "interface": ["task", "aggregate"]}
    for planning in (plan, plan_worlds):
        (cell,) = planning(vary=vary).cells
        assert len(cell.rows) == 8
        assert len(cell.requests) == 2
        assert {(row.resamples, row.bootstrap_seed) for row in cell.rows} == {
            (r, s) for r in (5, 6) for s in (1, 2)
        }


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("seed", [0, 1]),
        ("trials", [6, 7]),
        ("budgets", [[1, 2], [1, 4]]),
        ("scoring", ["item_mean", "equal_task"]),
        ("holdout_fraction", ["1/2", "2/3"]),
        ("min_task_items", [1, 10]),
        ("endpoint_view", ["released", "tasks"]),
        ("routers", ["prng", "hash"]),
        ("save_trials", [True, False]),
    ],
)
def test_other_trials_are_other_cells(option, values, plan):
    found = plan(vary={option: values}, options={"preset": "simulation"})
    assert len(found.cells) == len(set(keys(found))) == 2


def test_what_only_summaries_depend_on_shares_trials(plan):
    vary = {"resamples": [20, 30], "bootstrap_seed": [1, 2]}
    found = plan(vary=vary)
    (cell,) = found.cells
    assert [(row.resamples, row.bootstrap_seed) for row in cell.rows] == [
        (20, 1), (20, 2), (30, 1), (30, 2),
    ]  # fmt: skip
    assert len(cell.requests) == 1
    assert len(list(found.shards)) == 1
    other = plan(options={"resamples": 40})
    assert keys(other) == keys(found)
    # The shards are the same, the results are not.
    assert other.key != found.key


def scores(name="two", seed=0, **facts):
    drawn = np.random.default_rng(seed).integers(0, 2, (4, 24))
    made = Benchmark.from_scores(
        drawn, models=tuple("abcd"), items=tuple(f"i{i:02}" for i in range(24)),
        tasks=tuple(f"t{i // 8}" for i in range(24)),
    )  # fmt: skip
    return dataclasses.replace(made, name=name, **facts)


def test_two_paths_to_one_benchmark_are_one_cell(plan):
    options = {"benchmark": None}
    vary = {"path": ["one", "other"]}
    found = plan(options=options, vary=vary, opener=lambda _: scores())
    assert len(found.cells) == 1
    assert [row.varied["path"] for row in found.cells[0].rows] == ["one", "other"]
    # The same numbers under two names are two rows of two names.
    found = plan(options=options, vary=vary, opener=lambda named: scores(named["path"]))
    assert len(set(keys(found))) == 2


def test_a_benchmark_is_opened_once(plan):
    asked = []

    def opener(named):
        asked.append(named)
        return scores(named["path"])

    vary = {"seed": [0, 1, 2], "path": ["one", "other"], "interface": ["task", "aggregate"]}
    assert len(plan(options={"benchmark": None}, vary=vary, opener=opener).cells) == 6
    assert asked == [{"path": "one"}, {"path": "other"}]


# Content keys


@pytest.mark.parametrize(
    "changed",
    [
        {"trials": 7},
        {"budgets": [1, 2]},
        {"seed": 1},
        {"split": "hash"},
        {"holdout_fraction": "1/2"},
        {"min_task_items": 9},
        {"reused_items": 10},
        {"scoring": "equal_task"},
        {"precision": 3},
        {"interface": "aggregate"},
        {"interface": "groups:2"},
        {"endpoints": "full_frontier"},
        # Given or not: where one number is seen, the rule that is used depends on it.
        {"endpoints": "top5"},
        {"endpoint_view": "tasks"},
        {"routers": "hash"},
        {"routers": "hash", "banks": 2},
        {"routers": "hash", "routing_seed": "other"},
        {"routers": "hash", "tie_seed": "other"},
        {"save_trials": False},
    ],
    ids=str,
)
def test_every_option_that_matters_is_in_the_key(changed, plan):
    options = {"preset": "simulation", "seed": 0}
    before, after = plan(options=options), plan(options=options | changed)
    assert keys(before) != keys(after)
    assert before.key != after.key


def test_routing_seeds_are_told_apart(plan):
    vary = {"routing_seed": ["a", "b"], "tie_seed": ["a", "b"], "banks": [1, 2]}
    assert len(set(keys(plan(vary=vary, options={"preset": "published"})))) == 8


def test_every_parameter_of_a_world_is_in_the_key(plan_worlds):
    other = {
        "models": 6, "items": 25, "tasks": 2, "size_ratio": 2.0, "categories": 2, "repeats": 2,
        "partial_credit": 0.5, "duplicate_prompts": 0.2, "discrimination": 0.1, "seed": 3,
        "difficulty_mean": 1.0, "difficulty_sd": 1.0, "difficulty_skew": 0.5, "field_spread": 0.1,
        "leader_gap": 0.2, "task_spread": 0.2, "contrast": 0.4,
    }  # fmt: skip
    found = [keys(plan_worlds(world={name: value}))[0] for name, value in other.items()]
    assert len({*found, *keys(plan_worlds())}) == len(other) + 1
    # Written out, a default is a default.
    assert keys(plan_worlds(world={"seed": 0, "repeats": 1})) == keys(plan_worlds())


def test_data_and_code_are_in_the_key(plan, monkeypatch):
    def opened(**facts):
        return keys(plan(options={"benchmark": None}, opener=lambda _: scores(**facts)))

    before = opened()
    assert opened() == before
    assert opened(seed=1) != before
    assert opened(categories=tuple("ab"[i // 12] for i in range(24))) != before
    monkeypatch.setattr(cells_module, "code_digest", lambda: "other")
    assert opened() != before


def test_the_digest_of_the_code_covers_what_makes_numbers():
    package = code.Path(code.__file__).parents[1]
    rooms = {path.name for path in package.iterdir() if (path / "__init__.py").exists()}
    # Of readers the data are in the key, of options the values.
    apart = {"card", "jobs", "named", "options", "report", "sources", "store"}
    assert set(code.ROOMS) == rooms - apart
    assert all((package / module).is_file() for module in code.MODULES)


def test_the_order_of_a_grid_is_not_in_the_key(plan, tmp_path):
    vary = {"interface": ["task", "aggregate"], "seed": [0, 1], "precision": ["exact", 2]}
    options = {"preset": "simulation"}
    before = plan(vary=vary, options=options)
    turned = {key: values[::-1] for key, values in reversed(vary.items())}
    after = plan(vary=turned, options=options)
    assert set(keys(before)) == set(keys(after))
    one, other = (sorted(p.cells, key=lambda cell: cell.key) for p in (before, after))
    # What a shard calls condition 1 is the same condition then.
    assert [cell.requests for cell in one] == [cell.requests for cell in other]


# Shards


def test_ranges_depend_on_the_request_alone(plan):
    for trials, budgets, interfaces in ((6, 3, 1), (250, 12, 2), (25_000, 4, 1), (10**6, 8, 2)):
        options = {"trials": trials, "budgets": [2**i for i in range(budgets)]}
        vary = {"interface": ["task", "aggregate"][:interfaces]}
        (cell,) = plan(options=options | {"preset": "simulation"}, vary=vary).cells
        firsts, lasts = zip(*cell.ranges, strict=True)
        assert firsts[0] == 0
        assert lasts[-1] == trials - 1
        assert [last + 1 for last in lasts[:-1]] == list(firsts[1:])
        sizes = [last - first + 1 for first, last in cell.ranges]
        assert len(set(sizes[:-1])) <= 1
        assert max(sizes) <= cells_module.SHARD_TRIALS
        assert max(sizes) * len(cell.requests) * (budgets + 1) <= cells_module.SHARD_ROWS
        assert cell.table_rows() == max(sizes) * len(cell.requests) * (budgets + 1)


def test_trials_of_all_conditions_are_counted(plan):
    found = plan(vary={"interface": ["task", "aggregate"], "resamples": [10, 20]})
    assert found.shards.trials == 4 * 6


# Conditions that cannot be done


def test_a_refusal_names_the_condition(plan, plan_worlds):
    with pytest.raises(BadRequest) as refusal:
        plan(
            vary={"interface": ["task", "category"], "seed": [5]}, options={"preset": "simulation"}
        )
    assert str(refusal.value).endswith("(condition interface=category, seed=5)")
    with pytest.raises(BadRequest, match=r"no categories.*\(condition world.categories=0\)"):
        plan_worlds(options={"scoring": "equal_category"}, vary={"world.categories": [2, 0]})
    with pytest.raises(BadRequest, match=r"world.items.*|items.*condition world.items=3"):
        plan_worlds(vary={"world.items": [24, 3]})
    with pytest.raises(BadRequest, match=r"trials=0.*\(condition trials=0\)"):
        plan(vary={"trials": [1, 0]})


def test_what_cannot_be_done_is_skipped_and_named(plan, plan_worlds):
    found = plan(vary={"interface": ["category", "task"]}, impossible="skip")
    assert [cell.requests[0].interface for cell in found.cells] == [("task",)]
    assert len(found.skipped) == 1
    assert "condition interface=category" in found.skipped[0]


def test_worlds_that_cannot_be_asked_are_skipped_and_not_run(plan_worlds):
    vary = {"world.categories": [0, 2], "world.seed": [0, 1, 2]}
    found = plan_worlds(options={"scoring": "equal_category"}, vary=vary, impossible="skip")
    assert [cell.world.categories for cell in found.cells] == [2, 2, 2]
    assert len(found.skipped) == 3
    assert {text.partition("condition ")[2] for text in found.skipped} == {
        f"world.categories=0, world.seed={seed})" for seed in range(3)
    }
    # Within a cell, too: of one world's conditions some can be done.
    found = plan_worlds(vary={"interface": ["category", "task"], "world.seed": [0, 1]},
                        impossible="skip")  # fmt: skip
    assert [cell.requests[0].interface for cell in found.cells] == [("task",), ("task",)]
    assert len(found.skipped) == 2


def test_worlds_that_differ_in_prompts_are_looked_at_one_by_one(plan_worlds):
    # A task of which all items share two prompts cannot be cut into two thirds.
    vary = {"world.duplicate_prompts": [0.0, 0.5], "world.models": [5, 2]}
    found = plan_worlds(world={"items": 6, "prompt_copies": 5}, vary=vary, impossible="skip")
    assert len(found.cells) + len(found.skipped) == 4


def test_nothing_left_is_refused(plan):
    with pytest.raises(BadRequest, match="no condition is left to run; 1 condition cannot"):
        plan(options={"interface": "category"}, impossible="skip")


def test_a_world_beside_a_benchmark_is_refused(plan):
    with pytest.raises(BadRequest, match="outcomes come from one of the two"):
        plan(vary={"world.seed": [0]})


# Figures


def figure(**facts):
    return {"name": "f", "metric": "selection_loss_pp"} | facts


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"metric": "selection_los_pp"}, "unknown metric of figure f 'selection_los_pp'"),
        # No interval is drawn around these.
        ({"metric": "eligible_trials"}, "unknown metric of figure f"),
        ({"metric": "interface"}, "unknown metric of figure f"),
        ({"x": "buget"}, "did you mean budget"),
        ({"lines": ["interfac"]}, "did you mean interface"),
        ({"panels": "benchmarks"}, "did you mean benchmark"),
        ({"lines": ["world.sed"]}, "unknown column of figure f"),
    ],
)
def test_a_figure_of_no_column_is_refused_before_anything_runs(facts, words, plan):
    with pytest.raises(BadRequest, match=words):
        plan(figures=[figure(**facts)])


def test_figures_give_way_to_options(plan, plan_worlds):
    def kept(found):
        return [(f.x, f.lines, f.panels) for f in found.study.figures]

    figures = [
        figure(lines=["world.seed", "interface"], panels="world.tasks"),
        figure(name="g", x="world.seed"),
        figure(name="h", metric="true_loss_pp"),
        figure(name="i", budgets=[4, 64]),
        figure(name="j", budgets=[64]),
    ]
    vary = {"world.seed": [0, 1], "world.tasks": [2, 3]}
    found = plan_worlds(vary=vary, figures=figures)
    assert kept(found) == [
        ("budget", ("world.seed", "interface"), "world.tasks"), ("world.seed", (), None),
        ("budget", (), None), ("budget", (), None),
    ]  # fmt: skip
    assert found.notes == ("note: no figure j: none of its budgets is run",)
    found = plan_worlds(vary=vary, figures=figures, given={"benchmark": "terminal_science"})
    assert kept(found) == [("budget", ("interface",), None), ("budget", (), None)]
    assert found.notes[0] == (
        "note: world.seed, world.tasks of the study gave way to benchmark=terminal_science; "
        "1 condition left"
    )
    assert [note.split(":")[1] for note in found.notes[1:]] == [
        " no figure g", " no figure h", " no figure j"
    ]  # fmt: skip


def test_a_mechanism_that_cannot_act_is_left_out_before_anything_runs(plan):
    # Its scores are means of three runs: no plain means of answers that are right or wrong.
    vary = {"mechanism": ["bootstrap", "ladder:0.1"]}
    found = plan(vary=vary, impossible="skip", options={"preset": "simulation"})
    (cell,) = found.cells
    assert [str(request.mechanism[0].name) for request in cell.requests] == ["ladder"]
    (skipped,) = found.skipped
    assert "mechanism=bootstrap" in skipped
    with pytest.raises(BadRequest, match="mechanism=bootstrap"):
        plan(vary=vary, options={"preset": "simulation"})


def test_memory_counts_conditions_that_differ_in_a_mechanism_alone(plan):
    vary = {"mechanism": ["ladder:0.1", "ladder:0.2", "rounding:0.1"]}
    (cell,) = plan(vary=vary, options={"preset": "simulation"}).cells
    assert (cell.shape().conditions, cell.shape().views) == (3, 3)
    tasks = {"preset": "simulation", "endpoints": "top5", "endpoint_view": "tasks"}
    (cell,) = plan(vary=vary, options=tasks).cells
    assert (cell.shape().conditions, cell.shape().views) == (3, 1)
