"""The exact oracle against the published records, and against small cases worked out by hand.

Published coverage: trials 0 to 19 at every budget of the record file (0, 1, 2, 4, ..., 2048) and
in every column; and the means over all 250 trials at the budgets of the summary file up to 32
(the published intervals are not the oracle's business). Both need the public outcome table, which
lies beside the checkout; they are skipped where it is missing.
"""

import csv
import json
from fractions import Fraction
from pathlib import Path

import pytest

from oracle.attack import (
    OracleBenchmark,
    OracleItem,
    OracleRefusal,
    choose_endpoints,
    final_router,
    final_routers,
    hash_sign,
    hash_split,
    overall,
    pair_order_kept,
    public_profile,
    rank,
    run_trial,
    score_gap,
    tie_sign,
)
from oracle.endpoints import coordinate_weights, pareto_frontier
from oracle.split import fill, split_order

F = Fraction
HALF = F(1, 2)
FIXTURES = Path(__file__).resolve().parent / "fixtures"
OUTCOMES = (
    Path(__file__).resolve().parents[2] / "shared" / "data" / "terminal_science" / "outcomes.json"
)
TOLERANCE = 1e-9

# published column -> oracle key, where the names differ
RENAMED = {
    "new_submissions": "budget",
    "model_selection_loss_pp": "selection_loss_pp",
    "no_attack_s_pp": "no_attack_reused_pp",
    "no_attack_t_pp": "no_attack_heldout_pp",
    "selected_s_pp": "selected_reused_pp",
    "selected_t_pp": "selected_heldout_pp",
    "router_s_pp": "router_reused_pp",
    "router_t_pp": "router_heldout_pp",
    "score_gap_mean_pp": "score_gap_pp",
    "genuine_gap_mean_pp": "genuine_gap_pp",
}
CONSTANT = ("benchmark", "policy")


# --- published records --------------------------------------------------------------------------


