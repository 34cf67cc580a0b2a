"""Anything a user may pass as distances, checked: the only place where distances and weights are judged.

Forms: a square array or nested lists, a condensed vector, a memmap, a sparse matrix, `Labelled`, `Pairs`, a
data frame (labelled square or edge table) of pandas or polars, a DistanceMatrix of scikit-bio, anything that
turns into an array. What is passed is never written to, and a square array of floating-point numbers is never
copied.

The policy:

missing      nan, None, a masked entry, a weight of 0, or no entry at all. A pair that was measured in one
             direction only is measured.
asymmetry    Two directions that differ by some roundings are the same; up to 1e-3 of the largest distance,
             their mean counts, with one AsymmetryWarning; beyond, they are refused.
diagonal     0 or nan.
labels       words, each its own; those of rows and columns agree.
units        The largest distance times a power of two lies between 1 and 2, so that nothing is rounded.
faults       One sentence for each kind: the first or worst place, and how many more there are.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

from robustmds.errors import AsymmetryWarning, InputError
from robustmds.inputs import checks, forms
from robustmds.inputs.forms import Labelled, Pairs, value_columns

if TYPE_CHECKING:
    from robustmds.inputs.layouts import Layout
    from robustmds.passes import Measured

__all__ = ["Checked", "Labelled", "Pairs", "faults", "read", "value_columns"]


class Checked(NamedTuple):
    """Distances that can be trusted.

    Attributes
    ----------
    measured : Measured
        What the passes read.
    labels : tuple of str or None
        Names of the points.
    n_measured : int
        How many pairs were measured.
    largest : float
        The largest value, in the user's unit; squared if the values are.
    """

    measured: Measured
    labels: tuple[str, ...] | None
    n_measured: int
    largest: float


def read(
    distances: Any,  # noqa: ANN401 - anything a user may pass
    n_components: int,
    *,
    squared: bool = False,
    weights: Any = None,  # noqa: ANN401 - the same
) -> Checked:
    """Return checked distances, or raise the first fault.

    Parameters
    ----------
    distances : any of the accepted forms
        See the module.
    n_components : int
        Dimension of the points to be found.
    squared : bool
        Whether the values are squared distances.
    weights : same form as `distances`, optional
        Finite and not negative; 0 = not measured.
    """
    layout = forms.layout(distances, weights)
    measured = _measured(layout, squared=squared)
    for fault in checks.faults(layout, measured, n_components):
        raise fault
    survey = layout.survey
    if survey.asymmetry > layout.rounding:
        share = f"{survey.asymmetry / survey.largest:.1g} of the largest distance"
        message = f"the two directions of some pairs differ, by up to {share}: their mean is used"
        warnings.warn(message, AsymmetryWarning, stacklevel=4)  # the caller of robust_mds
    return Checked(measured, layout.labels, survey.n_measured, survey.largest)


def faults(
    distances: Any,  # noqa: ANN401
    n_components: int,
    *,
    squared: bool = False,
    weights: Any = None,  # noqa: ANN401
) -> list[InputError]:
    """Return all that is wrong, one fault of each kind; parameters as those of `read`."""
    try:
        layout = forms.layout(distances, weights)
    except InputError as fault:
        return [*checks.dimension_faults(n_components), fault]
    return list(checks.faults(layout, _measured(layout, squared=squared), n_components))


def _measured(layout: Layout, *, squared: bool) -> Measured:
    largest = layout.survey.largest
    unit = _unit(largest, squared=squared) if checks.SMALLEST <= largest <= checks.LARGEST else 1.0
    return layout.without_weights_of_one().measured(unit, squared=squared)


def _unit(largest: float, *, squared: bool) -> float:
    """Return the power of two (of four, for squares) that brings the largest distance between 1 and 2."""
    exponent = math.frexp(largest)[1] - 1
    return math.ldexp(1.0, -(exponent - exponent % 2 if squared else exponent))
