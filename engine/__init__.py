"""Speculative decoding as data: models, methods, traces and tasks."""

import os

__version__ = "0.1.0"  # the only place; the wheel, --version and the page read it

# Waiting threads of torch spin for some microseconds, then sleep: long enough for the gaps within a pass, and gone when
# another process wants the core (engine/model/threads.py). OpenMP reads this when torch is imported, so it stands here;
# a user's own policy stays.
if not {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"} & os.environ.keys():
    os.environ.update(GOMP_SPINCOUNT="10000", KMP_BLOCKTIME="1")
