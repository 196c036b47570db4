from . import (
    algorithm_names,
    comparison_table,
    joined_runs,
    panels,
    plotting,
    runs,
    settings,
    sweeps,
)
from .joined_runs import (
    read_runs,
)
from .panels import (
    Curve,
    Experiment,
    Panel,
    summarize,
    sweep,
)
from .runs import (
    make_solver,
    rows,
    run,
)
from .settings import (
    Settings,
    named_settings,
    read_settings,
)
from .sweeps import (
    local,
    on_ray,
    run_sweep,
)

__all__ = [
    "Curve",
    "Experiment",
    "Panel",
    "Settings",
    "algorithm_names",
    "comparison_table",
    "joined_runs",
    "local",
    "make_solver",
    "named_settings",
    "on_ray",
    "panels",
    "plotting",
    "read_runs",
    "read_settings",
    "rows",
    "run",
    "run_sweep",
    "runs",
    "settings",
    "summarize",
    "sweep",
    "sweeps",
]
