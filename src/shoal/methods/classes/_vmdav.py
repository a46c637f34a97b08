"""V-MDAV: MDAV with clusters whose size follows the data."""

from __future__ import annotations

import math

from numpy.typing import ArrayLike

from shoal.errors import ParameterError
from shoal.kernels.mdav import vmdav as vmdav_kernel
from shoal.methods.classes._distance import Scaling, Space
from shoal.methods.classes._partition import Partition, require_size
from shoal.methods.classes._records import Records

__all__ = ["vmdav"]


def vmdav(values: Records | ArrayLike, k: int, *, gamma: float = 0.2, scaling: Scaling = "z-score") -> Partition:
    """Partition numeric records into clusters of variable size, at least k.

    While at least k records are free: take the free record farthest from the centroid of all records and its k - 1
    nearest free records. Then, up to 2k - 1 members, let the free record nearest to any member join while its
    distance to the cluster is below ``gamma`` times its distance to the nearest other free record. The fewer than k
    that are left join the cluster with the nearest centroid [Solanas & Martínez-Ballesté 2006, cited as SC13 [86]].
    The lower row wins a tie.

    Parameters
    ----------
    values
        Records without categories, or a matrix of numbers with one row per record.
    k
        The least cluster size, in [1, number of records].
    gamma
        The readiness to grow, in [0, ∞): about 0.2 for scattered records, 1.1 for records in natural groups.
    scaling
        What numbers are divided by before distances are taken; see `Space`.

    Guarantee
    ---------
    Every cluster holds at least k records; see `mdav` for what follows.

    Notes
    -----
    O(n² m) in the worst case; the C++ kernel skips most of it.

    Examples
    --------
    >>> vmdav([1.0, 2.0, 3.0, 3.1, 8.0, 9.0, 9.5], 3, gamma=1.1).labels.tolist()
    [1, 1, 1, 1, 0, 0, 0]
    """
    records = Records.of(values)
    if records.taxonomies:
        raise ParameterError(
            f"`vmdav` clusters numbers only; got {len(records.taxonomies)} categorical attributes.",
            hint="use mdav, which takes categories and mixed records",
        )
    if not (math.isfinite(gamma) and gamma >= 0.0):
        raise ParameterError(f"`gamma` of `vmdav` must be in [0, ∞); got {gamma}.")
    size = require_size(k, len(records), "vmdav")
    return Partition(vmdav_kernel(Space.of(records, scaling).numeric, size, gamma)).require(size)
