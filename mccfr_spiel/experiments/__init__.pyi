from . import (
    algorithm_names,
    comparison_table,
    joined_runs,
    panels,
    papers,
    plotting,
    runs,
    settings,
    sweeps,
)
from .executors import (
    local,
    on_ray,
)
from .joined_runs import read_runs
from .panels import (
    Curve,
    Experiment,
    Panel,
    summarize,
    sweep,
)
from .run_solvers import make_solver
from .runs import (
    rows,
    run,
)
from .setting_names import named_settings
from .settings import Settings
from .settings_files import read_settings
from .sweeps import run_sweep

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
    "papers",
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
