"""Memory: the distances are read where they are, and nothing else of their size is made."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import robustmds as rm

N = 3000


@pytest.fixture(scope="module")
def distances():
    points = np.random.default_rng(0).random((N, 2))
    table = np.empty((N, N))
    for i in range(N):
        table[i] = np.hypot(*(points[i] - points).T)
    rng = np.random.default_rng(1)
    for i in range(N):
        wrong = i + 1 + np.flatnonzero(rng.random(N - i - 1) < 0.1)
        table[i, wrong] += rng.random(wrong.size)
        table[wrong, i] = table[i, wrong]
    rm.robust_mds(table[:500, :500].copy())  # compiled and imported before anything is measured
    rm.robust_mds(table[:900, :900].copy())
    return table


def peak_of(function):
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("method", [name for name in rm.METHODS if not rm.METHODS[name].holds_matrices])
def test_a_whole_fit_takes_less_than_a_tenth_of_the_distances(distances, method):
    assert peak_of(lambda: rm.robust_mds(distances, method=method)) < 0.1 * distances.nbytes


def test_counting_triangles_takes_two_thirds_of_the_distances(distances):
    rm.robust_mds(distances[:900, :900].copy(), method="tmds")  # compiled
    assert peak_of(lambda: rm.robust_mds(distances, method="tmds")) < 0.7 * distances.nbytes


def test_the_iterations_take_less_than_a_twentieth(distances):
    peaks = []

    def watch(step):  # noqa: ARG001 - only the time counts
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.reset_peak()

    peak_of(lambda: rm.robust_mds(distances, method=rm.methods.RmdsAap(max_steps=20), callback=watch))
    assert len(peaks) == 20
    assert max(peaks[1:]) < 0.05 * distances.nbytes


def test_a_condensed_vector_is_not_made_square(distances):
    condensed = distances[np.triu_indices(N, 1)]
    method = rm.methods.RmdsAap(max_steps=5)
    assert peak_of(lambda: rm.robust_mds(condensed, method=method)) < 0.5 * condensed.nbytes


def test_a_memmap_is_not_loaded(distances, tmp_path):
    np.save(tmp_path / "distances.npy", distances)
    mapped = np.load(tmp_path / "distances.npy", mmap_mode="r")
    method = rm.methods.RmdsAap(max_steps=5)
    assert peak_of(lambda: rm.robust_mds(mapped, method=method)) < 0.3 * distances.nbytes
