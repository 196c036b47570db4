"""Experiments: runs and sweeps as data, the files they leave, and figures.

settings.py        one run as a value
flags.py           names -> settings, in one place
runs.py            settings -> solver -> rows
results.py         the folder of a run; recording.py writes it, resuming.py reads it
sweeps.py          tables of settings, run by workers
panels.py          experiments of many panels -> a sweep -> a summary
reproduction.py    the experiments of the papers
plotting.py        result files -> figures; needs matplotlib, so it is imported apart
single_run.py      one run of the command line
"""

from mccfr_spiel.experiments.flags import named_settings
from mccfr_spiel.experiments.panels import (
    Curve,
    Experiment,
    Panel,
    summarize,
    sweep,
)
from mccfr_spiel.experiments.runs import make_solver, rows, run
from mccfr_spiel.experiments.settings import Settings
from mccfr_spiel.experiments.settings_files import read_settings
from mccfr_spiel.experiments.sweeps import local, on_ray, run_sweep

__all__ = [
    "Curve",
    "Experiment",
    "Panel",
    "Settings",
    "local",
    "make_solver",
    "named_settings",
    "on_ray",
    "read_settings",
    "rows",
    "run",
    "run_sweep",
    "summarize",
    "sweep",
]
