"""The test of noise against its law: exact laws by other routes, few false alarms, and its power."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import peerveil as pv
from peerveil.inference import noise_test as noise_check
from peerveil.inference.noise_test import NoiseCheck, count_noise, vector_noise
from peerveil.privacy.law import laplace_pair_tails
from peerveil.privacy.noise_laws import DiscreteLaplaceLaw, LaplaceLaw, Law, NormalLaw, SinhNormalLaw

LAWS: list[Law] = [LaplaceLaw(scale=2.0), NormalLaw(sigma=3.0), SinhNormalLaw(sigma=2.0, bound=7.0)]


class TestLaws:
    """With bounds that leave nothing open, the probabilities given are the exact ones; draws must be uniform."""

    @pytest.mark.promise("P-THREAT-4")
    @pytest.mark.parametrize("law", LAWS, ids=repr)
    @pytest.mark.parametrize("size", [1, 2, 3, 40])
    def test_of_noise_that_is_known(self, law: Law, size: int) -> None:
        rng = np.random.default_rng(size)
        point = np.linspace(1, 5, size)
        found = [vector_noise(point + law.draw(rng, size), point, point, law) for _ in range(4000)]
        assert all(check.small is not None for check in found)
        for name in ("small", "large"):
            chances = np.array([getattr(check, name) for check in found])
            for level in (0.001, 0.01, 0.1):
                above = 5 * math.sqrt(level / len(chances)) + 1e-12
                assert (chances < level).mean() <= level + above, (name, level)
        if isinstance(law, SinhNormalLaw):  # one statistic, so its law is exact
            exact = np.array([check.small for check in found])
            assert stats.kstest(exact, "uniform").pvalue > 1e-6

    def test_of_differences_by_convolution(self) -> None:
        step, ends = 0.005, 80.0
        grid = np.arange(0, ends, step)
        one = (1 + grid) * np.exp(-grid) / 2
        density = one
        for pairs in range(1, 5):
            below = np.cumsum(density) * step
            for value in (1.0, 3.0, 9.0):
                lower, upper = laplace_pair_tails(pairs, value)
                assert lower + upper == pytest.approx(1)
                assert lower == pytest.approx(below[round(value / step)], abs=0.01)
            density = np.convolve(density, one)[: grid.size] * step

    @pytest.mark.parametrize("scale", [0.3, 2.0, 9.0])
    def test_of_counts_by_convolution(self, scale: float) -> None:
        reach = int(60 * scale) + 5
        whole = np.arange(-reach, reach + 1)
        law = DiscreteLaplaceLaw(scale=scale)
        one = np.exp(law.log_density(whole.astype(float)))
        total, sizes = np.ones(1), np.ones(1)
        magnitude = one[reach:] * np.where(np.arange(reach + 1) > 0, 2, 1)
        for count in range(1, 6):
            total, sizes = np.convolve(total, one), np.convolve(sizes, magnitude)
            for off in (1, int(3 * scale), int(12 * scale)):
                middle = count * reach
                exact = total[middle + off :].sum() + total[: middle - off + 1].sum() if off else 1.0
                by_sum = 2 * noise_check._chernoff(law.log_mean_exp, count, float(off), scale)
                by_size = noise_check._chernoff(law.log_mean_exp_size, count, float(off), scale)
                assert by_sum >= exact * (1 - 1e-9)
                assert by_size >= sizes[off:].sum() * (1 - 1e-9)


class TestFalseAlarms:
    """Whatever the truth within its bounds, what is computed bounds the statistic of the noise itself."""

    # Theorem V1.
    @pytest.mark.promise("P-THREAT-4")
    @given(st.integers(0, 10**6), st.integers(1, 30), st.floats(0, 50), st.sampled_from(LAWS))
    def test_bounds_only_make_it_milder(self, seed: int, size: int, width: float, law: Law) -> None:
        rng = np.random.default_rng(seed)
        lower = np.sort(rng.uniform(0, 10, size))
        upper = np.sort(lower + rng.uniform(0, width, size))
        truth = np.sort(rng.uniform(lower, upper))
        truth = np.clip(truth, lower, upper)
        noisy = truth + law.draw(rng, size)
        known, bounded = vector_noise(noisy, truth, truth, law), vector_noise(noisy, lower, upper, law)
        assert known.small is not None
        assert bounded.small is not None
        # The statistics: that of entries alone, and of pairs with differences of the truth between 0 and the range.
        entries = vector_noise(noisy - truth, np.zeros(size), np.zeros(size), law)
        assert entries.small is not None
        assert bounded.small >= min(known.small, entries.small) - 1e-12
        assert bounded.large >= min(known.large, entries.large) - 1e-12

    @given(st.integers(0, 10**6), st.integers(1, 12), st.integers(0, 50), st.floats(0.2, 30))
    def test_the_distance_of_counts_is_at_most_the_noise(self, seed: int, bins: int, total: int, scale: float) -> None:
        rng = np.random.default_rng(seed)
        truth = rng.multinomial(total, np.ones(bins) / bins)
        noise = DiscreteLaplaceLaw(scale=scale).draw(rng, bins).astype(np.int64)
        noisy = truth + noise
        kept, below = noisy[noisy > 0].sum(), -noisy[noisy < 0].sum()
        assert below + abs(kept - total) <= np.abs(noise).sum()
        assert abs(int(noisy.sum()) - total) == abs(int(noise.sum()))

    @pytest.mark.promise("P-THREAT-4")
    def test_none_in_many_honest_vectors(self) -> None:
        rng = np.random.default_rng(4)
        for law in LAWS:
            for _ in range(300):
                truth = np.sort(rng.uniform(0, 10, 25))
                found = vector_noise(truth + law.draw(rng, 25), truth - 1, truth + 1, law)
                assert not found.too_small
                assert not found.too_large


class TestPower:
    @pytest.mark.parametrize("law", LAWS, ids=repr)
    @pytest.mark.parametrize(("factor", "small"), [(0.01, True), (0.1, True), (10.0, False), (100.0, False)])
    def test_noise_of_another_size_is_noticed(self, law: Law, factor: float, small: bool) -> None:
        rng = np.random.default_rng(3)
        truth = np.sort(rng.uniform(0, 1, 60))
        for _ in range(20):
            found = vector_noise(truth + factor * law.draw(rng, 60), truth - 0.2, truth + 0.2, law)
            assert (found.too_small, found.too_large) == (small, not small)

    def test_pairs_notice_what_entries_cannot(self) -> None:
        """Wide bounds on many entries: the noise cannot be told entry by entry, but neighbours differ too little."""
        rng = np.random.default_rng(3)
        truth = np.sort(rng.uniform(0, 10, 600))
        law = LaplaceLaw(scale=1.0)
        quiet = truth + 0.1 * law.draw(rng, 600)
        assert vector_noise(quiet, np.zeros(600), np.full(600, 10.0), law).too_small
        assert not vector_noise(truth + law.draw(rng, 600), np.zeros(600), np.full(600, 10.0), law).too_small

    def test_counts_far_too_large(self) -> None:
        rng = np.random.default_rng(3)
        law = DiscreteLaplaceLaw(scale=4.0)
        truth = rng.multinomial(200, np.ones(9) / 9)
        assert not count_noise(truth + law.draw(rng, 9).astype(np.int64), 200, law).too_large
        assert count_noise(truth + 30 * law.draw(rng, 9).astype(np.int64), 200, law).too_large
        assert count_noise(truth, 200, law) == NoiseCheck(small=None, large=1.0)  # nothing is claimed of too small


def test_what_cannot_be_tested_is_refused() -> None:
    one, two = np.zeros(1), np.zeros(2)
    with pytest.raises(pv.InputError, match="one length"):
        vector_noise(one, two, two, LAWS[0])
    with pytest.raises(pv.InputError, match="on a vector"):
        vector_noise(one, one, one, DiscreteLaplaceLaw(scale=1.0))
    with pytest.raises(pv.InputError, match="on counts"):
        count_noise(np.zeros(1, dtype=np.int64), 0, LAWS[0])


@pytest.mark.parametrize("scale", [1e-300, 1e-3, 1.0, 1e12, 1e300])
def test_numbers_of_any_size(scale: float) -> None:
    counts = np.array([2**62, -(2**62), 5])
    assert 0 <= count_noise(counts, 10, DiscreteLaplaceLaw(scale=scale)).large <= 1
    huge = np.array([-1e308, 1e308])
    for law in (LaplaceLaw(scale=scale), NormalLaw(sigma=scale), SinhNormalLaw(sigma=scale, bound=scale)):
        found = vector_noise(huge, np.zeros(2), np.ones(2), law)
        assert found.small is not None
        assert 0 <= found.small <= 1
        assert 0 <= found.large <= 1