def read_csv(name):
    with open(FIXTURES / name, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def published():
    """The benchmark and the arguments of the published protocol, with its bank hashed once."""
    if not OUTCOMES.exists():
        pytest.skip("the public outcome table is not beside this checkout")
    table = json.loads(OUTCOMES.read_text(encoding="utf-8"))
    bench = OracleBenchmark(
        models=tuple(table["models"]),
        items=tuple(
            OracleItem(*item)
            for item in zip(table["items"], table["tasks"], table["prompt_hashes"], strict=True)
        ),
        scores=tuple(
            tuple(F(int(count), table["repeats"]) for count in row) for row in table["successes"]
        ),
    )
    protocol = table["protocol"]
    hashes = table["prompt_hashes"]
    most = max(protocol["budgets"])
    bank = [[hash_sign(protocol["routing_seed"], j, h) for h in hashes] for j in range(most - 1)]
    options = cells(
        split_seed_base=protocol["split_seed_base"],
        holdout_fraction=F(protocol["holdout_fraction"]),
        rule=protocol["endpoints"],
        scoring=protocol["scoring"],
        routing_seed=protocol["routing_seed"],
        tie_seed=protocol["tie_seed"],
    )
    return bench, options, bank


def agrees(text, value):
    if text in ("", "INELIGIBLE"):
        return value is None
    if text in ("True", "False"):
        return value is (text == "True")
    if isinstance(value, str):
        return value == text
    return value is not None and abs(float(text) - value) < TOLERANCE


def test_published_trials_0_to_19(published):
    bench, options, bank = published
    records = read_csv("terminal_science_published_trials_first20.csv")
    budgets = sorted({int(record["new_submissions"]) for record in records})
    assert budgets == [0, *(2**n for n in range(12))]
    rows = {
        (row["trial"], row["budget"]): row
        for trial in range(20)
        for row in run_trial(bench, trial=trial, budgets=budgets[1:], signs=bank, **options)
    }
    assert len(records) == len(rows) == 20 * 13
    for record in records:
        row = rows[int(record["trial"]), int(record["new_submissions"])]
        for column, text in record.items():
            if column not in CONSTANT:
                value = row[RENAMED.get(column, column)]
                assert agrees(text, value), (row["trial"], row["budget"], column, text, value)


def test_published_means_of_250_trials_up_to_budget_32(published):
    bench, options, bank = published
    summary = [
        record
        for record in read_csv("terminal_science_published_summary.csv")
        if int(record["new_submissions"]) <= 32
    ]
    budgets = [int(record["new_submissions"]) for record in summary]
    assert budgets == [0, 1, 2, 4, 8, 16, 32]
    trials = [
        run_trial(bench, trial=trial, budgets=budgets, signs=bank, **options)
        for trial in range(250)
    ]
    for position, record in enumerate(summary):
        rows = [trial[position] for trial in trials]
        if record["new_submissions"] != "0":
            rows = [row for row in rows if row["eligible"]]
        assert len(rows) == int(record["eligible_trials"])
        for column, text in record.items():
            if column in CONSTANT or column.endswith(("_low", "_high", "_trials")):
                continue
            values = [row[RENAMED.get(column, column)] for row in rows]
            if text == "":
                assert values == [None] * len(rows)
            else:
                difference = abs(sum(values) / len(values) - float(text))
                assert difference < TOLERANCE, (record["new_submissions"], column)


def test_bank_and_ties_from_the_seeds_are_those_handed_in(published):
    bench, options, bank = published
    by_hash = run_trial(bench, trial=0, budgets=[1, 2, 64], **options)
    ties = [tie_sign(options["tie_seed"], item.prompt_hash) for item in bench.items]
    reused = hash_split(bench, options["split_seed_base"], options["holdout_fraction"])
    handed = run_trial(
        bench, trial=0, budgets=[1, 2, 64], signs=bank[:63], ties=ties, reused=reused, **options
    )
    assert by_hash == handed


# --- helpers for hand-made cases ----------------------------------------------------------------


def cells(**values):
    return values


def make(scores, tasks, hashes=None, categories=None):
    """scores: {model: [score per item]}; tasks: one letter per item."""
    hashes = hashes or [f"h{i}" for i in range(len(tasks))]
    categories = categories or {}
    items = tuple(
        OracleItem(f"i{i}", task, h, categories.get(task))
        for i, (task, h) in enumerate(zip(tasks, hashes, strict=True))
    )
    rows = tuple(tuple(F(score) for score in row) for row in scores.values())
    return OracleBenchmark(tuple(scores), items, rows)


def profiles(**rows):
    return {
        model: {f"t{t}": F(value) for t, value in enumerate(row)} for model, row in rows.items()
    }


def plain(profile):
    return {model: sum(row.values()) / len(row) for model, row in profile.items()}


# --- split --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sizes", "target", "taken"),
    [
        # 2 fits, rest 1 is reachable from {2, 1}; the next 2 does not fit; 1 completes
        ([2, 2, 1], 3, [True, False, True]),
        # 1 fits, but the rest 3 is not a sum of {2, 2}: passed over; 2 + 2
        ([1, 2, 2], 4, [False, True, True]),
        # 3 is too large; 1 fits, rest 1 from {1, 2}; 1 completes; 2 no longer fits
        ([3, 1, 1, 2], 2, [False, True, True, False]),
        # once the target is met nothing more is taken
        ([1, 1, 1], 2, [True, True, False]),
        # 2 fits, rest 3 from {4, 3}: taken; 4 too large; 3
        ([2, 4, 3], 5, [True, False, True]),
        # no subset of {2, 2} has 3 items
        ([2, 2], 3, None),
    ],
)
def test_fill_walk(sizes, target, taken):
    assert fill(sizes, target) == taken


