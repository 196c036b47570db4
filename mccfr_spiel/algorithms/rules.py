"""The rules by their names."""

from mccfr_spiel.algorithms.entropy_rules import (
    FTRL,
    OMD,
    MagneticMirrorDescent,
    OptimisticFTRL,
    OptimisticOMD,
)
from mccfr_spiel.algorithms.minimizers import Minimizer
from mccfr_spiel.algorithms.regret_rules import (
    DiscountedRegretMatching,
    PredictiveRegretMatchingPlus,
    RegretMatching,
    RegretMatchingPlus,
)

RULES: dict[str, type[Minimizer]] = {
    kind.rule: kind
    for kind in (
        RegretMatching,
        RegretMatchingPlus,
        DiscountedRegretMatching,
        PredictiveRegretMatchingPlus,
        FTRL,
        OMD,
        OptimisticFTRL,
        OptimisticOMD,
        MagneticMirrorDescent,
    )
}
"""The rules by their names."""
