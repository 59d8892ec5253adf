"""Speculative decoding as data: models, methods, traces and tasks."""

import os

# Waiting threads of torch sleep instead of spinning (engine/model/threads.py). OpenMP reads this when torch
# is imported, so it stands here; what the user has set stays.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("KMP_BLOCKTIME", "0")
