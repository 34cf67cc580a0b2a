"""Real measurements with known positions: the points are nearly as good as fits from the truth."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np
import pytest

import robustmds as rm
from robustmds.files import read_distances

SHARED = os.environ.get("ROBUSTMDS_SHARED", "")

# Root mean square position errors of fits that were started at the truth, as published with the data: the
# larger of that by least squares and that with a Cauchy loss. Missing are sets that this version does not
# solve.
REFERENCE = {
    "UScitiesD": 5.25,
    "eurodist": 197.6,
    "labyrinth_uwb": 0.121,
    "nmr_neopetrosiamide": 0.957,
    "tiers_mesh7": 0.277,
    "underwater5_2": 0.654,
    "underwater5_7": 0.316,
    "wifi_rtt_library": 1.960,
}
ROAD = 1.281  # length of a road between two cities, in great circles


@pytest.mark.skipif(not SHARED, reason="the measurements are not part of the package")
@pytest.mark.parametrize("name", REFERENCE)
def test_the_points_are_about_as_good_as_those_of_a_fit_from_the_truth(name):
    folder = Path(SHARED, "data", name)
    with (folder / "nodes.csv").open(encoding="utf-8") as file:
        nodes = {row.get("id") or row["label"]: row for row in csv.DictReader(file)}
    axes = [axis for axis in "xyz" if axis in next(iter(nodes.values()))]
    result = rm.robust_mds(read_distances(folder / "distances.csv"), len(axes))
    truth = np.array([[float(nodes[label][axis]) for axis in axes] for label in result.labels])
    points = result.points / (ROAD if name == "eurodist" else 1.0)
    error = np.sqrt(((rm.align(points, truth) - truth) ** 2).sum(axis=1).mean())
    assert result.status is rm.Status.CONVERGED
    assert error < 1.15 * REFERENCE[name]
