"""`python -m engine`: methods | run | compare | bench | calibrate | train | eval | export, and the commands of other
rooms."""

import sys

from engine.cli import main

if __name__ == "__main__":
    sys.exit(main())
