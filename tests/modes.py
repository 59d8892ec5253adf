"""Whether all files of a folder are as readable as its first: safetensors by itself makes files for their owner alone."""

import stat
from pathlib import Path


def alike(folder: Path) -> bool:
    """All files have one mode, whatever the umask is."""
    return len({stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}) == 1
