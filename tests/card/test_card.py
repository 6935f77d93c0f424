"""The card against the oracle, and by hand."""

import json
import math
from fractions import Fraction
from itertools import combinations
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

import jaxbench
from jaxbench import stats
from jaxbench.attacker import ENDPOINT_RULES
from jaxbench.benchmark import Benchmark, scoring
from jaxbench.card import precision
from jaxbench.card.card import COLUMNS
from jaxbench.card.scores import Scores
from jaxbench.errors import BadRequest
from oracle import card as oracle
from oracle.endpoints import choose_endpoints, pareto_frontier
from oracle.scoring import task_categories, task_means
from worlds import World, worlds


def made(rows, *, tasks=None, prompts=None, names=None, **more) -> Benchmark:
    rows = np.asarray(rows, dtype=float)
    items = [f"i{i:03d}" for i in range(rows.shape[1])]
    return Benchmark.from_scores(
        rows, models=names or [f"m{m}" for m in range(len(rows))], items=items,
        tasks=tasks or ["t"] * len(items), prompt_hashes=prompts, keep_shared_prompts=True, **more,
    )  # fmt: skip


def card(benchmark, **options):
    return jaxbench.describe(benchmark, **{"resamples": 40} | options)


def of(entries, name):
    """A column of the models, by model."""
    return {model["model"]: model[name] for model in entries["models"]}


@settings(max_examples=40)
@given(worlds(tasks=2, most_models=5), st.sampled_from(["item_mean", "equal_task"]))
def test_scores_ranks_and_pairs_are_the_oracles(world, rule):
    entries = card(world.benchmark(), scoring=rule).to_dict()
    bench = world.oracle()
    score = oracle.scores(bench, rule)
    for m, name in enumerate(world.models):
        assert of(entries, "score_pp")[name] == pytest.approx(float(100 * score[m]), abs=1e-12)
        assert of(entries, "rank")[name] == 1 + sum(other > score[m] for other in score)
        assert of(entries, "tied")[name] == (score.count(score[m]) > 1)
    order = sorted(range(len(score)), key=lambda m: (-score[m], m))
    assert [model["model"] for model in entries["models"]] == [world.models[m] for m in order]
    pairs = entries["pairs"]
    expected = {
        (a, b): oracle.pair_p(bench, rule, order[a], order[b])
        for a, b in combinations(range(len(order)), 2)
    }
    adjusted = oracle.holm(expected)
    assert list(zip(pairs["a"], pairs["b"], strict=True)) == list(expected)
    for i, pair in enumerate(expected):
        assert pairs["p"][i] == pytest.approx(float(expected[pair]), abs=1e-12)
        assert pairs["p_adjusted"][i] == pytest.approx(float(adjusted[pair]), abs=1e-11)
        assert pairs["difference_pp"][i] == pytest.approx(
            float(100 * (score[order[pair[0]]] - score[order[pair[1]]])), abs=1e-12
        )
    firsts = {m for m in range(len(order)) if score[order[m]] == max(score)}
    for m, model in enumerate(entries["models"]):
        against = [tuple(sorted((m, first))) for first in firsts - {m}]
        for name, p in (("p_first", expected), ("p_first_adjusted", adjusted)):
            largest = max((p[pair] for pair in against), default=None)
            found = None if largest is None else pytest.approx(float(largest), abs=1e-11)
            assert model[name] == found
    assert pairs["separable_unadjusted"] == sum(p < Fraction(1, 20) for p in expected.values())


@settings(max_examples=25)
@given(worlds(tasks=2, most_models=4), st.sampled_from(["item_mean", "equal_task"]))
def test_deciding_items_frontier_and_endpoints_are_the_oracles(world, rule):
    few = World(
        tuple(row[:5] + row[-4:] for row in world.successes), world.repeats,
        world.tasks[:5] + world.tasks[-4:], world.prompts[:5] + world.prompts[-4:],
    )  # fmt: skip
    entries = card(few.benchmark(), scoring=rule).to_dict()
    bench = few.oracle()
    assert entries["first_place"]["deciding_items"] == oracle.deciding(bench, rule)
    every = [True] * len(bench.items)
    profile = {
        name: task_means(bench, list(row), every)
        for name, row in zip(bench.models, bench.scores, strict=True)
    }
    assert {m for m, on in of(entries, "frontier").items() if on} == set(pareto_frontier(profile))
    assert entries["frontier"]["size"] == len(pareto_frontier(profile))
    score = dict(zip(bench.models, oracle.scores(bench, rule), strict=True))
    for name in ENDPOINT_RULES:
        pair = choose_endpoints(profile, score, name, task_categories(bench))
        assert entries["frontier"]["endpoints"][name] == (None if pair is None else list(pair))


