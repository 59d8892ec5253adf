"""Entry for a Hugging Face Space (`app_file: app/space.py`): the file is run by path and `spaces` must come first."""

import importlib.util
import os
import runpy
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
# ZeroGPU emulates CUDA in the main thread only, and transformers would load weights in others.
os.environ.setdefault("HF_DEACTIVATE_ASYNC_LOAD", "1")
if importlib.util.find_spec("spaces"):
    importlib.import_module("spaces")
sys.argv += ["--public"]
runpy.run_module("app", run_name="__main__")
