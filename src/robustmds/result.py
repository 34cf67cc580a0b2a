"""What a fit returns: the points, how it ended, and which distances were wrong."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zipfile import BadZipFile

import numpy as np

from robustmds import plots
from robustmds.confidence import Mixture
from robustmds.errors import InputError, require_between
from robustmds.files import write_whole
from robustmds.linalg import motion
from robustmds.passes import EVERYTHING, Listed, Measured, MeasuredEdges, pairs_outside, stress
from robustmds.table import Table

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    import numpy.typing as npt

    from robustmds.linalg import Array

SAVED_FROM = 0.01  # of the pairs of a large fit, those are saved that are at least this likely wrong
SHOWN_LINKS = 50  # suspects drawn in a map


class Status(Enum):
    """How a fit ended; the value is advice.

    CONVERGED settled; MAX_STEPS, STOPPED and BREAKDOWN did not; DEGENERATE set aside more than it kept.
    """

    CONVERGED = "The points have settled."
    MAX_STEPS = (
        "The number of steps ran out before the points settled: allow more `max_steps`, or a larger `tol`."
    )
    STOPPED = "The callback stopped the fit; these are the points it had reached."
    BREAKDOWN = (
        "The next step was not finite; these are the points before it. "
        "Look at the largest distances, or give a larger `threshold`."
    )
    DEGENERATE = (
        "More pairs were set aside than kept, so the points rest on a minority of the distances: "
        "try another `n_components`, a larger `noise`, or look for nodes that failed altogether."
    )


class Step(NamedTuple):
    """One step of a method, as `callback` sees it and `history` keeps it.

    `cut` and `residual` are in the units in which the method compares: squared distances for rmds-aap,
    distances for the least-squares fit.
    """

    method: str
    cut: float  # largest residual kept by the step
    residual: float  # root mean square of the kept residuals; least squares counts the others as the cut
    n_outliers: int  # pairs set aside by the step
    step_norm: float  # how far the points moved, relative to their size
    points: Array | None = None  # after the step, (n, r); None in the history


class Evidence(NamedTuple):
    """What the verdict on every pair rests on, in working units."""

    measured: Measured
    points: Array
    mixture: Mixture
    unit: float  # a distance times this is in working units
    loss: float | None = None  # of all pairs when they were fitted; None: the pairs are our own copy
    least: float = 0.0  # pairs that are less likely wrong than this are not among the measured any more

    def outside(self, probability: float) -> Listed:
        """Return the pairs that are at least this likely wrong."""
        if probability < self.least:
            rule = f"must be at least {self.least:g}, because this result knows the other pairs no longer"
            raise InputError("probability", rule, f"got {probability:g}", "Ask the result of the fit itself.")
        if self.loss not in {None, stress(self.measured, self.points, EVERYTHING).loss}:
            advice = "Ask for the suspects before changing the array, or fit a copy of it."
            raise InputError("distances", "must be those of the fit", "they were changed since", advice)
        return pairs_outside(self.measured, self.points, self.mixture.band(probability))

    def own(self, least: float = 0.0) -> Evidence:
        """Return the same with a list of the pairs in place of the user's array."""
        listed = self.outside(least)
        n = len(self.points)
        starts = np.searchsorted(listed.i, np.arange(n + 1))
        edges = MeasuredEdges(
            n_points=n, values=listed.seen, starts=starts, columns=listed.j.astype(np.int32)
        )
        return self._replace(measured=edges, loss=None, least=least)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Result:
    """Points from distances, and what was found out about the distances.

    Attributes
    ----------
    points : (n, r) array
        In the order of the input and in its units. They are centred; where the axes point is arbitrary unless
        the result was aligned.
    labels : sequence
        Names of the points; their positions where the input had no names.
    status : Status
        How the fit ended; its value is advice.
    n_measured : int
        Number of measured pairs.
    noise : float
        Estimated standard deviation of a good distance.
    outlier_share : float
        Share of the measured pairs set aside: those that are more likely wrong than good.
    point_suspicion : (n,) array
        The same share, of the pairs of every point: a broken sensor stands out.
    history : Table
        One row a step.
    method : str
        Name of the method.
    settings, versions : dict
        Enough to repeat the fit.
    """

    points: Array
    labels: Sequence[Hashable]
    status: Status
    n_measured: int
    noise: float
    outlier_share: float
    point_suspicion: Array
    history: Table
    method: str
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    evidence: Evidence

    def __post_init__(self) -> None:
        for array in (self.points, self.point_suspicion):
            array.flags.writeable = False

    @property
    def n_components(self) -> int:
        """Dimension of the points."""
        return self.points.shape[1]

    def suspects(self, probability: float = 0.5) -> Table:
        """Return the pairs that are probably wrong, worst first.

        Parameters
        ----------
        probability : float
            From which probability of being wrong on.

        Returns
        -------
        Table
            Columns i, j (and label_i, label_j if the points have names), measured, fitted, residual =
            measured - fitted, in the units of the distances, and probability.
        """
        require_between("probability", probability, 0.0, 1.0)
        i, j, seen, fitted = self.evidence.outside(probability)
        residual = seen - fitted
        worst = np.argsort(-np.abs(residual), kind="stable")
        i, j = i[worst], j[worst]
        names = {}
        if not isinstance(self.labels, range):
            labels = np.array(self.labels)
            names = {"label_i": labels[i], "label_j": labels[j]}
        unit = self.evidence.unit
        return Table(
            {
                "i": i,
                "j": j,
                **names,
                "measured": seen[worst] / unit,
                "fitted": fitted[worst] / unit,
                "residual": residual[worst] / unit,
                "probability": self.evidence.mixture.probability(residual[worst]),
            }
        )

    def align_to(
        self, points: npt.ArrayLike | Mapping[Hashable, npt.ArrayLike], *, scale: bool = False
    ) -> Result:
        """Return the same result with its points moved onto given ones: turned, mirrored and shifted.

        Parameters
        ----------
        points : (n, r) array or mapping
            Where the points should lie; or where some of them should, by position or name: at least r + 1
            that span all dimensions.
        scale : bool
            Whether the points may also be stretched. Distances, noise and suspects stay as they are.

        Returns
        -------
        Result
        """
        own, to = matched(self, points)
        R, t, s = motion(own, to, scale=scale)
        return replace(self, points=s * self.points @ R + t)

    def to_frame(self) -> Any:  # noqa: ANN401 - pandas is imported when met
        """Return the points as a pandas DataFrame, with their names as its index."""
        return self.table().to_frame().set_index("label")

    def table(self) -> Table:
        """Return the points as a table: label, one column a coordinate, and the suspicion."""
        axes = {f"x{c + 1}": column for c, column in enumerate(self.points.T)}
        return Table({"label": np.array(self.labels), **axes, "suspicion": self.point_suspicion})

    def plot(self, ax: Any = None) -> Any:  # noqa: ANN401 - matplotlib is imported when met
        """Draw the points and the worst suspects as lines between them.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure if there is none.

        Returns
        -------
        matplotlib Axes
        """
        worst = self.suspects()[:SHOWN_LINKS]
        names = None if isinstance(self.labels, range) else self.labels
        return plots.draw_map(self.points, names, np.column_stack([worst.i, worst.j]), ax)

    def save(self, path: str | Path) -> None:
        """Write the result to a ``.npz`` file, whole or not at all; no pickle is involved.

        Of a fit of more than about 250,000 pairs, only those are saved that are at least 1 % likely wrong.

        Parameters
        ----------
        path : str or Path
            Its folder must exist.
        """
        path = Path(path)
        if path.suffix != ".npz":
            raise InputError("path", "must end in .npz", f"got {path.name!r}")
        if not path.parent.is_dir():
            raise InputError("path", "must lie in an existing folder", f"{path.parent} is none")
        arrays = self._arrays()
        write_whole(path.parent, {path.name: lambda place: np.savez_compressed(place, **arrays)})

    def _arrays(self) -> dict[str, Any]:
        evidence = self.evidence if self.evidence.loss is None else self.evidence.own(SAVED_FROM)
        edges = evidence.measured
        assert isinstance(edges, MeasuredEdges)  # noqa: S101 - our own copies are
        words = {
            "status": self.status.name,
            "method": self.method,
            "settings": self.settings,
            "versions": self.versions,
            "named": not isinstance(self.labels, range),
        }
        return {
            "words": json.dumps(words),
            "labels": np.array(self.labels),
            "points": self.points,
            "point_suspicion": self.point_suspicion,
            "n_measured": self.n_measured,
            "noise": self.noise,
            "outlier_share": self.outlier_share,
            **{f"history_{name}": self.history[name] for name in self.history.columns},
            "pairs_seen": edges.values,
            "pairs_starts": edges.starts,
            "pairs_columns": edges.columns,
            "pairs_points": evidence.points,
            "pairs_law": np.array([*evidence.mixture, evidence.unit, evidence.least]),
        }

    @classmethod
    def load(cls, path: str | Path) -> Result:
        """Return the result that `save` wrote to a file.

        Parameters
        ----------
        path : str or Path
            The file.
        """
        advice = "Give a file that Result.save has written."
        try:
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:  # noqa: PTH123
                return cls._from_arrays(dict(archive))
        except OSError as error:
            raise InputError(
                str(path), "must be a file that can be read", error.strerror or str(error)
            ) from error
        except (KeyError, TypeError, ValueError, EOFError, BadZipFile) as error:
            raise InputError(str(path), "must hold a result", str(error).rstrip("."), advice) from error

    @classmethod
    def _from_arrays(cls, arrays: Mapping[str, Any]) -> Result:
        words = json.loads(str(arrays["words"]))
        named = words.pop("named")
        points, own_points = arrays["points"], arrays["pairs_points"]
        edges = MeasuredEdges(
            n_points=len(points),
            values=arrays["pairs_seen"],
            starts=arrays["pairs_starts"],
            columns=arrays["pairs_columns"],
        )
        *law, unit, least = arrays["pairs_law"].tolist()
        history = {
            name.removeprefix("history_"): column
            for name, column in arrays.items()
            if name.startswith("history_")
        }
        return cls(
            **words | {"status": Status[words["status"]]},
            points=points,
            labels=tuple(arrays["labels"].tolist()) if named else range(len(points)),
            n_measured=int(arrays["n_measured"]),
            noise=float(arrays["noise"]),
            outlier_share=float(arrays["outlier_share"]),
            point_suspicion=arrays["point_suspicion"],
            history=Table(history),
            evidence=Evidence(edges, own_points, Mixture(*law), unit, least=least),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # As it would be saved: a pickle must not drag the user's distances along.
        return Result._from_arrays, ({name: np.asarray(value) for name, value in self._arrays().items()},)

    def __repr__(self) -> str:
        n, r = self.points.shape
        n_set_aside = round(self.outlier_share * self.n_measured)
        return (
            f"{n} points in {r} dimensions from {self.n_measured} of {n * (n - 1) // 2} distances, "
            f"by {self.method}\n"
            f"set aside as wrong: {n_set_aside} ({self.outlier_share:.1%})\n"
            f"noise of the others: {self.noise:.3g}\n"
            f"{self.status.name}: {self.status.value}"
        )


def matched(result: Result, points: Any) -> tuple[Array, Array]:  # noqa: ANN401 - a mapping or an array
    """Return the points of a result of which something is known, and what is known, row by row."""
    r = result.n_components
    if not hasattr(points, "keys"):
        to = np.asarray(points, dtype=float)
        if to.shape != result.points.shape:
            raise InputError("points", f"must have shape {result.points.shape}", f"got {to.shape}")
        return result.points, to
    places: dict[Hashable, int] = {str(label): k for k, label in enumerate(result.labels)}
    places |= {label: k for k, label in enumerate(result.labels)}
    rows: list[int] = []
    for key in points:
        k = places.get(key, key)
        if not isinstance(k, (int, np.integer)) or not 0 <= k < len(result.points):
            raise InputError("points", "must be named by the labels or positions of points", f"got {key!r}")
        rows.append(int(k))
    to = np.array([np.ravel(points[key]) for key in points], dtype=float)
    if to.shape != (len(rows), r) or np.linalg.matrix_rank(to - to.mean(axis=0)) < r:
        found = f"got an array of shape {to.shape}"
        raise InputError("points", f"must be at least {r + 1} that span {r} dimensions", found)
    return result.points[rows], to