def test_split_walks_groups_in_hash_order():
    # sha256sum of "7|t|p", "7|t|q", "7|t|r" begins 7a29, 4045, 796f: the order is q, r, p.
    assert sorted("pqr", key=lambda h: split_order(7, "t", h)) == ["q", "r", "p"]
    assert split_order(7, "t", "q")[0] >> 240 == 0x4045
    # Sizes q 2, r 2, p 1.
    bench = make({"a": [1] * 5, "b": [0] * 5}, "ttttt", ["q", "p", "r", "q", "r"])
    # 4/5: target 4: q (rest 2 from {2, 1}), r. Reused: p.
    assert hash_split(bench, 7, F(4, 5)) == [False, True, False, False, False]
    # 2/3: target round(10/3) = 3: q (rest 1 from {2, 1}), r is too large, p. Reused: r.
    assert hash_split(bench, 7, F(2, 3)) == [False, False, True, False, True]
    # 2/5: target 2: q. Reused: r, p.
    assert hash_split(bench, 7, F(2, 5)) == [False, True, True, False, True]


def test_holdout_target_rounds_half_to_even():
    bench = make({"a": [1] * 4, "b": [0] * 4}, "tttt")
    assert hash_split(bench, 0, F(5, 8)).count(False) == 2  # 2.5 -> 2
    assert hash_split(bench, 0, F(3, 8)).count(False) == 2  # 1.5 -> 2


def test_refused_splits():
    with pytest.raises(OracleRefusal, match="'u' would have no reused"):  # round(2/3) = 1 of 1
        hash_split(make({"a": [1] * 3, "b": [0] * 3}, "ttu"), 0, F(2, 3))
    with pytest.raises(OracleRefusal, match="'t' would have no held-out"):  # round(0.5) = 0
        hash_split(make({"a": [1] * 2, "b": [0] * 2}, "tt"), 0, F(1, 4))
    with pytest.raises(OracleRefusal, match="'t': no set"):  # groups 2 + 2, target round(8/3) = 3
        hash_split(make({"a": [1] * 4, "b": [0] * 4}, "tttt", list("ppqq")), 0, F(2, 3))
    with pytest.raises(OracleRefusal, match="'p' occurs in two tasks"):
        hash_split(make({"a": [1] * 4, "b": [0] * 4}, "ttuu", list("pqpr")), 0, F(2, 3))
    with pytest.raises(OracleRefusal, match="never a float"):
        hash_split(make({"a": [1] * 4, "b": [0] * 4}, "tttt"), 0, 2 / 3)
    with pytest.raises(OracleRefusal, match="two models"):
        hash_split(make({"a": [1] * 4}, "tttt"), 0, F(2, 3))
    bench = make({"a": [1] * 4, "b": [0] * 4}, "tttt", list("ppqr"))
    common = cells(trial=0, budgets=[1], rule="public_top5")
    with pytest.raises(OracleRefusal, match="'p' stands on both sides"):
        run_trial(bench, reused=[True, False, True, False], **common)
    with pytest.raises(OracleRefusal, match="'p' is routed two ways"):
        run_trial(bench, reused=[True, True, False, False], ties=[1, -1, 1, 1], **common)


# --- endpoints ----------------------------------------------------------------------------------


def test_frontier_keeps_equal_profiles_and_drops_the_dominated():
    rows = profiles(a=[1, 0], b=[1, 0], c=[HALF, 0], d=[0, 1])
    assert pareto_frontier(rows) == ["a", "b", "d"]  # c: a is >= on both and > on t0


def test_distance_ties_go_to_the_first_pair_of_names():
    # Unit vectors: each pair differs by 1 on two of three coordinates, MAD 2/3 three times. Names
    # in lexical order are m1 < m10 < m2. Means are all 1/3, so A is the smaller name, m1.
    rows = profiles(m2=[1, 0, 0], m10=[0, 1, 0], m1=[0, 0, 1])
    assert choose_endpoints(rows, plain(rows)) == ("m1", "m10")


