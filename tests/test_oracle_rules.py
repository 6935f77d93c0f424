"""The oracle's further rules, each against values worked out by hand.

Unless a test says otherwise, a task has one reused and one held-out item, in this order, so that
the reused scores of a model are its task profile.
"""

from fractions import Fraction
from hashlib import sha256

import pytest

from oracle.attack import OracleBenchmark, OracleItem, OracleRefusal, pool_small_tasks, run_trial
from oracle.interface import Interface, partition, public_profile
from oracle.scoring import native_task_values, overall, released_overall, to_tick, win_rates

F = Fraction
HALF = F(1, 2)


def make(scores, tasks, categories=None, subtasks=None, chances=None, hashes=None):
    """scores: {model: [score per item]}; all else has one entry per item."""
    n = len(tasks)
    columns = zip(
        [f"i{i}" for i in range(n)],
        tasks,
        hashes or [f"h{i}" for i in range(n)],
        categories or [None] * n,
        subtasks or [None] * n,
        [F(c) for c in chances or [0] * n],
        strict=True,
    )
    rows = tuple(tuple(F(score) for score in row) for row in scores.values())
    return OracleBenchmark(tuple(scores), tuple(OracleItem(*c) for c in columns), rows)


def pairs(tasks, reused, heldout=None, categories=None, chances=None):
    """One reused and one held-out item per task; held-out scores default to the reused ones."""
    heldout = heldout or reused
    return make(
        {m: [x for both in zip(reused[m], heldout[m], strict=True) for x in both] for m in reused},
        [t for t in tasks for _ in range(2)],
        [c for c in categories for _ in range(2)] if categories else None,
        None,
        [c for c in chances for _ in range(2)] if chances else None,
    )


