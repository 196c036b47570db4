"""Experiments: runs and sweeps as data, the files they leave, and figures.

settings.py        one run as a value, the table of settings, names -> settings
runs.py            settings -> solver -> rows -> files, from which a run goes on
sweeps.py          tables of settings, run by workers; algorithms on games with seeds,
                   as one call
plotting.py        result files -> figures; needs matplotlib, so it is imported apart
panels.py          experiments of many panels -> a sweep -> a summary -> figures; those
                   of the papers, and Table 1 of Lanctot et al. 2009

What users need of these files is in the stub `__init__.pyi`. Only the command line
imports the last one.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
