"""Several processes, on one machine or on many, that solve one game together.

    solver = ms.Solver("liars_dice", batched, cluster=ms.cluster.Ray(workers=4))

Each worker holds the same tables. In the walks of a batch it follows a part of the
infosets, gets what the others have found in theirs, and makes the same update
(docs/scaling.md). Results are those of one process, to the bit, whatever the number of
workers, and whichever of them are lost on the way.
"""

from mccfr_spiel.cluster.batches import Cluster, InThisProcess
from mccfr_spiel.cluster.ray_actors import Ray

__all__ = ["Cluster", "InThisProcess", "Ray"]