def trial(bench, budgets=(), **options):
    """One trial of a benchmark that `pairs` made."""
    options.setdefault("reused", [True, False] * (len(bench.items) // 2))
    return run_trial(bench, trial=0, budgets=list(budgets), **options)


def ends(bench, **options):
    """The endpoints of a trial, A first; None where it is ineligible."""
    [row] = trial(bench, **options)
    return (row["endpoint_a"], row["endpoint_b"]) if row["eligible"] else None


def has(row, **values):
    assert {key: row[key] for key in values} == {
        key: pytest.approx(value) if isinstance(value, float) else value
        for key, value in values.items()
    }


def release(bench, mask, row=0, **options):
    return Interface(bench, mask, **options).release(list(bench.scores[row]))


# --- precision ----------------------------------------------------------------------------------


def test_ticks_are_half_to_even():
    assert [to_tick(F(n, 8), 2) for n in (1, 3, 5)] == [F("0.12"), F("0.38"), F("0.62")]
    assert to_tick(F(2, 3), 0) == 1
    assert to_tick(F(2, 3), 5) == F("0.66667")
    assert to_tick(F(1, 3), None) == F(1, 3)


def test_native_task_values_round_once():
    # t: 1, 0, 0 reused; u: 1/2
    bench = make({"a": [1, 0, 0, 1, "1/2"], "b": [0] * 5}, "ttttu")
    mask = [True, True, True, False, True]
    assert native_task_values(bench, list(bench.scores[0]), mask, 3) == {"t": F("0.333"), "u": HALF}
    assert public_profile(bench, mask, 0)["a"] == {"t": 0, "u": 0}  # 1/2 is half: to even
    assert public_profile(bench, mask)["a"] == {"t": F(1, 3), "u": HALF}


ROUND = pairs("tuvw", {"a": [".25", ".45", ".65", ".85"], "b": [0] * 4}, categories="xxyy")
SIDE = [True, False] * 4


def test_released_overall_of_every_rule():
    # Ticks of a tenth: .2, .4, .6, .8 with mean .5; exact mean .55, which is .6 (half to even).
    row = list(ROUND.scores[0])
    assert released_overall(ROUND, row, SIDE, "item_mean", 1) == F("0.6")
    assert released_overall(ROUND, row, SIDE, "equal_task", 1) == HALF
    assert released_overall(ROUND, row, SIDE, "equal_category", 1) == HALF
    for scoring in ("item_mean", "equal_task", "equal_category"):
        assert released_overall(ROUND, row, SIDE, scoring) == F("0.55")
    # .2, .4 in x and .8 in y: equal_category (.3 + .8) / 2 = .55, rounded to .6; equal_task 1.4 / 3
    three = pairs("tuw", {"a": [".25", ".45", ".85"], "b": [0] * 3}, categories="xxy")
    row, side = list(three.scores[0]), [True, False] * 3
    assert released_overall(three, row, side, "equal_category", 1) == F("0.6")
    assert released_overall(three, row, side, "equal_task", 1) == HALF
    assert overall(three, row, side, "equal_category") == F("0.6")  # (.35 + .85) / 2
    with pytest.raises(OracleRefusal, match="pool"):
        released_overall(three, row, side, "mean_win_rate", 1)


def test_precision_decides_the_public_choice_but_measures_nothing():
    # Overalls .42 and .44, both .4: a by name. Released frontier a, b with means .4, .4, so A = a.
    bench = pairs(
        "tu", {"a": [".6", ".24"], "b": [".24", ".64"]}, {"a": [1, ".5"], "b": [".25", ".25"]}
    )
    [exact] = trial(bench)
    [tenths] = trial(bench, precision=1)
    has(exact, no_attack_model="b", no_attack_reused_pp=44.0, no_attack_heldout_pp=25.0)
    has(tenths, no_attack_model="a", no_attack_reused_pp=42.0, no_attack_heldout_pp=75.0)
    assert exact["genuine_gap_pp"] == tenths["genuine_gap_pp"] == pytest.approx(33.0)


def test_precision_blinds_endpoints_and_static_router():
    # Released t .5, .5 and u .3, .4: b dominates a.
    bench = pairs("tu", {"a": [".54", ".3"], "b": [".5", ".41"]})
    assert ends(bench) == ("a", "b")
    assert ends(bench, precision=1) is None
    # public_top5: overalls .42 -> .4 and .455 -> .5. Exactly t goes to a; released it is a tie.
    options = {"rule": "public_top5", "ties": [-1, 1, 1, 1]}
    has(trial(bench, [1], **options)[1], endpoint_a="a", route=[1, 1, -1, -1])
    has(trial(bench, [1], precision=1, **options)[1], endpoint_a="a", route=[-1, 1, -1, -1])


def test_false_winner_by_the_released_overall():
    # c's .62, .64 is .6, .6. public_top5 distances (halves): a-b .4 + .4, a-c 0 + .4, b-c .4 + 0.
    # a and b have .42 and .44, released .4: A = a by name. Static: t to a, u to b: .62 against
    # c's .63, both .6: c stays, the router is first all the same. Held out: (.5 + .1) / 2.
    bench = pairs(
        "tu",
        {"a": [".6", ".24"], "b": [".24", ".64"], "c": [".62", ".64"]},
        {"a": [".5", ".5"], "b": [".1", ".1"], "c": [".9", ".9"]},
    )
    has(
        trial(bench, [1], rule="public_top5", precision=1)[1],
        endpoint_a="a", endpoint_b="b", route=[1, 1, -1, -1], selected_model="c", rank_reused=1,
        rank_heldout=3, false_winner=True, selection_loss_pp=0.0, rank_drop=0,
        router_reused_pp=62.0, router_heldout_pp=30.0, selected_reused_pp=63.0,
        heldout_regret_pp=60.0,
    )  # fmt: skip
    has(trial(bench, [1], rule="public_top5")[1], rank_reused=2, false_winner=False)


def test_non_leading_leaders_are_those_of_the_released_overall():
    # Overalls .44, .42, .3, .25. Without a: frontier b, c (d is below b), means .42 and .3.
    # At a tenth a and b both lead; c (0, .6) and d (.5, 0) are left, means .3 and .25.
    bench = pairs("tu", {"a": [".44", ".44"], "b": [".84", 0], "c": [0, ".6"], "d": [".5", 0]})
    assert ends(bench, rule="non_leading") == ("c", "b")
    assert ends(bench, rule="non_leading", precision=1) == ("d", "c")


# --- interfaces ---------------------------------------------------------------------------------


def test_partition_by_hash_order():
    # sha256sum of "jaxbench-partition-0|t": 742c, x cc32, u d6d5, v e5bf, w f6bd;
    # partition 1: w 299e, v 4147, x 4ad6, t 55dc, u b197; seed-partition-0: x v w t u
    assert sha256(b"jaxbench-partition-0|t").hexdigest().startswith("742c")
    tasks = list("tuvwx")
    cut = {d: ["".join(g) for g in partition(tasks, d, 0, "jaxbench")] for d in range(1, 6)}
    assert cut == {
        1: ["txuvw"],
        2: ["txu", "vw"],
        3: ["tx", "uv", "w"],
        4: ["tx", "u", "v", "w"],
        5: ["t", "x", "u", "v", "w"],
    }
    assert ["".join(g) for g in partition(tasks, 2, 1, "jaxbench")] == ["wvx", "tu"]
    assert ["".join(g) for g in partition(tasks, 2, 0, "seed")] == ["xvw", "tu"]
    for d in (0, 6):
        with pytest.raises(OracleRefusal, match="groups"):
            partition(tasks, d, 0, "jaxbench")


def test_release_of_tasks_groups_and_aggregate():
    assert release(ROUND, SIDE, precision=1) == {
        "t": F("0.2"), "u": F("0.4"), "v": F("0.6"), "w": F("0.8"),
    }  # fmt: skip
    # order t u v w: (.2 + .4) / 2 = .3, where the exact mean .35 would be .4
    assert release(ROUND, SIDE, interface="groups:2", precision=1) == {
        "group 0": F("0.3"), "group 1": F("0.7"),
    }  # fmt: skip
    assert release(ROUND, SIDE, interface="groups:2")["group 0"] == F("0.35")
    assert Interface(ROUND, SIDE, interface="groups:3").of_item == [
        *["group 0"] * 4, *["group 1"] * 2, *["group 2"] * 2,
    ]  # fmt: skip
    # partition 1: w v | t u
    assert Interface(ROUND, SIDE, interface="groups:2:1").of_item == [
        *["group 1"] * 4, *["group 0"] * 4,
    ]  # fmt: skip
    assert release(ROUND, SIDE, interface="aggregate", precision=1) == {"overall": F("0.6")}
    assert release(ROUND, SIDE, interface="aggregate", precision=1, scoring="equal_task") == {
        "overall": HALF
    }


def test_release_of_categories():
    # x: t .2, u .4, not .35 -> .4
    assert release(ROUND, SIDE, interface="category", precision=1)["x"] == F("0.3")
    # t has two reused items in x, u one: mean of task means 1/2, not 2/3
    bench = make({"a": [1, 1, 0, 0], "b": [0] * 4}, "ttuv", "xxxy")
    assert release(bench, [True] * 4, interface="category") == {"x": HALF, "y": 0}
    # v in x and y: items count, x 1, 1, 0, 0 -> 1/2, y 1/4, 1/4, 3/4 -> 5/12 = .4 (a tenth)
    scores = {"a": [1, 1, 0, 0, "1/4", "1/4", "3/4", 1], "b": [0] * 8}
    mixed = make(scores, "ttuvvvvv", "xxxxyyyy")
    mask = [True] * 7 + [False]
    assert release(mixed, mask, interface="category") == {"x": HALF, "y": F(5, 12)}
    assert release(mixed, mask, interface="category", precision=1) == {"x": HALF, "y": F("0.4")}
    assert Interface(mixed, mask, interface="category").of_item == list("xxxxyyyy")
    # .25 and .45 as items of one category: exact mean .35, one rounding
    two = make({"a": [".25", ".45", 0, 0], "b": [0] * 4}, "tutv", "xxyy")
    assert release(two, [True] * 4, interface="category", precision=1)["x"] == F("0.4")


FIVE = pairs("txuvw", {"a": [1, 0, 0, 1, 1], "b": [".5", ".5", ".5", 0, 0]})
TIES = [1, -1, 1, -1, 1, -1, 1, -1, 1, -1]


def test_groups_in_a_trial():
    # txu: a 1/3, b 1/2; vw: a 1, b 0. Means 2/3 and 1/4, so A = b. Static: + on txu, - on vw.
    # Candidate: reused b a b a b, so txu 1/3 and vw 1/2: weights 2/3 - 1/3 - 1/2 = -1/6 and 0.
    candidate = [1, 1, -1, 1, 1, 1, -1, 1, 1, 1]
    options = {"signs": [candidate], "ties": TIES, "interface": "groups:2"}
    _, one, two = trial(FIVE, [1, 2], **options)
    has(one, endpoint_a="b", endpoint_b="a", route=[1] * 6 + [-1] * 4)
    has(two, route=[-1, -1, 1, -1, -1, -1, *TIES[6:]])
    # A tenth: a .3, b .5, candidate (.5 + 0 + .5) / 3 = .3: weight -.2, the same route
    assert trial(FIVE, [2], precision=1, **options)[1]["route"] == two["route"]
    # partition 1, wvx and tu: a 2/3, 1/2 and b 1/6, 1/2: a dominates. From the tasks: A = b;
    # wvx to a, tu the tie signs.
    other = {"interface": "groups:2:1", "ties": TIES}
    assert ends(FIVE, interface="groups:2:1") is None
    row = trial(FIVE, [1], endpoint_view="tasks", **other)[1]
    has(row, endpoint_a="b", route=[1, -1, -1, -1, 1, -1, -1, -1, -1, -1])
    # the seed as partition text: xvw and tu again
    row = trial(
        FIVE, [1], endpoint_view="tasks", interface="groups:2", ties=TIES, group_seed="seed"
    )
    assert row[1]["route"] == [1, -1, -1, -1, 1, -1, -1, -1, -1, -1]


def test_aggregate_in_a_trial():
    # Overalls a 1/2, b 1/4: a alone on the frontier of one number, both on that of the tasks.
    bench = pairs("tu", {"a": [1, 0], "b": [0, ".5"]})
    options = {"interface": "aggregate", "signs": [[1, -1, 1, 1]]}
    assert ends(bench, interface="aggregate") is None
    for extra in ({"rule": "public_top5"}, {"endpoint_view": "tasks"}):
        _, one, two = trial(bench, [1, 2], **options, **extra)
        # Everything to a. Candidate: b's 0 and b's 1/2: weight 1/2 - 1/4 - 1/2 = -1/4.
        has(one, endpoint_a="b", endpoint_b="a", route=[-1] * 4)
        has(two, route=[-1, 1, -1, -1])
    # two genuine models with the best overall are both on the frontier of one number
    level = pairs("tu", {"a": [1, 0], "b": [0, 1], "c": [0, 0]})
    assert ends(level, interface="aggregate", rule="full_frontier") == ("a", "b")
    assert ends(level, interface="aggregate", rule="non_leading") is None


def test_categories_in_a_trial():
    # x holds t (two reused items) and u: a 1/2 and b 1/2, a tie; by items a would lead, 2/3 to
    # 1/3. y: b leads. Means a 1/4, b 3/4: A = a, but b dominates: endpoints from the tasks.
    bench = make({"a": [1, 1, 1, 0, 0, 0, 0], "b": [0, 0, 0, 1, 1, 1, 1]}, "tttuuvv", "xxxxxyy")
    side = [True, True, False, True, False, True, False]
    ties = [1, -1, 1, -1, 1, 1, 1]
    options = {"reused": side, "ties": ties, "interface": "category"}
    assert trial(bench, **options)[0]["eligible"] is False
    row = trial(bench, [1], endpoint_view="tasks", **options)[1]
    has(row, endpoint_a="a", route=[1, -1, 1, -1, 1, -1, -1])
    # One item of t in y: x now has items 1, 0 of a (b 0, 1), y 1, 0 (b 0, 1): all tied
    mixed = make({"a": [1, 1, 1, 0, 0, 0, 0], "b": [0, 0, 0, 1, 1, 1, 1]}, "tttuuvv", "xyxxxyy")
    row = trial(mixed, [1], endpoint_view="tasks", **options)[1]
    assert row["route"] == ties
    # a candidate that sends item 0 to A = a and item 3 to a: x 1/2 of 1/2, 1/2, y both to b 1/2
    signs = [[1, -1, 1, 1, 1, -1, 1]]
    row = trial(mixed, [2], endpoint_view="tasks", signs=signs, **options)[1]
    assert row["route"] == ties
    # item 3 to b as well: x (1 + 1) / 2, weight 2 - 1/2 - 1/2 = 1: x follows the candidate
    signs = [[1, -1, 1, -1, -1, -1, 1]]
    row = trial(mixed, [2], endpoint_view="tasks", signs=signs, **options)[1]
    assert row["route"] == [1, -1, 1, -1, -1, 1, 1]


def test_orientation_counts_categories_only_where_tasks_are_seen():
    # Plain means 2/3 and 1/3: b is A. Within categories 1/2 and 1/2: a is A.
    rows = {"a": [1, 1, 0], "b": [0, 0, 1]}
    bench = pairs("tuv", rows, categories="xxy")
    assert ends(bench) == ("a", "b")
    assert ends(bench, interface="groups:3") == ("b", "a")
    assert ends(bench, interface="groups:3", endpoint_view="tasks") == ("a", "b")
    assert ends(bench, interface="category") == ("a", "b")  # x 1, 0 and y 0, 1
    # no categories at all, then t in two: the plain mean over tasks
    assert ends(pairs("tuv", rows)) == ("b", "a")
    mixed = make({m: [x for x in r for _ in range(2)] for m, r in rows.items()}, "ttuuvv", "xyxxyy")
    assert ends(mixed) == ("b", "a")


def test_distance_of_public_top5_counts_categories_only_where_tasks_are_seen():
    # Differences a-b (.6, .6, 0), a-c (.4, .4, .3), b-c (.2, .2, .3): weights 1/3 give a-b,
    # weights 1/4, 1/4, 1/2 give a-c. a has the smallest overall.
    rows = {"a": [0, 0, 0], "b": [".6", ".6", 0], "c": [".4", ".4", ".3"]}
    options = {"rule": "public_top5", "scoring": "equal_category"}
    bench = pairs("tuv", rows, categories="xxy")
    assert ends(bench, **options) == ("a", "c")
    assert ends(bench, interface="groups:3", **options) == ("a", "b")
    assert ends(bench, interface="groups:3", endpoint_view="tasks", **options) == ("a", "c")
    # categories x, y as coordinates, 1/2 each: a-b .6, a-c .4 + .3, b-c .2 + .3
    assert ends(bench, interface="category", **options) == ("a", "c")
    # one number: 0, .3, .35
    assert ends(bench, interface="aggregate", **options) == ("a", "c")


def test_one_form_of_release_in_another_guise():
    rows = {
        "a": [1, "1/3", 0, "3/4", "1/8"],
        "b": ["1/2", 1, "2/7", 0, "1/8"],
        "c": [0, "2/3", "6/7", "1/4", "5/8"],
    }
    bench = pairs("tuvwx", rows, {m: row[::-1] for m, row in rows.items()}, categories="TUVWX")
    options = {"budgets": [1, 2, 8, 32], "scoring": "equal_task", "endpoint_view": "tasks"}
    for precision in (None, 2):
        given = {"precision": precision, **options}
        by_task = trial(bench, interface="task", **given)
        assert by_task[1]["eligible"]
        for interface in ("groups:5", "groups:5:3", "category"):
            assert trial(bench, interface=interface, **given) == by_task
        one = trial(bench, interface="aggregate", **given)
        assert trial(bench, interface="groups:1", **given) == one
        assert one[1]["route"] != by_task[1]["route"]


# --- scoring ------------------------------------------------------------------------------------


def test_chance_normalised_by_hand():
    # t/p chance 1/4: 1, 0 -> (1/2 - 1/4) / (3/4) = 1/3. t/q chance 1/2: 0, 1/2, 1/4 -> below: 0.
    # t: 1/6, whatever the cell sizes. u, chance 0: 1, 1. Overall 7/12. Raw t: 1.75 / 5.
    bench = make(
        {"a": [1, 0, 0, "1/2", "1/4", 1, 1, 0, 1, 1], "b": [0] * 10},
        "tttttuuutt",
        subtasks=[*"ppqqq", None, None, None, *"pq"],
        chances=["1/4"] * 2 + ["1/2"] * 3 + [0] * 3 + ["1/4", "1/2"],
    )
    mask = [True] * 7 + [False] * 3
    row = list(bench.scores[0])
    assert overall(bench, row, mask, "chance_normalised") == F(7, 12)
    assert released_overall(bench, row, mask, "chance_normalised", 2) == F("0.58")
    # held out: t/p 1, t/q 1, u 0
    assert overall(bench, row, [not side for side in mask], "chance_normalised") == HALF
    options = {"scoring": "chance_normalised", "precision": 2}
    assert release(bench, mask, **options) == {"t": F("0.35"), "u": 1}
    assert release(bench, mask, interface="groups:1", **options) == {"group 0": F("0.68")}  # .675
    assert release(bench, mask, interface="aggregate", **options) == {"overall": F("0.58")}


def test_chance_normalised_trial():
    # z at chance 1/2: a 0 and .4, b 0 and .5: .2, .25; raw .45, .35. The endpoints go by raw
    # means: A = b. Static t to a, u to b: 0 and .5, level with b, which stays. Held out a 1, 0,
    # b 0, 1, the router 1, 1.
    bench = pairs(
        "tu",
        {"a": [".5", ".4"], "b": [".2", ".5"]},
        {"a": [1, 0], "b": [".5", 1]},
        chances=["1/2", 0],
    )
    none, row = trial(bench, [1], scoring="chance_normalised")
    # gap: a .8 and .5, then b .75 and .5
    has(none, no_attack_model="b", no_attack_reused_pp=25.0, genuine_gap_pp=30.0)
    has(
        row, endpoint_a="b", endpoint_b="a", route=[-1, -1, 1, 1], selected_model="b",
        rank_reused=1, rank_heldout=1, false_winner=False, router_reused_pp=25.0,
        router_heldout_pp=100.0, heldout_regret_pp=-50.0, selected_heldout_pp=50.0,
    )  # fmt: skip
    assert trial(bench)[0]["no_attack_model"] == "a"


def test_chance_normalised_refusals():
    rows = {"a": [1] * 4, "b": [0] * 4}
    options = {"scoring": "chance_normalised"}
    with pytest.raises(OracleRefusal, match="two chance values"):
        trial(make(rows, "ttuu", chances=["1/4", "1/2", 0, 0]), **options)
    with pytest.raises(OracleRefusal, match="'i3'"):
        trial(make(rows, "ttuu", chances=[0, 0, 0, 1]), **options)
    with pytest.raises(OracleRefusal, match="task 't', subtask 'q', has no reused item"):
        trial(make(rows, "ttuu", subtasks=["p", "q", None, None]), **options)
    with pytest.raises(OracleRefusal, match="task 't', subtask 'p', has no held-out item"):
        trial(make(rows, "tttt", subtasks=["p", "q", "q", "q"]), **options)
    # nothing of this matters to another rule
    assert trial(make(rows, "ttuu", subtasks=[*"pqrs"], chances=["1/4", "1/2", 0, 1]))


def test_win_rates_by_hand():
    # t: 1 beats both, the others tie: 1, 1/4, 1/4. u: 0, 1/2, 1.
    pool = [{"t": F(1), "u": F(0)}, {"t": HALF, "u": HALF}, {"t": HALF, "u": F(1)}]
    assert win_rates(pool) == [HALF, F(3, 8), F(5, 8)]
    assert win_rates(pool[:2]) == [HALF, HALF]


WINS = pairs(
    "tuv",
    {"a": [".6", ".6", 0], "b": [".5", ".5", 1]},
    {"a": [0, 0, 1], "b": [".1", ".1", 0]},
    categories="xxy",
)


def test_mean_win_rate_trial():
    # a wins t and u: 2/3, and is chosen; scores within categories: a .3, b 3/4; held out 1/2, .05.
    # Means .3 and .75 for the orientation too: A = a. Static .6, .6, 1: .8; held out 0, 0, 0.
    # Public pool: a (3/4 + 3/4 + 0) / 3, b (0 + 0 + 3/4) / 3, the router 3/4. Held out: a
    # (1/4 + 1/4 + 1) / 3, b (1 + 1 + 1/4) / 3, the router 1/4: third; a second, b first.
    none, row = trial(WINS, [1], scoring="mean_win_rate")
    # gap: a .7 and .5, then b best .25 and .5
    has(none, no_attack_model="a", no_attack_reused_pp=30.0, no_attack_heldout_pp=50.0,
        genuine_gap_pp=25.0)  # fmt: skip
    has(
        row, endpoint_a="a", endpoint_b="b", route=[1, 1, 1, 1, -1, -1], selected_router=True,
        rank_reused=1, rank_heldout=3, false_winner=True, rank_drop=1, selection_loss_pp=50.0,
        router_reused_pp=80.0, router_heldout_pp=0.0, heldout_regret_pp=50.0, score_gap_pp=30.0,
    )  # fmt: skip
    assert trial(WINS, scoring="equal_category")[0]["no_attack_model"] == "b"
    # without categories the scores are equal_task: a 1.2 / 3, held out 1/3
    bare = make(dict(zip(WINS.models, WINS.scores, strict=True)), "ttuuvv")
    row = trial(bare, scoring="mean_win_rate")[0]
    has(row, no_attack_model="a", no_attack_reused_pp=40.0, no_attack_heldout_pp=100 / 3)


def test_held_out_ranks_are_by_wins():
    # The reused side of WINS, so the same route. Held out the router has .2, .2, .05. Wins: a 3/4,
    # 1/4, 0; b 0, 1, 3/4; the router 3/4, 1/4, 3/4, level with b. Scores .1, .25, .125.
    reused = {"a": [".6", ".6", 0], "b": [".5", ".5", 1]}
    heldout = {"a": [".2", ".2", 0], "b": [0, ".9", ".05"]}
    row = trial(pairs("tuv", reused, heldout, "xxy"), [1], scoring="mean_win_rate")[1]
    has(row, selected_router=True, rank_heldout=1, false_winner=False, rank_drop=-2)
    has(row, selection_loss_pp=-2.5, heldout_regret_pp=12.5)


def test_mean_win_rate_is_the_released_overall():
    # public_top5 goes by it: b has 1/3, the smaller; equal_category takes a (.3 against .75).
    assert ends(WINS, rule="public_top5", scoring="mean_win_rate") == ("b", "a")
    assert ends(WINS, rule="public_top5", scoring="equal_category") == ("a", "b")
    # Rows beaten on t, u, v: a 2, 1, 1/2; b 1, 0, 2; c 0, 2, 1/2. a leads by wins, b by score.
    # The rest is a frontier of two either way, c with the lower mean.
    rows = {"a": [".6", ".6", 0], "b": [".5", ".5", 1], "c": [0, ".7", 0]}
    assert ends(pairs("tuv", rows), rule="non_leading", scoring="mean_win_rate") == ("c", "b")
    assert ends(pairs("tuv", rows), rule="non_leading", scoring="equal_task") == ("c", "a")


def test_mean_win_rate_cuts_the_frontier_by_wins():
    # All six are on the frontier, each first on a task of its own, the others 0 there; wins
    # differ on the last task only.
    bench = pairs(
        "tuvwxyz",
        {
            "a": [".1", 0, 0, 0, 0, 0, ".5"],
            "b": [0, ".1", 0, 0, 0, 0, ".4"],
            "c": [0, 0, ".1", 0, 0, 0, ".3"],
            "d": [0, 0, 0, ".1", 0, 0, ".2"],
            "e": [0, 0, 0, 0, ".1", 0, ".1"],
            "f": [0, 0, 0, 0, 0, 1, 0],
        },
    )
    # By score e (.2 in sum) is cut: widest a-f, 1.6. By wins f: widest a-e, .6, e below a.
    assert ends(bench) == ("a", "f")
    assert ends(bench, scoring="mean_win_rate") == ("e", "a")


def test_mean_win_rate_compares_native_values():
    # At a tenth t and u tie: a (1/2 + 1/2 + 0) / 3, b 2/3; exactly a wins both.
    bench = pairs("tuv", {"a": [".62", ".62", 0], "b": [".58", ".58", 1]})
    assert trial(bench, scoring="mean_win_rate")[0]["no_attack_model"] == "a"
    [row] = trial(bench, scoring="mean_win_rate", precision=1)
    has(row, no_attack_model="b", eligible=False, no_attack_reused_pp=72.0)
    # whatever is released: one group of three tasks
    [row] = trial(bench, scoring="mean_win_rate", interface="groups:1")
    has(row, no_attack_model="a", eligible=False)


def test_the_pool_after_the_attack_reorders_genuine_models():
    # Rows beaten on t, u, w. Before: a 3, 1, 3 and b 2, 3, 2 of 9, a by name. Both lead, so the
    # endpoints are c (mean .55 / 3) and d (.15 / 3): A = d. Static: t, w to d, u to c.
    # After: the router is below a and b on t and w, between them on u: a 4, 1, 4 and b 3, 4, 3;
    # the router 1.5, 2.5, 1.5; c 0, 2.5, 0; d 1.5, 0, 1.5. b is chosen, and second held out.
    bench = pairs(
        "tuw",
        {
            "a": [".9", ".5", ".9"],
            "b": [".8", ".6", ".8"],
            "c": [0, ".55", 0],
            "d": [".1", 0, ".05"],
        },
        {"a": [HALF] * 3, "b": [HALF / 2] * 3, "c": [0] * 3, "d": [0] * 3},
    )
    none, row = trial(bench, [1], rule="non_leading", scoring="mean_win_rate")
    has(none, no_attack_model="a", no_attack_reused_pp=230 / 3)
    has(
        row, endpoint_a="d", endpoint_b="c", route=[1, 1, -1, -1, 1, 1], selected_model="b",
        selected_router=False, false_winner=False, rank_reused=3, rank_heldout=3, rank_drop=1,
        selection_loss_pp=25.0, selected_reused_pp=220 / 3, selected_heldout_pp=25.0,
        heldout_regret_pp=50.0,
    )  # fmt: skip


# --- pooling ------------------------------------------------------------------------------------


def test_pool_small_tasks():
    bench = make({"a": [0] * 6, "b": [0] * 6}, "tttuvv", "xxxyzz")
    assert pool_small_tasks(bench, 1) == bench
    pooled = pool_small_tasks(bench, 3)
    assert [item.task for item in pooled.items] == ["t"] * 3 + ["other"] * 3
    assert [item.category for item in pooled.items] == list("xxxyzz")
    assert pool_small_tasks(bench, 2).items[3].task == "other"  # u alone
    assert pool_small_tasks(bench, 2).items[4].task == "v"
    assert {item.task for item in pool_small_tasks(bench, 7).items} == {"other"}
    names = ["other"] * 3 + ["u", "v", "v"]
    large = make({"a": [0] * 6, "b": [0] * 6}, names)
    assert [item.task for item in pool_small_tasks(large, 3).items] == [
        *["other"] * 3, *["other (pooled)"] * 3,
    ]  # fmt: skip
    # a small task of this name is pooled like any other
    assert {item.task for item in pool_small_tasks(large, 4).items} == {"other"}
    with pytest.raises(OracleRefusal, match="min_task_items"):
        pool_small_tasks(bench, 0)


def test_min_task_items_in_a_trial():
    # u and v share a prompt, w has one item: refused as they are
    bench = make({"a": [1, 1, 0, 0, 0], "b": [0, 0, 1, 1, 1]}, "ttuvw", hashes=[*"pqrrs"])
    with pytest.raises(OracleRefusal, match="two tasks"):
        run_trial(bench, trial=0, budgets=[1])
    # other: r (two items) and s; the target 2 of 3 held out is r, in any order
    _, row = run_trial(bench, trial=0, budgets=[1], min_task_items=2)
    has(row, endpoint_a="a", endpoint_b="b", route=[1, 1, -1, -1, -1], router_reused_pp=100.0)
    single = make({"a": [1, 1, 0], "b": [0, 0, 1]}, "ttu")
    with pytest.raises(OracleRefusal, match="'other'"):
        run_trial(single, trial=0, budgets=[1], min_task_items=2)


# --- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"interface": "groups:0"}, "groups"),
        ({"interface": "groups:4"}, "3 tasks"),
        ({"interface": "groups"}, "not in the oracle"),
        ({"interface": "groups:2:-1"}, "not in the oracle"),
        ({"interface": "bands"}, "not in the oracle"),
        ({"interface": "aggregate", "scoring": "mean_win_rate"}, "aggregate"),
        ({"scoring": "best"}, "not in the oracle"),
        ({"rule": "best"}, "not in the oracle"),
        ({"endpoint_view": "items"}, "endpoint_view"),
        ({"precision": -1}, "precision"),
        ({"precision": 0.5}, "precision"),
        ({"min_task_items": 0}, "min_task_items"),
    ],
)
def test_refusals(options, words):
    with pytest.raises(OracleRefusal, match=words):
        trial(WINS, **options)


def test_category_refusals():
    with pytest.raises(OracleRefusal, match="every item"):
        trial(FIVE, interface="category")
    # u sits in y and z; its only item in z is held out
    bench = make({"a": [1] * 4, "b": [0] * 4}, "ttuu", "xxyz")
    with pytest.raises(OracleRefusal, match="'z' has no reused item"):
        trial(bench, interface="category")