def test_orientation_and_its_tie():
    # means 0.6 and 0.4: b has the larger loss
    rows = profiles(a=[F("0.9"), F("0.3")], b=[F("0.1"), F("0.7")])
    assert choose_endpoints(rows, plain(rows)) == ("b", "a")
    # equal means: the smaller name
    rows = profiles(b=[F("0.8"), F("0.2")], a=[F("0.1"), F("0.9")])
    assert choose_endpoints(rows, plain(rows)) == ("a", "b")
    # b's mean loss is larger by 1e-11, equal when rounded to 10 decimals: the smaller name
    rows = profiles(b=[F("0.8"), F("0.2") - F(2, 10**11)], a=[F("0.1"), F("0.9")])
    assert choose_endpoints(rows, plain(rows)) == ("a", "b")
    # by 1e-9: no tie
    rows = profiles(b=[F("0.8"), F("0.2") - F(2, 10**9)], a=[F("0.1"), F("0.9")])
    assert choose_endpoints(rows, plain(rows)) == ("b", "a")


def test_orientation_is_within_categories_where_they_exist():
    # Plain means 2/3 and 1/3: b is A. Categories {t0, t1}, {t2}: (1 + 0) / 2 and (0 + 1) / 2, a
    # tie: a is A.
    rows = profiles(a=[1, 1, 0], b=[0, 0, 1])
    assert choose_endpoints(rows, plain(rows)) == ("b", "a")
    categories = {"t0": "x", "t1": "x", "t2": "y"}
    assert choose_endpoints(rows, plain(rows), categories=categories) == ("a", "b")


SIX = profiles(
    f=[F("0.0"), F("1.0")],
    e=[F("0.7"), F("0.3")],
    d=[F("0.3"), F("0.7")],
    c=[F("0.6"), F("0.4")],
    b=[F("0.4"), F("0.6")],
    a=[F("0.5"), F("0.5")],
)


def test_cut_to_five_and_its_tie():
    # All six on the frontier with overall 1/2: f is cut by name. Largest MAD of the rest: d, e
    # (0.4); with f it would be e, f (0.7). All means are 1/2.
    assert choose_endpoints(SIX, plain(SIX)) == ("d", "e")
    assert choose_endpoints(SIX, plain(SIX), "full_frontier") == ("e", "f")
    # A released overall that puts f first cuts e, the last name of the tie: d, f have 0.3, c, f
    # have 0.6.
    assert choose_endpoints(SIX, plain(SIX) | {"f": F("0.6")}) == ("c", "f")


def test_dominated_models_do_not_use_up_the_five():
    # g has the largest overall by its given number but is dominated by a: not among the five
    rows = SIX | profiles(g=[F("0.5"), F("0.4")])
    assert choose_endpoints(rows, plain(SIX) | {"g": F(1)}) == ("d", "e")


def test_non_leading():
    # a leads and is excluded, alone. Of the rest, b no longer has anyone above it: frontier b, c
    # with means 0.45 and 0.4, so c is A. With a, the frontier is a alone: ineligible.
    rows = profiles(a=[1, 1], b=[F("0.9"), 0], c=[0, F("0.8")])
    assert choose_endpoints(rows, plain(rows)) is None
    assert choose_endpoints(rows, plain(rows), "non_leading") == ("c", "b")
    # b is level with a to 10 decimals: both go, c alone remains
    near = plain(rows) | {"b": 1 - F(1, 10**12)}
    assert choose_endpoints(rows, near, "non_leading") is None
    # all level: nobody remains
    assert choose_endpoints(SIX, plain(SIX), "non_leading") is None


