"""The settings of the methods on the paper's noisy plus sign: the defaults beside others, best in hindsight.

    python benchmarks/settings.py [draws]

Mean root mean square error at the 21 points that are no anchors, over the given number of draws (40) of every
cell; the draws are the same for all settings.
"""

from __future__ import annotations

import sys
from itertools import product

import numpy as np

from robustmds import methods
from robustmds.api import pose
from robustmds.linalg import one_blas_thread
from robustmds.paper.draws import noisy_plus
from robustmds.paper.experiments import anchored_error
from robustmds.starts import torgerson, trimmed

CELLS = tuple(product((0.0, 0.1, 0.2), (15, 30, 45, 60, 75)))
# Settings, and where they begin if it is not where the method begins by itself.
SETTINGS = [
    (methods.Classical(), None),
    (methods.Smacof(), None),
    (methods.Smacof(), trimmed),
    (methods.Rmds(), None),
    (methods.Rmds(), torgerson),
    *((methods.Rmds(outlier_share=share), None) for share in (0.2, 0.35)),
    *((methods.Rmds(penalty=penalty), None) for penalty in (0.3, 0.6, 1.0, 2.0, 4.0)),
    *((methods.Rmds(decay=decay), None) for decay in (0.8, 0.9, 0.98)),
    (methods.Rmds(structured=True), None),
    (methods.Hqmmds(), None),
    (methods.Hqmmds(), torgerson),
    (methods.Hqmmds(decay=0.01), torgerson),
    (methods.Hqmmds(form="additive"), None),
    *((methods.Hqmmds(loss=loss), None) for loss in ("cauchy", "huber", "geman-mcclure")),
    *((methods.Hqmmds(deviations=deviations), None) for deviations in (1.5, 2.0, 4.0, 6.0)),
    *((methods.Hqmmds(decay=decay), None) for decay in (0.8, 0.9, 0.98)),
    (methods.Tmds(), None),
    (methods.Tmds(), torgerson),
    *((methods.Tmds(slack=slack), None) for slack in (0.0, 0.02, 0.1, 0.2)),
    (methods.Fsmds(), None),
    (methods.Fsmds(), torgerson),
    *((methods.Fsmds(sparsity=sparsity), None) for sparsity in (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)),
    *((methods.Fsmds(penalty=penalty), None) for penalty in (0.1, 1.0, 3.0, 10.0)),
    (methods.Ssmds(), None),
    (methods.Ssmds(), torgerson),
    *((methods.Ssmds(sparsity=sparsity), None) for sparsity in (0.5, 1.0, 2.0, 4.0, 8.0)),
]


def mean_error(method, start, cell, n_draws):
    """Return the mean error of a method over the draws of a cell."""
    errors = []
    for k in range(n_draws):
        draw = noisy_plus(np.random.default_rng([k, cell[1], int(10 * cell[0])]), *cell)
        problem, _ = pose(draw.distances, 2)
        run = method.solve(problem, start and start(problem), None)
        errors.append(anchored_error(draw, problem.to_user(run.points)))
    return np.mean(errors)


def changed(method, start):
    """Return what is not the default."""
    plain = type(method)()
    other = [f"{key}={value!r}" for key, value in vars(method).items() if value != getattr(plain, key)]
    if start is not None:
        other.append("from " + {torgerson: "classical scaling", trimmed: "classical scaling, trimmed"}[start])
    return ", ".join(other) or "the defaults"


def main(n_draws):
    """Print the table."""
    heads = [f"{variance:g}, {m}" for variance, m in CELLS]
    print("| method | settings |", " | ".join(heads), "| mean |")
    print("|---|---|" + "---|" * (len(CELLS) + 1))
    with one_blas_thread():
        for method, start in SETTINGS:
            row = [mean_error(method, start, cell, n_draws) for cell in CELLS]
            numbers = " | ".join(f"{value:.2f}" for value in [*row, np.mean(row)])
            print(f"| {method.name} | {changed(method, start)} | {numbers} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