def test_tiers_by_hand():
    """20 items: the first leads the second by 5 of 5, the third by 9 of 9, the fourth by all."""
    rows = np.zeros((4, 20))
    for m, right in enumerate((20, 15, 11, 0)):
        rows[m, :right] = 1
    entries = card(made(rows)).to_dict()
    # p: 2/2^5, 2/2^9, 2/2^20; 2/2^4, 2/2^15; 2/2^11. Holm multiplies by 2, 3, 6 .. of six.
    assert entries["pairs"]["p"] == [2 / 2**n for n in (5, 9, 20, 4, 15, 11)]
    np.testing.assert_allclose(
        entries["pairs"]["p_adjusted"],
        [2 * 2 / 2**5, 3 * 2 / 2**9, 6 * 2 / 2**20, 2 * 2 / 2**5, 5 * 2 / 2**15, 4 * 2 / 2**11],
    )
    assert set(entries["pairs"]["test"]) == {"mcnemar"}
    assert entries["tiers"] == [["m0", "m1"], ["m2"], ["m3"]]
    assert of(entries, "rank_low") == {"m0": 1, "m1": 1, "m2": 2, "m3": 4}
    assert of(entries, "rank_high") == {"m0": 2, "m1": 3, "m2": 3, "m3": 4}
    assert of(entries, "difference_pp") == {"m0": 0, "m1": -25, "m2": -45, "m3": -100}
    assert of(entries, "difference_tier_pp") == {"m0": 0, "m1": -25, "m2": 0, "m3": 0}
    assert entries["adjacent"] | {"mde_pp": 0} == {
        "pairs": 3, "separable_unadjusted": 1, "separable": 1, "mde_pp": 0,
    }  # fmt: skip
    alone = card(made(rows), correction="none").to_dict()
    assert alone["pairs"]["p_adjusted"] == alone["pairs"]["p"]
    # 2/2^4 is above 0.1 only with the correction.
    assert card(made(rows), correction="none", level=0.85).to_dict()["tiers"] == [
        ["m0"], ["m1"], ["m2"], ["m3"],
    ]  # fmt: skip
    assert entries["first_place"] == {
        "models": ["m0"], "deciding_items": 5, "share": 0.25, "rival": "m1",
    }  # fmt: skip


@pytest.mark.parametrize("names", [("a", "b", "c"), ("c", "b", "a"), ("b", "c", "a")])
def test_equal_scores_are_never_split_over_tiers(names):
    """Two level models, one of them close to the first, the other not."""
    first = np.r_[np.ones(20), np.zeros(20)]
    # 12 right, all of them the first's: 8 of 8 against it.
    near = np.r_[np.ones(12), np.zeros(28)]
    # 12 right, none of them the first's: 20 against 12.
    far = np.r_[np.zeros(20), np.ones(12), np.zeros(8)]
    entries = card(made([first, near, far], names=list(names))).to_dict()
    p = {name: model for name, model in of(entries, "p_first_adjusted").items() if model}
    assert p[names[1]] < 0.05 < p[names[2]]
    assert of(entries, "tier") == dict.fromkeys(names, 1)
    assert of(entries, "rank") == {names[0]: 1, names[1]: 2, names[2]: 2}
    assert of(entries, "tied") == {names[0]: False, names[1]: True, names[2]: True}


