"""What is released, with small numbers worked by hand."""

from fractions import Fraction
from hashlib import sha256

import numpy as np
import pytest

import jaxbench
from jaxbench.benchmark import Benchmark
from jaxbench.benchmark.units import Units
from jaxbench.errors import BadRequest
from jaxbench.leaderboard import Interface, release, task_scores
from jaxbench.leaderboard.interface import needs_categories, task_groups

PUBLISHED = "livebench-bandwidth-v1"


def benchmark(tasks: str, *, categories: str | None = None, repeats: int = 1, **facts) -> Benchmark:
    """Two models on items whose task (and category) is a letter."""
    scores = np.array([[0.0] * len(tasks), [1.0 / repeats] * len(tasks)])
    return Benchmark.from_scores(
        scores, models=["a", "b"], items=[f"i{i:02d}" for i in range(len(tasks))],
        tasks=list(tasks), categories=categories and list(categories), **facts,
    )  # fmt: skip


def released(board: Benchmark, word: str, counts, counted, *, rule="item_mean", **options):
    """Numerators, denominators and the release itself; `counts` are rows of counts per unit."""
    interface = Interface.parse(word)
    units = Units.of(
        board, subtasks=rule == "chance_normalised", categories=needs_categories(board, interface)
    )
    options = {"ticks": None, "group_seed": "jaxbench"} | options
    found = release(
        board, units, interface, counted=np.atleast_2d(np.array(counted)), rule=rule, **options
    )
    numerators = found.chain(np.array([counts], dtype=np.float64))[0]
    assert (numerators <= found.chain.largest).all()
    return numerators.tolist(), found.chain.denominators.tolist(), found


# --- words --------------------------------------------------------------------------------------


def test_words_are_read():
    assert Interface.parse("task") == Interface("task")
    assert Interface.parse("groups:6") == Interface("groups", 6, 0)
    assert Interface.parse("groups:6:2") == Interface("groups", 6, 2)


@pytest.mark.parametrize("word", ["groups", "groups:", "groups:x", "groups:2:", "groups:1:2:3"])
def test_groups_need_whole_numbers(word):
    with pytest.raises(BadRequest, match=rf"interface={word}: expected groups:D or groups:D:P"):
        Interface.parse(word)


# --- groups of tasks ----------------------------------------------------------------------------


def cut(tasks: str, groups: int, partition: int = 0, seed: str = PUBLISHED) -> list[str]:
    parts = task_groups(list(tasks), Interface("groups", groups, partition), seed)
    return ["".join(tasks[t] for t in part) for part in parts]


def test_groups_are_cut_from_the_published_order():
    # sha256sum of "livebench-bandwidth-v1-partition-{p}|{task}", first hex digits:
    prefixes = {
        0: {"a": "30d", "d": "611", "g": "a82", "f": "ad7", "b": "b17", "c": "b82", "e": "bef"},
        1: {"c": "5b8", "e": "5ca", "d": "6e0", "b": "981", "g": "bb3", "f": "c39", "a": "f4e"},
    }
    for partition, of_task in prefixes.items():
        for task, prefix in of_task.items():
            spelled = f"livebench-bandwidth-v1-partition-{partition}|{task}"
            assert sha256(spelled.encode()).hexdigest().startswith(prefix), spelled
    assert cut("abcdefg", 7) == list("adgfbce")
    assert cut("abcdefg", 1) == ["adgfbce"]
    # D does not divide T: longer groups first, sizes one apart.
    assert cut("abcdefg", 2) == ["adgf", "bce"]
    assert cut("abcdefg", 3) == ["adg", "fb", "ce"]
    assert cut("abcdefg", 4) == ["ad", "gf", "bc", "e"]
    assert cut("abcdefg", 5) == ["ad", "gf", "b", "c", "e"]
    assert cut("abcdefg", 3, partition=1) == ["ced", "bg", "fa"]
    # The order in which tasks are given means nothing.
    assert cut("gfedcba", 3) == ["adg", "fb", "ce"]
    assert cut("abcdefg", 7, seed="jaxbench") != cut("abcdefg", 7)


