"""How often the estimated threshold of RMDS-AAP lies where it should: the tables of docs/threshold.md.

    python benchmarks/threshold.py --draws 24

It is right if it lies between one and three times the largest true squared distance of all pairs, measured or
not. Every row sums up all shapes of a group. The numbers depend on the number of draws alone.
"""

# ruff: noqa: N806 - a script, in which X is a matrix

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.spatial.distance import pdist, squareform

from robustmds.datasets import corrupt, plus_sign
from robustmds.linalg import motion
from robustmds.methods.alternating_projections import THRESHOLD_FACTOR, RmdsAap
from robustmds.passes import MeasuredSquare
from robustmds.problem import Problem
from robustmds.starts import sq_diameter

if TYPE_CHECKING:
    from collections.abc import Callable

    Rng = np.random.Generator
    Shape = Callable[[Rng], np.ndarray]


def ball(rng: Rng, n: int, r: int) -> np.ndarray:
    """Return points spread evenly in a ball."""
    directions = rng.normal(size=(n, r))
    return directions / np.linalg.norm(directions, axis=1, keepdims=True) * rng.random((n, 1)) ** (1 / r)


def circle(rng: Rng, n: int) -> np.ndarray:
    """Return points on a circle."""
    turns = 2 * np.pi * rng.random(n)
    return np.column_stack([np.cos(turns), np.sin(turns)])


def clusters(rng: Rng, n: int) -> np.ndarray:
    """Return two clusters of a twentieth of their distance."""
    return rng.normal(scale=0.05, size=(n, 2)) + np.outer(np.arange(n) % 2, [1.0, 0.0])


def lone(rng: Rng, n: int) -> np.ndarray:
    """Return points in a square, but for one that is seven sides away."""
    points = rng.random((n, 2))
    points[-1] += 5.0
    return points


EVEN: dict[str, Shape] = {
    "plus sign, 101": lambda _: plus_sign(101),
    "plus sign, 25": lambda _: plus_sign(25),
    "square, 20": lambda rng: rng.random((20, 2)),
    "square, 50": lambda rng: rng.random((50, 2)),
    "square, 100": lambda rng: rng.random((100, 2)),
    "square, 500": lambda rng: rng.random((500, 2)),
    "cube, 50": lambda rng: rng.random((50, 3)),
    "ball in 3-d, 50": lambda rng: ball(rng, 50, 3),
    "ball in 5-d, 100": lambda rng: ball(rng, 100, 5),
    "circle, 60": lambda rng: circle(rng, 60),
    "line, 20": lambda rng: rng.random((20, 1)),
    "line, 50": lambda rng: rng.random((50, 1)),
}
UNEVEN: dict[str, Shape] = {
    "two far clusters, 50": lambda rng: clusters(rng, 50),
    "10 times longer than wide, 50": lambda rng: rng.random((50, 2)) * [10, 1],
    "normal, 60": lambda rng: rng.normal(size=(60, 2)),
    "normal in 5-d, 20": lambda rng: rng.normal(size=(20, 5)),
    "Student's t, 2 degrees of freedom, 60": lambda rng: rng.standard_t(2, size=(60, 2)),
    "lone far point, 50": lambda rng: lone(rng, 50),
    "lone far point, 300": lambda rng: lone(rng, 300),
}
SHAPES = EVEN | UNEVEN

LOW, HIGH = 1.0, 3.0  # the theorem's range of the threshold, in largest true squared distances
USABLE = 0.85  # RMDS-AAP still finds most points
QUANTILES = (0.005, 0.5, 0.995)
COLUMNS = "draws | right, % | too low, % | below .85, % | too high, % | 0.5 % | median | 99.5 % |"

FACTORS = (0.85, 1.0, 1.1, 1.2, 1.3, 1.5, 2.0, 3.0)

# Which wrong distances there are: sign, and largest error in units of the largest true distance.
ERRORS = [(sign, size) for sign in ("too-long", "any") for size in (0.8, 3, 10)] + [("too-short", 0.8)]


class Case(NamedTuple):
    """What is done to the distances; lengths in units of the largest true distance."""

    share: float = 0.0
    sign: str = "any"
    size: float = 0.8
    missing: float = 0.0
    noise: float = 0.0
    bad_nodes: int = 0

    def __str__(self) -> str:
        parts = [f"{100 * self.share:g} %"] if self.share or not self.bad_nodes else []
        if self.share or self.bad_nodes:
            parts.append(f"{self.sign}, up to {self.size:g}")
        if self.bad_nodes:
            parts.append(f"{self.bad_nodes} bad nodes")
        if self.missing:
            parts.append(f"missing {100 * self.missing:g} %")
        if self.noise:
            parts.append(f"noise {100 * self.noise:g} %")
        return ", ".join(parts)


