"""The table of README.md: robustmds beside plain MDS, on the same wrong distances.

    python benchmarks/plain_mds.py [draws]

Prints the median over the draws of the root mean square error of the points, relative to the size of the map
(the root mean square distance of the true points from their mean), and the wrong distances found.
"""

from __future__ import annotations

import sys

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.manifold import MDS

import robustmds as rm

SHAPES = {
    "plus sign of 101 points, exact": (lambda rng: rm.datasets.plus_sign(), 0.0),  # noqa: ARG005
    "100 points in a square, 1 % noise": (lambda rng: rng.random((100, 2)), 0.01),
}
SHARES = (0.0, 0.05, 0.1, 0.2, 0.3)


def size(points):
    """Return the root mean square distance from the mean."""
    return np.sqrt(((points - points.mean(axis=0)) ** 2).sum(axis=1).mean())


def error(points, truth):
    """Return the root mean square error after the best rigid motion, relative to the size of the map."""
    off = rm.align(points, truth) - truth
    return np.sqrt((off**2).sum(axis=1).mean()) / size(truth)


def draw(make, noise, share, seed):
    """Return the errors of three methods on one draw, and the share of the wrong distances that was found."""
    truth = make(np.random.default_rng(seed))
    spoilt = rm.datasets.corrupt(squareform(pdist(truth)), share, noise=noise, random_state=seed)
    smacof = MDS(metric="precomputed", n_init=1, init="classical_mds", max_iter=300, random_state=0)
    result = rm.robust_mds(spoilt.distances)
    suspects = result.suspects()
    found = spoilt.wrong[suspects.i, suspects.j].sum() / max(spoilt.wrong.sum() / 2, 1)
    return (
        error(rm.robust_mds(spoilt.distances, method="classical").points, truth),
        error(smacof.fit_transform(spoilt.distances), truth),
        error(result.points, truth),
        found,
    )


def main(n_draws):
    """Print the table."""
    print("| distances | wrong | classical MDS | scikit-learn `MDS` | robustmds | wrong ones found |")
    print("|---|---|---|---|---|---|")
    for name, (make, noise) in SHAPES.items():
        for share in SHARES:
            rows = [draw(make, noise, share, seed) for seed in range(n_draws)]
            classical, smacof, robust, found = np.median(rows, axis=0)
            seen = f"{found:.1%}" if share else "-"
            print(f"| {name} | {share:.0%} | {classical:.1g} | {smacof:.1g} | {robust:.1g} | {seen} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