def test_first_place_can_be_shared():
    rows = [[1, 0, 1, 0], [0, 1, 1, 0], [0, 0, 1, 0]]
    found = card(made(rows))
    entries = found.to_dict()
    assert entries["first_place"] == {
        "models": ["m0", "m1"], "deciding_items": 0, "share": 0.0, "rival": "m1",
    }  # fmt: skip
    assert of(entries, "rank") == {"m0": 1, "m1": 1, "m2": 3}
    assert of(entries, "p_first") == {"m0": 1.0, "m1": 1.0, "m2": 1.0}
    assert any("first place is shared by 2 models: 'm0', 'm1'" in w for w in found.warnings)


def test_a_shared_first_place_has_no_name_order():
    """Last is surely behind one of the two firsts and not the other: it stays in their tier."""
    first = np.r_[np.ones(20), np.zeros(20)]
    other = np.r_[np.zeros(8), np.ones(20), np.zeros(12)]
    # 10 right, all of them the other's: 10 of 10 against it, 20 of the first's and 10 not.
    last = np.r_[np.zeros(20), np.ones(8), np.zeros(12)] + np.r_[np.zeros(18), 1, 1, np.zeros(20)]
    found = []
    for names in (["a", "b", "c"], ["b", "a", "c"]):
        entries = card(made([first, other, last], names=names)).to_dict()
        found.append({m["model"]: (m["tier"], m["p_first_adjusted"]) for m in entries["models"]})
        # In the order of the ranking: the two firsts, and each of them against the last.
        low, high = sorted(entries["pairs"]["p_adjusted"][1:])
        assert low < 0.05 < high
        assert found[-1]["c"] == (1, high)
    assert found[0]["c"] == found[1]["c"]
    assert found[0]["a"] == found[0]["b"] == (1, 1.0)


def test_wilson_where_every_prompt_is_right_or_wrong():
    rows = np.zeros((2, 10))
    rows[0, :7] = 1
    entries = card(made(rows), level="0.9").to_dict()
    expected = scipy_stats.binomtest(7, 10).proportion_ci(0.9, method="wilson")
    model = entries["models"][0]
    assert model["interval"] == "wilson"
    assert model["score_pp_low"] == pytest.approx(100 * expected.low)
    assert model["score_pp_high"] == pytest.approx(100 * expected.high)


@pytest.mark.parametrize(
    "change",
    [
        {"prompts": [f"p{i // 2}" for i in range(12)]},
        {"scoring": "equal_task", "tasks": ["s"] * 8 + ["t"] * 4},
        {"halves": True},
    ],
)
def test_bootstrap_elsewhere_and_identical_answers_get_identical_intervals(change):
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (7, 12)).astype(float)
    if change.pop("halves", False):
        rows[0, 0] = 0.5
    rows[5], rows[6] = rows[1], 1.0
    options = {"scoring": change.pop("scoring", "item_mean")}
    entries = card(made(rows, **change), **options, resamples=500).to_dict()
    ends = {m: (low, of(entries, "score_pp_high")[m])
            for m, low in of(entries, "score_pp_low").items()}  # fmt: skip
    assert set(of(entries, "interval").values()) == {"bootstrap"}
    assert ends["m5"] == ends["m1"]
    assert ends["m6"] == (100.0, 100.0)
    assert all(low <= of(entries, "score_pp")[m] <= high for m, (low, high) in ends.items())
    again = card(made(rows[[1, 0]], **change), **options, resamples=500).to_dict()
    assert of(again, "score_pp_low")["m0"] == pytest.approx(ends["m1"][0], abs=1e-9)
    few = [
        of(card(made(rows, **change), **options, resamples=9, seed=seed).to_dict(), "score_pp_low")
        for seed in (0, 0, 1)
    ]
    assert few[0] == few[1] != few[2]


