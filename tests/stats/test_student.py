"""Student's t against scipy."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from jaxbench import stats
from jaxbench.errors import BadRequest
from jaxbench.stats import student

FREEDOM = np.array([0.5, 1, 2, 3, 7, 30, 249, 1e4])


@pytest.mark.parametrize("level", [0.05, 0.5, 0.9, 0.95, 0.99, 0.9999])
def test_critical_value(level):
    expected = scipy_stats.t.ppf((1 + level) / 2, FREEDOM)
    np.testing.assert_allclose(stats.t_critical(level, FREEDOM), expected, rtol=1e-10)


def test_upper_tail():
    t = np.linspace(-8, 8, 41)[:, None] + np.zeros_like(FREEDOM)
    freedom = np.broadcast_to(FREEDOM, t.shape).copy()
    found = stats.t_upper_tail(t, freedom)
    assert found.shape == t.shape
    np.testing.assert_allclose(found, scipy_stats.t.sf(t, freedom), rtol=1e-9)
    assert stats.t_upper_tail(np.array(0.0), np.array(3.0)) == pytest.approx(0.5, abs=1e-15)


def test_no_degree_of_freedom():
    none = np.array([0.0, -1.0, np.nan])
    assert np.isnan(stats.t_critical(0.95, none)).all()
    assert np.isnan(stats.t_upper_tail(np.ones(3), none)).all()
    assert np.isnan(stats.t_upper_tail(np.array([np.nan]), np.array([3.0]))).all()
    assert stats.t_critical(0.95, np.zeros((0, 2))).shape == (0, 2)


def test_level():
    with pytest.raises(BadRequest, match=r"level is 1\.0"):
        stats.t_critical(1.0, FREEDOM)


def test_one_program():
    stats.t_critical(0.95, FREEDOM)
    before = student._critical._cache_size()
    stats.t_critical(0.9, FREEDOM[:3])
    assert student._critical._cache_size() == before