def test_public_top5():
    # No frontier: b is dominated by a and still chosen. Distances a-b (0.5 + 0.5) / 2,
    # a-c (0.3 + 0) / 2, b-c (0.2 + 0.5) / 2. b has the smaller overall.
    rows = profiles(a=[1, 1], b=[HALF, HALF], c=[F("0.7"), 1])
    assert choose_endpoints(rows, plain(rows), "public_top5") == ("b", "a")
    # A goes by the released overall, whatever the mean of the profile; on a tie by name
    assert choose_endpoints(rows, {"a": F(0), "b": F(1), "c": F(1)}, "public_top5") == ("a", "b")
    assert choose_endpoints(rows, {"a": F(1), "b": F(1), "c": F(1)}, "public_top5") == ("a", "b")
    # Five of SIX by name (all have overall 1/2); g has 0 and is cut, however far away.
    rows = SIX | profiles(g=[0, 0])
    assert choose_endpoints(rows, plain(rows), "public_top5") == ("d", "e")


def test_public_top5_weights():
    # Differences a-b (.6, .6, 0), a-c (.4, .4, .3), b-c (.2, .2, .3).
    # Weights 1/3: .4, .3667, .2333, so a-b. Weights 1/4, 1/4, 1/2: .3, .35, .25, so a-c.
    categories = {"t0": "x", "t1": "x", "t2": "y"}
    weights = {"t0": F(1, 4), "t1": F(1, 4), "t2": HALF}
    assert coordinate_weights(["t0", "t1", "t2"], categories) == weights
    rows = profiles(a=[0, 0, 0], b=[F("0.6"), F("0.6"), 0], c=[F("0.4"), F("0.4"), F("0.3")])
    level = {"a": HALF, "b": HALF, "c": HALF}
    assert choose_endpoints(rows, level, "public_top5") == ("a", "b")
    assert choose_endpoints(rows, level, "public_top5", categories) == ("a", "c")


# --- routers and decoder ------------------------------------------------------------------------


def test_signs_are_those_of_the_hash_definition():
    # Bytes from outside Python, h0 to h7: `openssl mac -macopt hexkey:$KEY -macopt size:1
    # BLAKE2BMAC`, KEY the sha256sum of "probe|s|0" and of "tie|s"; an odd byte is +1.
    probe = [0x08, 0xA1, 0x1D, 0xFA, 0xBA, 0xF3, 0x48, 0xD4]
    tie = [0xCE, 0xF1, 0x6B, 0xE0, 0xE6, 0x29, 0xBD, 0xA9]
    assert [hash_sign("s", 0, f"h{i}") for i in range(8)] == [1 if b % 2 else -1 for b in probe]
    assert [tie_sign("s", f"h{i}") for i in range(8)] == [1 if b % 2 else -1 for b in tie]


TASKS = ["u", "u", "v", "v"]


def test_decoder_by_hand():
    # u: A .4, B .6; candidate 0 has .7, candidate 1 .4: 2p - pA - pB = .4 and -.2.
    # v: A .5, B .5; .6 and .3: .2 and -.4.
    # Item 0 has signs + and +: .2 -> A. Item 1: - and +: -.6 -> B. Item 2: + and +: -.2 -> B.
    # Item 3: - and -: .2 -> A. With candidate 0 alone: its own signs.
    public_a, public_b = {"u": F("0.4"), "v": HALF}, {"u": F("0.6"), "v": HALF}
    released = [{"u": F("0.7"), "v": F("0.6")}, {"u": F("0.4"), "v": F("0.3")}]
    signs = [[1, -1, 1, -1], [1, 1, 1, -1]]
    ties = [-1, 1, -1, 1]
    routes = final_routers([3, 1, 2], TASKS, public_a, public_b, released, signs, ties)
    assert routes[3] == [1, -1, -1, 1]
    assert routes[2] == [1, -1, 1, -1]
    # k = 1: u to B, which has .6; v is equal, so the tie signs of items 2 and 3
    assert routes[1] == [-1, -1, -1, 1]
    for k, route in routes.items():
        assert final_router(k, TASKS, public_a, public_b, released, signs, ties) == route


