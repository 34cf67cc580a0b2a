"""Where methods begin."""
from __future__ import annotations
from typing import TYPE_CHECKING
import numpy as np
from robustmds.linalg import leading_eigenpairs, centred
from robustmds.passes import kept_product

def classical_basis(problem, cut=np.inf):
    n, r = problem.n_points, problem.n_components

    def multiply(V):
        return -0.5 * kept_product(problem.measured, np.zeros_like(V), V, cut).product
    U, lam = leading_eigenpairs(multiply, n, r)
    return U, np.maximum(lam, 0.0)

def sq_diameter(problem):
    raise NotImplementedError
