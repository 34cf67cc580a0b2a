"""The cities: the four known errors are found without a map and without a parameter."""

from __future__ import annotations

import robustmds as rm


def test_the_four_known_errors_are_the_first_suspects():
    distances, cities = rm.datasets.eurodist()
    suspects = rm.robust_mds(rm.Labelled(distances, cities)).suspects(0.0)[:5]
    first = {frozenset(pair) for pair in zip(suspects.label_i, suspects.label_j, strict=True)}
    assert {frozenset(pair) for pair in rm.datasets.EURODIST_ERRORS} <= first