def test_zero_votes_take_the_tie_sign():
    # u: the candidates have the endpoints' mean, (1/3 + 2/3) / 2, weight 0: tie signs.
    # v: weights 1/3 and 1/3 under opposite signs on item 2, equal signs on item 3.
    public_a, public_b = {"u": F(1, 3), "v": F(1, 3)}, {"u": F(2, 3), "v": F(1, 3)}
    released = [{"u": HALF, "v": HALF}, {"u": HALF, "v": HALF}]
    signs = [[1, -1, 1, -1], [1, -1, -1, -1]]
    args = (TASKS, public_a, public_b, released, signs)
    assert final_router(3, *args, [-1, 1, 1, 1]) == [-1, 1, 1, -1]
    assert final_router(3, *args, [1, -1, -1, 1]) == [1, -1, -1, -1]


# --- scoring and metrics ------------------------------------------------------------------------


def test_scoring_rules():
    # t: 1, 0, 0 (the last not counted), u: 1, v: 1, w: 0; t and u in category x, v in y, w in z
    bench = make(
        {"a": [0] * 6, "b": [0] * 6}, "tttuvw", categories=cells(t="x", u="x", v="y", w="z")
    )
    row, mask = [F(1), F(0), F(0), F(1), F(1), F(0)], [True, True, False, True, True, True]
    assert overall(bench, row, mask) == F(3, 5)
    assert overall(bench, row, mask, "equal_task") == F(5, 8)  # (1/2 + 1 + 1 + 0) / 4
    assert overall(bench, row, mask, "equal_category") == F(7, 12)  # (3/4 + 1 + 0) / 3
    with pytest.raises(OracleRefusal, match="equal_category"):
        overall(make({"a": [0] * 2, "b": [0] * 2}, "tu"), row[:2], mask[:2], "equal_category")


def test_public_profile_uses_reused_items_only():
    bench = make({"a": [1, 0, 1, 0], "b": [0, 0, 0, 1]}, "tttu")
    assert public_profile(bench, [True, True, False, True]) == {
        "a": {"t": HALF, "u": F(0)},
        "b": {"t": F(0), "u": F(1)},
    }


def test_ranks_are_competition_ranks_to_10_decimals():
    scores = [F("0.5"), F("0.7"), F("0.7") + F(1, 10**12), F("0.1")]
    assert [rank(scores, m) for m in range(4)] == [3, 1, 1, 4]


def test_pairs_kept_by_hand():
    # a and b are just 1 pp apart and in order, a and c are tied in public, b and c (0.6) turned, d
    # and c not far enough; d is above a and b, as it should be.
    hidden = [F("0.5"), F("0.51"), F("0.6"), F("0.6") + F("0.0099")]
    public = [F("0.3"), F("0.31"), F("0.3"), F("0.4")]
    assert pair_order_kept(public, hidden) == 3 / 5
    assert pair_order_kept(public[:1], hidden[:1]) is None
    assert pair_order_kept(public[2:], hidden[2:]) is None


def test_score_gap_by_hand():
    # losses (S, H): (.6, .5) gap .1; (.7, .2) best .6/.2 gap .4; (.3, .9) best .3/.2 gap .1
    history = [(F("0.4"), F("0.5")), (F("0.3"), F("0.8")), (F("0.7"), F("0.1"))]
    assert score_gap(history[:1]) == F("0.1")
    assert score_gap(history) == F("0.4")


# --- whole trials -------------------------------------------------------------------------------

# task t: items 0, 1 reused, 2 held out; task u: items 3, 4 reused, 5 held out
SMALL = cells(a=[1, 0, 1, 0, 0, 1], b=[0, 0, 0, 1, 1, 0])
REUSED = [True, True, False, True, True, False]