def test_published_cuts_of_eighteen_tasks():
    tasks = "abcdefghijklmnopqr"
    for partition in range(3):
        whole = "".join(cut(tasks, 1, partition))
        assert sorted(whole) == sorted(tasks)
        for groups in (1, 2, 3, 6, 9, 18):
            size = 18 // groups
            runs = [whole[i : i + size] for i in range(0, 18, size)]
            assert cut(tasks, groups, partition) == runs
    assert len({cut(tasks, 1, partition)[0] for partition in range(3)}) == 3


@pytest.mark.parametrize("groups", [0, 4, 18])
def test_more_groups_than_tasks_or_none_are_refused(groups):
    with pytest.raises(BadRequest, match=rf"groups:{groups}: expected 1 to 3 groups of 3 tasks"):
        task_groups(["x", "y", "z"], Interface("groups", groups), PUBLISHED)
    with pytest.raises(BadRequest, match="expected 1 to 3 groups"):
        jaxbench.attack(benchmark("xxxyyyzzz"), interface=f"groups:{groups}", trials=1)


def test_a_group_releases_the_plain_mean_of_its_tasks():
    # Order for "jaxbench", partition 0: t x u v w. Sizes matter nothing: x has 10 items, t 2.
    board = benchmark("ttuuuuvvvvwwwwxxxxxxxxxx")
    numerators, denominators, found = released(
        board, "groups:2", [[1, 2, 3, 4, 5], [0, 0, 0, 1, 0]], [2, 4, 4, 4, 10]
    )
    # Groups t x u and v w: (1/2 + 5/10 + 2/4) / 3 = 30/60 and (3/4 + 4/4) / 2 = 7/8.
    assert denominators == [[60, 8]]
    assert numerators == [[30, 7], [0, 1]]
    assert found.units == ((0, 4, 1), (2, 3))
    assert found.coordinate_of_unit().tolist() == [0, 0, 1, 1, 0]
    assert (found.plain, found.linear) == (False, True)


def test_as_many_groups_as_tasks_release_the_task_scores():
    board, counts, counted = benchmark("ttuuuuvvv"), [[1, 3, 2]], [2, 4, 3]
    numerators, denominators, found = released(board, "groups:3", counts, counted)
    scores = {u: Fraction(int(n), d) for (u,), n, d in zip(
        found.units, numerators[0], denominators[0], strict=True
    )}  # fmt: skip
    assert scores == {0: Fraction(1, 2), 1: Fraction(3, 4), 2: Fraction(2, 3)}
    numerators, denominators, found = released(board, "task", counts, counted)
    assert (numerators, denominators) == ([[1, 3, 2]], [[2, 4, 3]])
    assert found.plain


# --- rounding -----------------------------------------------------------------------------------


def test_a_category_is_the_mean_of_task_ticks_rounded_once_more():
    # Tasks s t u in category P, v in Q, released in tenths.
    board = benchmark("s" * 50 + "t" * 50 + "u" * 50 + "v" * 20,
                      categories="P" * 150 + "Q" * 20)  # fmt: skip
    numerators, denominators, found = released(
        board, "category",
        [
            # .06, .06, .02 are 1, 1, 0 ticks: 2/3 is 1 tick. Their exact mean .047 would be none.
            [3, 3, 1, 1],
            # 0, 0, .26 -> 0, 0, 3: exactly 1 tick. The exact mean .087 too.
            [0, 0, 13, 3],
            # .04, .04, .04 are no ticks.
            [2, 2, 2, 20],
            # .06, .06, .06 are a tick each.
            [3, 3, 3, 19],
        ],
        [50, 50, 50, 20], ticks=10,
    )  # fmt: skip
    assert denominators == [[10, 10]]
    # Q: .05 is half a tick: to the even 0; .15 to 2; 1.0; .95 to 10.
    assert numerators == [[1, 0], [1, 2], [0, 10], [1, 10]]
    assert found.units == ((0, 1, 2), (3,))
    assert (found.plain, found.linear) == (False, False)


