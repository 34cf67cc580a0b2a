"""Points from pairwise distances when some of the distances are grossly wrong, and which ones were.

>>> import robustmds as rm
>>> distances, cities = rm.datasets.eurodist()
>>> result = rm.robust_mds(rm.Labelled(distances, cities))
>>> result.points.shape
(21, 2)
"""

from importlib.metadata import version as _version
from typing import TYPE_CHECKING, Any

from robustmds import datasets, methods, theory
from robustmds.api import align, robust_mds
from robustmds.comparison import compare
from robustmds.errors import AsymmetryWarning, InputError, RobustMDSError, UnsupportedError
from robustmds.inputs import Labelled, Pairs
from robustmds.methods import METHODS
from robustmds.result import Result, Status, Step

if TYPE_CHECKING:
    from robustmds.estimators import RobustMDS

__version__ = _version("robustmds")

__all__ = [
    "METHODS",
    "AsymmetryWarning",
    "InputError",
    "Labelled",
    "Pairs",
    "Result",
    "RobustMDS",
    "RobustMDSError",
    "Status",
    "Step",
    "UnsupportedError",
    "align",
    "compare",
    "datasets",
    "methods",
    "robust_mds",
    "theory",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - one class
    # scikit-learn takes longer to import than all the rest, so it is imported when met.
    if name == "RobustMDS":
        from robustmds.estimators import RobustMDS  # noqa: PLC0415 - see above

        return RobustMDS
    raise AttributeError(f"module 'robustmds' has no attribute {name!r}")
