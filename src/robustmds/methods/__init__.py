"""The methods, by the name they are asked for: frozen settings, all driven by one loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from robustmds.methods.alternating_projections import RmdsAap
from robustmds.methods.auto import Auto
from robustmds.methods.classical import Classical
from robustmds.methods.majorization import Hqmmds, Rmds, Smacof
from robustmds.methods.robust_pca import AccAltProj, AltProj, Pcp, RpcaGd
from robustmds.methods.sparse_cone import Fsmds, Ssmds
from robustmds.methods.triangles import Tmds

if TYPE_CHECKING:
    from robustmds.methods._run import Method

__all__ = [
    "METHODS",
    "AccAltProj",
    "AltProj",
    "Auto",
    "Classical",
    "Fsmds",
    "Hqmmds",
    "Pcp",
    "Rmds",
    "RmdsAap",
    "RpcaGd",
    "Smacof",
    "Ssmds",
    "Tmds",
]

METHODS: dict[str, type[Method]] = {
    method.name: method
    for method in (
        Auto, RmdsAap, Classical, Smacof, Rmds, Hqmmds, Tmds, Fsmds, Ssmds, Pcp, AltProj, RpcaGd, AccAltProj,
    )
}  # fmt: skip
