"""Experiments: runs, sweeps and comparisons as data, their files, and figures.

| subject | modules |
|---|---|
| a run as a value | settings, setting_names, settings_files, setting_tables |
| algorithms, imports | algorithm_names, algorithm_parts, importing |
| runs and their files | run_solvers, runs, recording, run_folders |
| many runs, workers | sweeps, tasks, executors, comparing |
| figures (extra `plot`) | plotting, figure_styles, comparison_table |
| experiments of papers | panels, papers, lanctot_table |

The stub `__init__.pyi` lists the public names.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