def test_exact_halves_go_to_the_even_tick_at_both_roundings():
    # Two tasks of 8 reused items, in quarters: k/8 is k/2 ticks.
    board = benchmark("s" * 8 + "t" * 8, categories="P" * 16)
    counts = [[k, m] for k in range(9) for m in range(9)]
    tasks, _, _ = released(board, "task", counts, [8, 8], ticks=4)
    mean, _, _ = released(board, "category", counts, [8, 8], ticks=4)
    even = {0: 0, 1: 0, 2: 1, 3: 2, 4: 2, 5: 2, 6: 3, 7: 4, 8: 4}  # halves of k, to the even
    assert tasks == [[even[k], even[m]] for k, m in counts]
    assert mean == [[even[even[k] + even[m]]] for k, m in counts]


def test_halves_of_a_tick_at_five_decimals():
    # 1/200000 is half a tick of 1/100000: counts 1, 3, 5 of 200000 go to 0, 2, 2.
    board = benchmark("ss", repeats=100_000)
    numerators, _, _ = released(
        board, "task", [[1], [3], [5], [199_999], [2]], [200_000], ticks=100_000
    )
    assert numerators == [[0], [2], [2], [100_000], [1]]


# --- categories of items ------------------------------------------------------------------------


def test_categories_of_items_are_means_over_items():
    # Task s has items of both categories: units are s/P, s/Q, t/P; sizes differ between trials.
    board = benchmark("ssssttt", categories="PPQQPPP")
    interface = Interface("category")
    assert needs_categories(board, interface)
    assert not needs_categories(benchmark("sstt", categories="PPQQ"), interface)
    units = Units.of(board, subtasks=False, categories=True)
    assert units.of_item.tolist() == [0, 0, 1, 1, 2, 2, 2]
    counted = np.array([[1, 1, 2], [2, 1, 1], [1, 2, 2]])
    for ticks in (None, 10):
        found = release(
            board, units, interface, counted=counted, ticks=ticks, rule="item_mean", group_seed="g"
        )
        assert found.units == ((0, 2), (1,))
        assert found.linear == (ticks is None)
        assert not found.plain
        # Three trials, one row each: P has s/P and t/P, out of 3, 3, 3; Q out of 1, 1, 2.
        numerators = found.chain(np.array([[[1, 0, 1]], [[1, 1, 1]], [[0, 1, 0]]], dtype=float))
        if ticks is None:
            assert numerators[:, 0].tolist() == [[2, 0], [2, 1], [0, 1]]
            assert found.chain.denominators.tolist() == [[3, 1], [3, 1], [3, 2]]
        else:
            assert numerators[:, 0].tolist() == [[7, 0], [7, 10], [0, 5]]
            assert found.chain.denominators.tolist() == [[10, 10]]


def test_an_empty_category_is_refused_by_name():
    board = benchmark("ssssttt", categories="PPQQPPP")
    units = Units.of(board, subtasks=False, categories=True)
    with pytest.raises(BadRequest, match="category 'Q' has no reused item in some split"):
        release(
            board, units, Interface("category"), counted=np.array([[1, 1, 2], [2, 0, 2]]),
            ticks=None, rule="item_mean", group_seed="g",
        )  # fmt: skip


def test_categories_are_needed():
    with pytest.raises(BadRequest, match="interface=category: benchmark has no categories"):
        jaxbench.attack(benchmark("ssssttt"), interface="category", trials=1)


# --- one number ---------------------------------------------------------------------------------


def test_aggregate_of_items_and_of_tasks():
    board = benchmark("ss" + "t" * 6)
    # 1 of 2 and 3 of 6.
    by_item = released(board, "aggregate", [[1, 3]], [2, 6])
    assert by_item[:2] == ([[4]], [[8]])
    # 1/2 and 4/6: item mean 5/8, task mean 7/12; the chain keeps the common denominator.
    numerators, denominators, found = released(
        board, "aggregate", [[1, 4]], [2, 6], rule="equal_task"
    )
    assert Fraction(int(numerators[0][0]), denominators[0][0]) == Fraction(7, 12)
    assert found.units == ((0, 1),)
    assert found.linear
    # In tenths: 5 and 7 ticks; their mean 6 exactly. The exact mean .583 too, but 1/2 and 5/6:
    # 5 and 8 are 6.5, to the even 6; the exact mean .667 would be 7.
    ticked = released(board, "aggregate", [[1, 4], [1, 5]], [2, 6], rule="equal_task", ticks=10)
    assert ticked[:2] == ([[6], [6]], [[10]])
    assert not ticked[2].linear


