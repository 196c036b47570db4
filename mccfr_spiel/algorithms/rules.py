"""The rules by their names."""

from mccfr_spiel.algorithms import entropy_rules, regret_rules
from mccfr_spiel.algorithms.minimizers import Minimizer

RULES: dict[str, type[Minimizer]] = {
    kind.rule: kind
    for module in (regret_rules, entropy_rules)
    for kind in vars(module).values()
    if isinstance(kind, type) and "rule" in vars(kind)
}
"""The rules by their names, in the order in which the two files define them."""