def test_the_bootstrap_draws_prompts_within_tasks():
    """The ends against a plain loop over the same multiplicities."""
    rng = np.random.default_rng(1)
    tasks = ["s"] * 9 + ["t"] * 5
    prompts = [f"p{i}" for i in (0, 0, 1, 2, 3, 3, 3, 4, 5, 5, 6, 7, 8, 8)]
    benchmark = made(rng.integers(0, 4, (3, 14)) / 3, tasks=tasks, prompts=prompts)
    options = {"scoring": "equal_task", "resamples": 60, "seed": 9}
    entries = jaxbench.describe(benchmark, **options).to_dict()
    index = benchmark.prompt_index
    # Prompt 5 stands in both tasks, the others in one: three strata.
    strata = np.array([0, 0, 0, 0, 0, 1, 2, 2, 2])
    times = stats.resampled_statistic(
        lambda counts, _: counts, None, 9, resamples=60, seed=9, strata=strata
    )
    assert (times[:, 5] == 1).all()
    assert (times[:, :5].sum(axis=1) == 5).all()
    drawn = []
    for counts in times:
        weight = counts[index]
        per_task = [
            (weight * (benchmark.task_index == t) * benchmark.scores).sum(axis=1)
            / (weight * (benchmark.task_index == t)).sum()
            for t in (0, 1)
        ]
        drawn.append(50 * (per_task[0] + per_task[1]))
    low, high = np.percentile(drawn, [2.5, 97.5], axis=0)
    for m, name in enumerate(benchmark.models):
        assert of(entries, "score_pp_low")[name] == pytest.approx(low[m], abs=1e-9)
        assert of(entries, "score_pp_high")[name] == pytest.approx(high[m], abs=1e-9)


def test_minimum_detectable_difference_by_hand():
    """16 prompts, 4 apart one way: the differences have mean 1/4 and deviation sqrt(3)/4."""
    rows = np.zeros((2, 16))
    rows[0, :4] = 1
    entries = card(made(rows)).to_dict()
    # n / (n - 1) under the root: sqrt(16/15 (4 (3/4)^2 + 12 (1/4)^2)) / 16.
    error = math.sqrt(16 / 15 * 3) / 16
    expected = 100 * (1.959963984540054 + 0.8416212335729143) * error
    assert of(entries, "mde_pp") == pytest.approx({"m0": expected, "m1": expected}, rel=1e-12)
    assert entries["adjacent"]["mde_pp"] == pytest.approx(expected, rel=1e-12)
    # With every prompt on two items the same numbers stand on half of the prompts.
    paired = card(made(rows, prompts=[f"p{i // 2}" for i in range(16)])).to_dict()
    error = math.sqrt(8 / 7 * (2 * 1.5**2 + 6 * 0.5**2)) / 16
    reach = NormalDist().inv_cdf(0.995) + NormalDist().inv_cdf(0.9)
    expected = 100 * (1.959963984540054 + 0.8416212335729143) * error
    assert of(paired, "mde_pp")["m1"] == pytest.approx(expected, rel=1e-12)
    strict = card(made(rows, prompts=[f"p{i // 2}" for i in range(16)]), level=0.99, power=0.9)
    assert of(strict.to_dict(), "mde_pp")["m1"] == pytest.approx(100 * reach * error, rel=1e-12)


def test_the_standard_error_is_that_of_the_mean_of_paired_differences():
    rng = np.random.default_rng(2)
    benchmark = made(rng.integers(0, 4, (2, 30)) / 3)
    request = jaxbench.describe(benchmark).request
    scores = Scores.of(benchmark, "item_mean")
    found = precision.detectable(scores, np.array([0]), np.array([1]), request)
    error = scipy_stats.sem(benchmark.scores[0] - benchmark.scores[1])
    assert found[0] == pytest.approx(100 * (1.959963984540054 + 0.8416212335729143) * error)


def test_what_is_undefined_is_null():
    rows = [[1, 0, 1], [1, 0, 1]]
    entries = card(made(rows)).to_dict()
    assert of(entries, "mde_pp") == {"m0": None, "m1": None}
    assert entries["adjacent"]["mde_pp"] is None
    one = card(made([[1, 0, 1]]))
    alone = one.to_dict()
    (model,) = alone["models"]
    assert (model["rank"], model["tier"], model["rank_low"], model["rank_high"]) == (1, 1, 1, 1)
    assert (model["p_first"], model["mde_pp"], model["difference_pp"]) == (None, None, 0.0)
    assert alone["first_place"] == {
        "models": ["m0"], "deciding_items": None, "share": None, "rival": None,
    }  # fmt: skip
    assert alone["frontier"] == {"size": 1, "models": ["m0"], "endpoints": None, "agree": None}
    assert alone["pairs"]["tested"] == 0
    assert alone["adjacent"]["pairs"] == 0
    assert alone["tasks"][0]["sd_pp"] is None
    for found in (entries, alone):
        json.dumps(found, allow_nan=False)
    assert len(one.summary()) == 1
    assert one.pairs().empty