def test_trial_by_hand():
    # Public: a has t 1/2, u 0, overall 1/4; b has t 0, u 1, overall 1/2. Both on the frontier; a
    # has the larger loss: A = a, B = b. Held out: a 1, b 0. Winner without attack: b (50, 0).
    # Genuine gap, a then b: |3/4 - 0| = 3/4, then |1/2 - 0|: 75.
    rows = run_trial(
        make(SMALL, "tttuuu"),
        trial=4,
        budgets=[1, 2],
        reused=REUSED,
        signs=[[-1, -1, 1, 1, -1, -1]],
        ties=[1, 1, 1, -1, -1, 1],
    )
    none, static, two = rows
    base = cells(
        trial=4, eligible=True, endpoint_a="a", endpoint_b="b", no_attack_model="b",
        no_attack_reused_pp=50.0, no_attack_heldout_pp=0.0, genuine_gap_pp=75.0,
        score_gap_pp=75.0, pair_order_kept=0.0,
    )  # fmt: skip
    assert none == base | cells(
        budget=0, selected_model="b", selected_router=False, false_winner=False, rank_drop=0,
        rank_reused=None, rank_heldout=None, selection_loss_pp=0.0, selected_reused_pp=50.0,
        selected_heldout_pp=0.0, router_reused_pp=None, router_heldout_pp=None,
        loss_vs_static_pp=0.0, heldout_regret_pp=None, route=None, release_rate=None,
        board_error_pp=None,
    )  # fmt: skip
    told = cells(release_rate=1.0, board_error_pp=0.0)
    # Static: t to a, u to b, item scores 1 0 1 1 1 0. Reused 3/4, first; held out 1/2, behind a:
    # a false winner. Loss 0 - 1/2. b was third of three held out, the router is second. Gap: best
    # losses 1/4 and 0, less than 3/4.
    assert static == base | told | cells(
        budget=1, selected_model="Final router", selected_router=True, false_winner=True,
        rank_drop=-1, rank_reused=1, rank_heldout=2, selection_loss_pp=-50.0,
        selected_reused_pp=75.0, selected_heldout_pp=50.0, router_reused_pp=75.0,
        router_heldout_pp=50.0, loss_vs_static_pp=0.0, heldout_regret_pp=50.0,
        route=[1, 1, 1, -1, -1, -1],
    )  # fmt: skip
    # Candidate 0: item scores 0 0 1 0 1 0. Released t 0, u 1/2. Weights t 0 - 1/2 - 0 = -1/2,
    # u 1 - 0 - 1 = 0. Route: t is its reverse (+ + -), u the tie signs (- - +), item scores
    # 1 0 0 1 1 1: reused 3/4, held out (0 + 1) / 2.
    assert two == static | cells(budget=2, route=[1, 1, -1, -1, -1, 1])

    # Other ties, u (- + +): item scores 1 0 0 1 0 1, reused 1/2, level with b, which is genuine
    # and stays the choice. Still first (ties count) and below first held out: a false winner.
    # Budget 1 is not asked for, and loss(1) is -50 all the same.
    other = run_trial(
        make(SMALL, "tttuuu"),
        trial=4,
        budgets=[2],
        reused=REUSED,
        signs=[[-1, -1, 1, 1, -1, -1]],
        ties=[1, 1, 1, -1, 1, 1],
    )
    assert other == [
        none,
        base | told | cells(
            budget=2, selected_model="b", selected_router=False, false_winner=True, rank_drop=0,
            rank_reused=1, rank_heldout=2, selection_loss_pp=0.0, selected_reused_pp=50.0,
            selected_heldout_pp=0.0, router_reused_pp=50.0, router_heldout_pp=50.0,
            loss_vs_static_pp=50.0, heldout_regret_pp=50.0, route=[1, 1, -1, -1, 1, 1],
        ),
    ]  # fmt: skip


def test_the_order_of_models_and_items_means_nothing():
    swapped = make(cells(b=SMALL["b"], a=SMALL["a"]), "tttuuu")
    options = cells(trial=0, budgets=[1, 2, 8], split_seed_base=3)
    rows = run_trial(make(SMALL, "tttuuu"), **options)
    assert all(row["eligible"] for row in rows)
    assert run_trial(swapped, **options) == rows
    turned = OracleBenchmark(
        swapped.models, swapped.items[::-1], tuple(row[::-1] for row in swapped.scores)
    )
    for row, other in zip(rows, run_trial(turned, **options), strict=True):
        route = other.pop("route")
        assert row.pop("route") == (route and route[::-1])
        assert row == other