def draw(name: str, case: Case, seed: int) -> tuple[np.ndarray, Problem]:
    """Return the points of a shape, and their distances after what the case does to them."""
    rng = np.random.default_rng([list(SHAPES).index(name), seed])
    points = SHAPES[name](rng)
    distances = squareform(pdist(points))
    largest = float(distances.max())
    lengths = {"size": case.size * largest, "noise": case.noise * largest}
    seen = corrupt(distances, random_state=rng, **(case._asdict() | lengths)).distances
    n, r = points.shape
    measured = MeasuredSquare(n_points=n, values=seen, unit=2.0 ** -np.floor(np.log2(np.nanmax(seen))))
    n_measured = int((~np.isnan(seen)).sum() - n) // 2
    return points, Problem(measured=measured, n_components=r, n_measured=n_measured)


def ratios(name: str, cases: list[Case], n_draws: int) -> np.ndarray:
    """Return the threshold over the largest true squared distance, for every draw of every case."""
    found = []
    for case in cases:
        for seed in range(n_draws):
            points, problem = draw(name, case, seed)
            estimate = sq_diameter(problem.measured) / problem.unit**2
            found.append(THRESHOLD_FACTOR * estimate / float(pdist(points, "sqeuclidean").max()))
    return np.array(found)


def line(label: str, found: np.ndarray) -> str:
    """Return one row of a table."""
    too_low, far_too_low, too_high = found < LOW, found < USABLE, found > HIGH
    rates = [100 * np.mean(which) for which in (~too_low & ~too_high, too_low, far_too_low, too_high)]
    numbers = [f"{rate:.1f}" for rate in rates] + [f"{value:.2f}" for value in np.quantile(found, QUANTILES)]
    return f"| {label} | {found.size} | {' | '.join(numbers)} |"


def heading(title: str, label: str) -> None:
    """Print what stands above the rows."""
    print(f"\n### {title}\n\n| {label} | {COLUMNS}\n" + "|---" * (label + COLUMNS).count("|") + "|---|")


def table(title: str, cases: list[Case], n_draws: int) -> None:
    """Print a table with two rows a case: the even shapes and the uneven ones."""
    heading(title, "wrong distances | shapes")
    for case in cases:
        for group, names in (("even", EVEN), ("uneven", UNEVEN)):
            # About as many draws in either group.
            n = n_draws * len(SHAPES) // (2 * len(names))
            found = np.concatenate([ratios(name, [case], n) for name in names])
            print(line(f"{case} | {group}", found), flush=True)


def table_by_shape(cases: list[Case], n_draws: int) -> None:
    """Print a table with a row a shape."""
    heading("By shape: shares 10 to 40 %, all signs and sizes", "shape")
    for name in SHAPES:
        print(line(name, ratios(name, cases, n_draws)), flush=True)


def recovered(name: str, case: Case, seed: int) -> list[bool]:
    """Tell for every factor whether RMDS-AAP finds the points, by the paper's criterion."""
    X, problem = draw(name, case, seed)
    estimate = sq_diameter(problem.measured) / problem.unit**2
    found = []
    for factor in FACTORS:
        run = RmdsAap(threshold=factor * estimate, decay=0.8, max_steps=150).solve(problem)
        points = problem.to_user(run.points)
        R, t, _ = motion(points, to=X)
        off = np.linalg.norm(points @ R + t - X, axis=1).max()
        found.append(bool(off < 0.01 * np.linalg.norm(X - X.mean(axis=0), axis=1).max()))
    return found


def table_of_recoveries(n_draws: int) -> None:
    """Print how often RMDS-AAP finds the points from the estimate times other factors."""
    names = [name for name in EVEN if "line" not in name and "500" not in name]
    print("\n### What another factor would do: RMDS-AAP finds the points, in % of the draws\n")
    print("| wrong distances | draws | " + " | ".join(f"{factor:g}" for factor in FACTORS) + " |")
    print("|---" * (2 + len(FACTORS)) + "|")
    for share in (0.1, 0.2, 0.3):
        for error in (ERRORS[0], ERRORS[2], ERRORS[3], ERRORS[5], ERRORS[6]):
            case = Case(share, *error)
            found = [recovered(name, case, seed) for name in names for seed in range(n_draws)]
            rates = " | ".join(f"{100 * rate:.0f}" for rate in np.mean(found, axis=0))
            print(f"| {case} | {len(found)} | {rates} |", flush=True)


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description="How often the estimated threshold is right.")
    parser.add_argument("--draws", type=int, default=24, help="of every shape, on average")
    n_draws = parser.parse_args().draws
    shares = (0.05, 0.1, 0.2, 0.3, 0.4)
    full = [Case()] + [Case(share, sign, size) for share in shares for sign, size in ERRORS]
    table("All pairs measured, no noise", full, n_draws)
    some = [Case()] + [
        Case(share, *error) for share in (0.1, 0.3) for error in (ERRORS[0], ERRORS[5], ERRORS[6])
    ]
    table("Missing pairs", [case._replace(missing=m) for m in (0.3, 0.6) for case in some], n_draws)
    table("Noise", [case._replace(noise=noise) for noise in (0.01, 0.05) for case in some], n_draws)
    broken = [Case(0.0, *error, bad_nodes=count) for count in (1, 2) for error in ERRORS]
    table("Nodes whose every distance is wrong", broken, n_draws)
    table_by_shape([case for case in full if case.share > shares[0]], max(8, n_draws // 3))
    table_of_recoveries(n_draws)


if __name__ == "__main__":
    main()