def test_shape_counts():
    rows = np.array([[1, 1, 0, 0.5, 0, 1], [1, 0, 0, 1, 0, 1]])
    benchmark = made(
        rows, tasks=["s", "s", "s", "t", "t", "u"], prompts=["a", "a", "b", "b", "c", "d"],
        categories=["x", "x", "x", "y", "y", "y"],
        provenance=[
            "each score is the mean of 1 to 2 runs", "note: missing=drop_models: 3 models left out",
            "prompts are told apart by the hash of their text",
        ],
    )  # fmt: skip
    entries = card(benchmark, scoring="equal_category").to_dict()
    assert entries["shape"] == {
        "models": 2, "items": 6, "tasks": 3, "categories": 2, "denominator": 2, "on_grid": False,
        "repeats": [1, 2], "prompts": 4, "prompts_told_by": "text",
        "shared_prompts": 2, "shared_prompt_items": 4,
        "prompts_in_several_tasks": 1, "solved_by_all": 2, "solved_by_none": 2,
        "missing": ["missing=drop_models: 3 models left out"],
    }  # fmt: skip
    assert entries["tasks"][1] == {
        "task": "t", "items": 2, "category": "y", "mean_pp": 37.5,
        "sd_pp": pytest.approx(100 * math.sqrt(2) / 8), "low_pp": 25.0, "high_pp": 50.0,
    }  # fmt: skip
    # Category x weighs 1/2 on three items, y 1/4 on two and 1/4 on one.
    assert of(entries, "score_pp") == pytest.approx({
        "m0": 100 * (2 / 6 + 0.5 / 8 + 1 / 4), "m1": 100 * (1 / 6 + 1 / 8 + 1 / 4),
    })  # fmt: skip
    assert of(entries, "any_pp")["m0"] == pytest.approx(100 * (2 / 6 + 1 / 8 + 1 / 4))
    assert of(entries, "full_pp")["m0"] == pytest.approx(100 * (2 / 6 + 1 / 4))
    assert of(entries, "task_scores_pp")["m0"] == pytest.approx([200 / 3, 25.0, 100.0])


def test_small_tasks_can_be_pooled():
    rows = np.eye(3, 6)
    benchmark = made(rows, tasks=["s", "s", "s", "s", "t", "u"])
    assert any("2 tasks of one item ('t', 'u')" in w for w in card(benchmark).warnings)
    entries = card(benchmark, min_task_items=2).to_dict()
    assert [task["task"] for task in entries["tasks"]] == ["other", "s"]
    assert not any("of one item" in warning for warning in entries["warnings"])


@pytest.mark.parametrize(
    ("rows", "more", "words"),
    [
        ([[1, 0]], {}, "1 model: there is nothing to compare it with"),
        ([[1, 0, 0, 1], [1, 1, 1, 0]], {"prompts": ["a", "a", "b", "b"], "tasks": list("stuu")},
         "1 prompt in several tasks: an attack refuses that; shared_prompts=drop"),
        ([[1, 1, 0], [1, 0, 0]], {}, "first place hangs on 1 item: without it 'm1' is level"),
        ([[1, 1, 0], [1, 0, 0]], {}, "none of 1 pair of models can be told apart at level 0.95"),
        ([[1, 1, 0], [1, 0, 0]], {}, "2 of 3 items are solved by every model or by none"),
        ([[1, 1, 0], [1, 0, 0]], {}, "1 task only"),
        ([[1, 1, 0], [1, 0, 0]], {},
         "1 model is on the frontier of all items ('m0' is nowhere behind)"),
        ([[1, 0], [0, 1], [1, 0]], {}, "all 3 models have the same score"),
        (np.tile([[0.123456, 0.7654321, 1 / 7919, 3 / 7907], [0, 1, 0, 1]], (1, 1)), {},
         "on a grid of 1e-6"),
        (np.eye(2, 257), {"tasks": [f"t{i:03d}" for i in range(257)]},
         "257 tasks: an attack takes at most 256"),
    ],
)  # fmt: skip
def test_warnings(rows, more, words):
    found = card(made(rows, **more)).warnings
    assert any(words in warning for warning in found), found


