"""Win rates by hand, and what a router that enters the pool does to them."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxbench.metrics import GenuineScores, RouterScores, trial_metrics
from jaxbench.metrics.ranking import by_score, by_win_rate, half_wins, win_rates
from oracle.scoring import win_rates as oracle_win_rates


def rows(*trials) -> np.ndarray:
    return np.array(trials, dtype=np.float64)


# Models a, b, c on two tasks: b and c tie on the first, a and b on the second.
POOL = [(3, 1), (2, 1), (2, 5)]


def test_win_rates_with_ties():
    # a beats two, then ties one and loses one: (1 + 1/4) / 2. b: (1/4 + 1/4) / 2. c: (1/4 + 1) / 2.
    wins = half_wins(rows(POOL))
    assert wins.tolist() == [[5, 2, 5]]
    assert win_rates(wins, 2).tolist() == [[0.625, 0.25, 0.625]]


def test_rows_alike_beat_half():
    wins = half_wins(rows([(1, 2), (1, 2), (1, 2)]))
    assert win_rates(wins, 2).tolist() == [[0.5] * 3]


def test_two_models():
    assert win_rates(half_wins(rows([(1,), (0,)])), 1).tolist() == [[1.0, 0.0]]


def test_only_order_within_a_task_matters():
    wins = half_wins(rows(POOL))
    assert half_wins(rows(POOL) * [1.0, 1000.0] + [7.0, 0.0]).tolist() == wins.tolist()


def test_every_trial_has_its_own():
    other = [(0, 0), (1, 1), (2, 2)]
    assert half_wins(rows(POOL, other)).tolist() == [[5, 2, 5], [0, 4, 8]]


def test_a_router_in_the_pool():
    # Router of the first budget (2, 2), of the second (9, 9), of the third (0, 0).
    found = by_win_rate(rows(POOL), rows([(2, 2), (9, 9), (0, 0)]))
    assert found.before.tolist() == [[0.625, 0.25, 0.625]]
    # Three others now. Under (2, 2) a beats all, then ties one of three: (3 + 1/2) / 6; b ties two
    # of three, then one: (1 + 1/2) / 6; c ties two, then beats all: (1 + 3) / 6; the router ties
    # two, then beats two: (1 + 2) / 6.
    np.testing.assert_allclose(
        found.genuine[0] * 6, [[3.5, 1.5, 4], [2.5, 1, 2.5], [4.5, 3, 4.5]], rtol=1e-15
    )
    np.testing.assert_allclose(found.router[0] * 6, [3, 6, 0], rtol=1e-15)


@settings(max_examples=50)
@given(data=st.data())
def test_any_pool_is_the_oracles(data):
    values = st.integers(0, 4)
    drawn = data.draw(st.lists(st.tuples(values, values, values), min_size=6, max_size=6))
    genuine, routers = drawn[:4], drawn[4:]
    found = by_win_rate(rows(genuine), rows(routers))

    def expected(pool) -> list[float]:
        rates = oracle_win_rates([dict(enumerate(map(Fraction, row))) for row in pool])
        return [float(rate) for rate in rates]

    np.testing.assert_allclose(found.before[0], expected(genuine), rtol=1e-15)
    for budget, router in enumerate(routers):
        among = [*found.genuine[0, budget], found.router[0, budget]]
        np.testing.assert_allclose(among, expected([*genuine, router]), rtol=1e-15)


def test_scores_do_not_depend_on_the_pool():
    genuine, router = np.array([[0.1, 0.9, 0.5]]), np.array([[0.2, 0.95]])
    found = by_score(genuine, router)
    assert found.before.tolist() == genuine.tolist()
    assert np.array_equal(np.broadcast_to(found.genuine, (1, 2, 3))[:, 1], genuine)
    assert found.router.tolist() == router.tolist()


def measured(public, hidden, genuine, router):
    best = np.zeros_like(router[0])
    return trial_metrics(
        GenuineScores(*genuine),
        RouterScores(*router, *[best] * 3, *router, best, best),
        public,
        hidden,
    )


@pytest.mark.parametrize(
    ("pool", "router", "before", "after"),
    [
        # a leads with 5/8 to 1/2; a router that comes last with 1/3 turns it: 7/12 to 2/3.
        ([(1, 3), (3, 1), (1, 2)], (2, 0), 0, 1),
        # a and c tie and a comes first by name; then c leads alone with 4/6 to 3.5/6.
        (POOL, (2, 2), 0, 2),
        # A router that beats nobody changes nothing.
        (POOL, (0, 0), 0, 0),
    ],
)
def test_a_router_that_is_not_first_can_change_the_choice(pool, router, before, after):
    public = by_win_rate(rows(pool), rows([router]))
    assert public.router[0, 0] < public.genuine[0, 0].max()
    # Held out a is 1st of four, b 2nd, c 3rd, the router last.
    hidden = by_win_rate(rows([(3, 2), (1, 3), (2, 1)]), rows([(0, 0)]))
    reused, heldout = np.array([[0.5, 0.6, 0.7]]), np.array([[0.8, 0.7, 0.4]])
    found = measured(public, hidden, (reused, heldout), (np.array([[0.3]]), np.array([[0.1]])))
    assert (found.winner[0], found.selected[0, 0]) == (before, after)
    assert found.rank_drop[0, 0] == after - before
    np.testing.assert_allclose(found.selection_loss, [[heldout[0, before] - heldout[0, after]]])
    assert found.selected_reused[0, 0] == reused[0, after]
    assert found.selected_heldout[0, 0] == heldout[0, after]
    assert not found.false_winner[0, 0]
    assert found.rank_heldout[0, 0] == 4
    assert found.rank_reused[0, 0] == 1 + (public.genuine[0, 0] > public.router[0, 0]).sum()


def test_a_tie_with_the_router_favours_the_model_and_counts_as_first():
    # Router and b are alike on the reused side, and both first.
    public = by_win_rate(rows([(1, 1), (2, 2)]), rows([(2, 2)]))
    hidden = by_win_rate(rows([(2, 2), (1, 1)]), rows([(0, 0)]))
    scores = np.array([[0.2, 0.4]]), np.array([[0.4, 0.2]])
    found = measured(public, hidden, scores, (np.array([[0.4]]), np.array([[0.1]])))
    assert (found.winner[0], found.selected[0, 0]) == (1, 1)
    assert found.selection_loss[0, 0] == 0
    assert found.rank_reused[0, 0] == 1
    assert found.rank_heldout[0, 0] == 3
    assert found.false_winner[0, 0]


def test_a_router_that_wins_is_chosen():
    public = by_win_rate(rows([(1, 1), (2, 2)]), rows([(3, 2)]))
    hidden = by_win_rate(rows([(1, 1), (2, 2)]), rows([(1, 1)]))
    scores = np.array([[0.2, 0.4]]), np.array([[0.2, 0.4]])
    found = measured(public, hidden, scores, (np.array([[0.5]]), np.array([[0.2]])))
    assert (found.winner[0], found.selected[0, 0]) == (1, -1)
    assert found.selection_loss[0, 0] == 0.2
    # Held out b is first, a and the router tie behind it.
    assert (found.rank_heldout[0, 0], found.rank_drop[0, 0]) == (2, 1)
    assert found.false_winner[0, 0]