def test_aggregate_over_categories():
    # P has one task, Q two: weights 1/2, 1/4, 1/4.
    board = benchmark("sstttt" + "u" * 4, categories="PPQQQQ" + "Q" * 4)
    numerators, denominators, _ = released(
        board, "aggregate", [[1, 4, 0]], [2, 4, 4], rule="equal_category"
    )
    assert Fraction(int(numerators[0][0]), denominators[0][0]) == Fraction(1, 2)
    numerators, denominators, _ = released(
        board, "aggregate", [[2, 1, 0]], [2, 4, 4], rule="equal_category"
    )
    assert Fraction(int(numerators[0][0]), denominators[0][0]) == Fraction(9, 16)
    # Ticks of a tenth: 10, .25 -> 2, 0: (10 + 1) / 2 = 5.5, to the even 6.
    numerators, _, _ = released(
        board, "aggregate", [[2, 1, 0]], [2, 4, 4], rule="equal_category", ticks=10
    )
    assert numerators == [[6]]


def test_aggregate_above_chance():
    # A quarter by chance in s, none in t: (max(x - 1/4, 0) / (3/4) + y) / 2.
    board = benchmark("ssssttt", chances=[Fraction(1, 4)] * 4 + [Fraction(0)] * 3)
    counts = [[1, 0], [0, 0], [4, 3], [2, 1], [0, 3]]
    numerators, denominators, found = released(
        board, "aggregate", counts, [4, 3], rule="chance_normalised"
    )
    values = [Fraction(int(n), denominators[0][0]) for (n,) in numerators]
    expected = [0, 0, 1, (Fraction(1, 3) + Fraction(1, 3)) / 2, Fraction(1, 2)]
    assert values == expected
    # Below chance a score stands still: contrasts of counts do not give those of scores.
    assert not found.linear


def test_a_win_rate_is_no_score_to_release():
    with pytest.raises(BadRequest, match="a win rate depends on the other rows"):
        jaxbench.attack(
            benchmark("ssssttt"), interface="aggregate", scoring="mean_win_rate", trials=1
        )


def test_native_task_scores():
    board = benchmark("ss" + "t" * 6)
    units = Units.of(board, subtasks=False, categories=False)
    counted = np.array([[2, 6]])
    assert task_scores(units, counted, None)(np.array([1.0, 5.0])).tolist() == [1, 5]
    assert task_scores(units, counted, 10)(np.array([[[1.0, 5.0]]])).tolist() == [[[5, 8]]]


# --- what float64 cannot hold -------------------------------------------------------------------


def primes(count: int, start: int) -> list[int]:
    found, n = [], start
    while len(found) < count:
        if all(n % d for d in range(2, int(n**0.5) + 1)):
            found.append(n)
        n += 1
    return found


def test_fractions_too_fine_are_refused_with_a_way_out():
    # Tasks of coprime sizes: the mean of ten of them has a denominator past 2^53.
    sizes = primes(10, 50)
    board = benchmark("".join(t * size for t, size in zip("abcdefghij", sizes, strict=True)))
    for word, rule in (("groups:1", "item_mean"), ("aggregate", "equal_task")):
        with pytest.raises(BadRequest) as error:
            released(board, word, [sizes], sizes, rule=rule)
        for words in ("too fine", "(2^53)", "precision=5", "interface=task"):
            assert words in str(error.value)
        # The way out is one.
        numerators, denominators, _ = released(board, word, [sizes], sizes, rule=rule, ticks=10**5)
        assert (numerators, denominators) == ([[10**5]], [[10**5]])
        released(board, "task", [sizes], sizes, rule=rule)
    # Small groups of the same tasks are fine.
    released(board, "groups:5", [sizes], sizes)


def test_decimals_too_fine_are_refused():
    # 10^9 ticks on tasks counted in 10^6ths: 4 x 10^9 x 3 x 10^6 passes 2^53.
    board = benchmark("sss", repeats=10**6)
    with pytest.raises(BadRequest, match="ask for fewer decimals"):
        released(board, "task", [[5]], [3 * 10**6], ticks=10**9)
    released(board, "task", [[5]], [3 * 10**6], ticks=10**8)
