"""Features of a kernel for the digits of docs/contexts.md, in which a linear function can be curved."""

from typing import NamedTuple

import numpy as np

from lewa.types import Matrix

CENTRES, GAMMA = 255, 2.0  # how many features, and gamma of exp(-gamma |x - centre|^2)


class Kernel(NamedTuple):
    """Nystroem features of the kernel exp(-gamma |x - y|^2): their inner products are the kernel, as far as centres reach.

    The centres are those of clusters of the images, without their digits.
    """

    centres: Matrix
    root: Matrix  # of the inverse of the kernel between the centres

    @classmethod
    def of(cls, points: Matrix) -> "Kernel":
        from sklearn.cluster import KMeans

        centres = KMeans(CENTRES, n_init=1, random_state=0).fit(np.unique(points, axis=0)).cluster_centers_
        values, vectors = np.linalg.eigh(cls(centres, np.eye(CENTRES)).features(centres))
        return cls(centres, vectors / np.sqrt(np.maximum(values, 1e-8)) @ vectors.T)

    def features(self, points: Matrix) -> Matrix:
        squares = (points**2).sum(axis=1)[:, None] + (self.centres**2).sum(axis=1) - 2 * points @ self.centres.T
        features: Matrix = np.exp(-GAMMA * np.maximum(squares, 0)) @ self.root
        return features
