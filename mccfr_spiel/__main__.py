"""`python -m mccfr_spiel` is the program `mccfr-spiel`."""

import sys

from mccfr_spiel.command_line.entry import main

if __name__ == "__main__":  # the processes of a comparison import this file, too
    sys.exit(main())
