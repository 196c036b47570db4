"""Experiments: runs and sweeps as data, the files they leave, and figures.

settings.py        one run as a value, the table of settings, names -> settings
runs.py            settings -> solver -> rows -> files, from which a run goes on
sweeps.py          tables of settings, run by workers; algorithms on games with seeds,
                   as one call
plotting.py        result files -> figures; needs matplotlib, so it is imported apart
panels.py          experiments of many panels -> a sweep -> a summary -> figures; those
                   of the papers, and Table 1 of Lanctot et al. 2009

What users need of these files can be read from this package, see `_HOMES`. Only the
command line imports the last one.
"""

import importlib
from typing import Any

_HOMES = {
    "settings": ("Settings", "named_settings", "read_settings"),
    "runs": ("make_solver", "rows", "run"),
    "sweeps": ("local", "on_ray", "run_sweep"),
    "panels": ("Curve", "Experiment", "Panel", "summarize", "sweep"),
}
"""Where the public names of this package are defined. Each module is imported when one
of its names is first asked for, so that nothing here depends on the papers."""


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{home}"), name)
    try:
        return importlib.import_module(f"{__name__}.{name}")
    except ModuleNotFoundError:
        raise AttributeError(f"module {__name__!r} has no {name!r}") from None


def __dir__() -> list[str]:
    return sorted(name for names in _HOMES.values() for name in names)
