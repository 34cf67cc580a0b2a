"""The same engine as a scikit-learn estimator."""

from __future__ import annotations

import re
import warnings
from inspect import getdoc
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances
from sklearn.utils.validation import validate_data

from robustmds.api import robust_mds
from robustmds.result import Status

if TYPE_CHECKING:
    from sklearn.utils import Tags

    from robustmds.linalg import Array
    from robustmds.methods._run import Method

T = TypeVar("T", bound=type)


def explained(estimator: T) -> T:
    """Fill the names in braces in a class's docstring with what `robust_mds` says of them."""
    entries = re.findall(r"^(\w+) : .*\n((?: {4}.*\n)+)", getdoc(robust_mds) or "", re.MULTILINE)
    texts = {name: text.strip() for name, text in entries}
    estimator.__doc__ = re.sub(r"\{(\w+)\}", lambda name: texts[name[1]], getdoc(estimator) or "")
    return estimator


@explained
class RobustMDS(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Find points from their distances, some of which are wrong, noisy or missing.

    Parameters
    ----------
    n_components : int
        {n_components}
    metric : str or callable
        "precomputed": `fit` is given distances, in any form that `robust_mds` takes. Otherwise it is given
        features, and this is the metric of `sklearn.metrics.pairwise_distances` between them.
    method : str or settings
        {method}
    squared : bool
        {squared}
    outlier_sign : {"any", "too-long", "too-short"}
        {outlier_sign}
    noise : float, optional
        {noise}

    Attributes
    ----------
    embedding_ : (n, n_components) array
        The points.
    suspects_ : Table
        The distances that are probably wrong, worst first.
    noise_ : float
        Standard deviation of a good distance.
    n_iter_ : int
        Number of steps.
    result_ : Result
        All there is to know.

    Examples
    --------
    >>> from robustmds import RobustMDS, datasets
    >>> distances, cities = datasets.eurodist()
    >>> RobustMDS().fit_transform(distances).shape
    (21, 2)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        metric: Any = "precomputed",  # noqa: ANN401 - a name or a callable
        method: str | Method = "auto",
        squared: bool = False,
        outlier_sign: str = "any",
        noise: float | None = None,
    ) -> None:
        self.n_components = n_components
        self.metric = metric
        self.method = method
        self.squared = squared
        self.outlier_sign = outlier_sign
        self.noise = noise

    def fit(self, X: Any, y: None = None) -> RobustMDS:  # noqa: ANN401, ARG002 - scikit-learn's signature
        """Find the points.

        Parameters
        ----------
        X : array, table or sparse matrix
            Distances, or features if `metric` is not "precomputed".
        y : None
            Ignored.

        Returns
        -------
        RobustMDS
            The estimator itself.
        """
        self.result_ = robust_mds(
            self._distances(X),
            self.n_components,
            method=self.method,
            squared=self.squared,
            outlier_sign=self.outlier_sign,
            noise=self.noise,
        )
        self.embedding_ = self.result_.points
        self.suspects_ = self.result_.suspects()
        self.noise_ = self.result_.noise
        self.n_iter_ = len(self.result_.history)
        if self.result_.status is not Status.CONVERGED:
            status = self.result_.status
            warnings.warn(f"{status.name}: {status.value}", ConvergenceWarning, stacklevel=2)
        return self

    def fit_transform(self, X: Any, y: None = None) -> Array:  # noqa: ANN401 - scikit-learn's signature
        """Find the points and return them.

        Parameters
        ----------
        X : array, table or sparse matrix
            Distances, or features if `metric` is not "precomputed".
        y : None
            Ignored.

        Returns
        -------
        (n, n_components) array
        """
        return self.fit(X, y).embedding_

    def _distances(self, X: Any) -> Any:  # noqa: ANN401 - whatever robust_mds takes
        # Labels and missing pairs are robust_mds's business: of distances, only plain arrays are looked at.
        is_array = isinstance(X, (np.ndarray, list, tuple))
        checked = validate_data(
            self,
            X,
            skip_check_array=self._precomputed and not is_array,
            ensure_all_finite="allow-nan" if self._precomputed else True,
            ensure_non_negative=self._precomputed,
            ensure_min_samples=2,
        )
        return checked if self._precomputed else pairwise_distances(checked, metric=self.metric)

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "precomputed"

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        for tag in ("pairwise", "allow_nan", "sparse", "positive_only"):
            setattr(tags.input_tags, tag, self._precomputed)
        return tags

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])