def test_static_router_with_an_equal_task():
    # t: a 1/2, b 1/2; u: a 0, b 1. b dominates a, so name the pair by public_top5: A = a, the
    # smaller overall. t is equal: tie signs + - +; u to b.
    bench = make(cells(a=[1, 0, 0, 0, 0, 1], b=[0, 1, 1, 1, 1, 0]), "tttuuu")
    row = run_trial(
        bench, trial=0, budgets=[1], rule="public_top5", reused=REUSED, ties=[1, -1, 1, 1, 1, 1]
    )[1]
    assert (row["endpoint_a"], row["endpoint_b"]) == ("a", "b")
    assert row["route"] == [1, -1, 1, -1, -1, -1]
    assert row["router_reused_pp"] == 100.0  # 1 1 . 1 1 .
    assert row["router_heldout_pp"] == 0.0  # . . 0 . . 0


def test_gap_of_a_budget_counts_its_own_candidates_only():
    # Losses of a and b: reused 1/2, held out 1: gap 50. Static: t is equal, the tie signs - + give
    # 0 0 0, gap 50. Candidate 0 is right on both reused items, losses 0 and 1: gap 100.
    rows = run_trial(
        make(cells(a=[1, 0, 0], b=[0, 1, 0]), "ttt"),
        trial=0,
        budgets=[1, 2],
        reused=[True, True, False],
        signs=[[1, -1, 1]],
        ties=[-1, 1, 1],
    )
    assert [row["score_gap_pp"] for row in rows] == [50.0, 50.0, 100.0]


def test_weights_of_public_top5_follow_the_scoring():
    # The profiles of test_public_top5_weights, one reused and one held-out item per task; a has
    # the smallest overall either way.
    rows = cells(a=["0", "0", "0"], b=["0.6", "0.6", "0"], c=["0.4", "0.4", "0.3"])
    bench = make(
        {model: [x for x in row for _ in range(2)] for model, row in rows.items()},
        "ttuuvv",
        categories=cells(t="x", u="x", v="y"),
    )
    options = cells(trial=0, budgets=[], rule="public_top5", reused=[True, False] * 3)
    for scoring, pair in [
        ("item_mean", ("a", "b")),
        ("equal_task", ("a", "b")),
        ("equal_category", ("a", "c")),
    ]:
        [row] = run_trial(bench, scoring=scoring, **options)
        assert (row["endpoint_a"], row["endpoint_b"]) == pair


def test_ineligible_trial():
    # b is at least a on t and above it on u: a frontier of one. Reused a 1/4, b 3/4; held out
    # a 1/2, b 1/2. Genuine gap: |3/4 - 1/2| = 1/4, then |1/4 - 1/2|.
    bench = make(cells(a=[1, 0, 0, 0, 0, 1], b=[0, 1, 1, 1, 1, 0]), "tttuuu")
    none, *rows = run_trial(bench, trial=9, budgets=[1, 64], reused=REUSED)
    assert none["eligible"] is False
    assert none["selected_model"] == none["no_attack_model"] == "b"
    assert none["score_gap_pp"] == none["genuine_gap_pp"] == 25.0
    assert none["selection_loss_pp"] == none["loss_vs_static_pp"] == none["rank_drop"] == 0
    filled = cells(
        trial=9, eligible=False, no_attack_model="b", no_attack_reused_pp=75.0,
        no_attack_heldout_pp=50.0, genuine_gap_pp=25.0,
    )  # fmt: skip
    for k, row in zip([1, 64], rows, strict=True):
        assert {key: value for key, value in row.items() if value is not None} == (
            filled | cells(budget=k)
        )
        assert row.keys() == none.keys()
