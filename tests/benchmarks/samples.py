import math
from collections.abc import Sequence


def percentile(samples: Sequence[float], percent: float) -> float:
    """The smallest sample that at least `percent` of all samples do not exceed (nearest rank)."""
    rank = math.ceil(len(samples) * percent / 100)
    return sorted(samples)[max(0, rank - 1)]