def test_nothing_to_warn_of():
    rng = np.random.default_rng(0)
    rows = (rng.random((3, 200)) < np.array([[0.9], [0.5], [0.1]])).astype(float)
    # One task on which the order is another.
    rows[:, 150:] = rows[::-1, 150:]
    rows[0, :150] = 1
    found = card(made(rows, tasks=["s"] * 150 + ["t"] * 50))
    assert found.warnings == []


def test_fine_scores_are_ranked_exactly():
    """Task sizes whose common multiple is far beyond 2^53; two models level, one not."""
    sizes = [31, 37, 41, 43, 47, 53, 59, 61, 67, 71]
    tasks = [f"t{t}" for t, size in enumerate(sizes) for _ in range(size)]
    rng = np.random.default_rng(0)
    first = rng.integers(0, 2, len(tasks)).astype(float)
    rows = np.stack([first, first, first])
    # The same count in every task, by other items.
    start = 0
    for size in sizes:
        rows[1, start : start + size] = rng.permutation(first[start : start + size])
        start += size
    rows[2, np.flatnonzero(first == 1)[0]] = 0
    benchmark = made(rows, tasks=tasks)
    assert Scores.of(benchmark, "equal_task").fine
    entries = card(benchmark, scoring="equal_task").to_dict()
    assert of(entries, "rank") == {"m0": 1, "m1": 1, "m2": 3}
    assert of(entries, "p_first")["m1"] == 1.0
    assert of(entries, "p_first")["m2"] == 1.0
    assert of(entries, "difference_pp")["m2"] == pytest.approx(-100 / 31 / 10, rel=1e-12)
    assert entries["first_place"]["deciding_items"] == 0


def test_fine_weights_are_rounded_and_fine_scores_called_normal():
    rng = np.random.default_rng(0)
    tasks = ["s"] * 101 + ["t"] * 97 + ["u"] * 89
    rows = rng.integers(0, 2, (2, len(tasks))).astype(float)
    found = card(made(rows, tasks=tasks), scoring="equal_task")
    assert found.to_dict()["pairs"]["tests"] == {"sign_flip_rounded": 1}
    assert not any("normal" in warning for warning in found.warnings)
    found = card(made(rng.random((2, 287))))
    assert found.to_dict()["pairs"]["tests"] == {"sign_flip_normal": 1}
    assert any("1 of 1 pair are tested by a normal approximation" in w for w in found.warnings)


def test_summary_and_pairs_are_tables():
    rows = np.tri(3, 6)[::-1]
    found = card(made(rows, name="bench"))
    summary = found.summary()
    assert list(summary.columns) == ["benchmark", *COLUMNS]
    assert set(summary["benchmark"]) == {"bench"}
    assert summary["rank"].tolist() == [1, 2, 3]
    assert np.isnan(summary["p_first"].iloc[0])
    assert list(found.pairs().columns) == [
        "model", "other", "difference_pp", "p", "p_adjusted", "test",
    ]  # fmt: skip
    assert len(found.pairs()) == 3
    assert repr(found) == "Card('bench': 3 models in 1 tiers)"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"scoring": "mean_win_rate"}, "no paired test of items is defined there"),
        ({"scoring": "equal_category"}, "has no categories"),
        ({"levle": 1}, "did you mean level?"),
    ],
)
def test_what_cannot_be_described(options, words):
    with pytest.raises(BadRequest, match=words.replace("?", r"\?")):
        card(made(np.eye(2, 4)), **options)


def test_the_bundled_benchmark():
    found = jaxbench.describe(jaxbench.load("terminal_science"), resamples=50)
    entries = found.to_dict()
    assert entries["shape"]["repeats"] == [3, 3]
    assert (entries["pairs"]["tested"], entries["pairs"]["tests"]) == (136, {"sign_flip": 136})
    assert entries["frontier"]["size"] == 2
    assert scoring.category_of_task(found.benchmark) is None
