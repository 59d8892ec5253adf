"""python -m tests.lock: requirements.lock anew, every package with its hashes, without the builds of torch and what comes with it."""

import re
import subprocess
import sys
from pathlib import Path

LOCK = Path("requirements.lock")
HEAD = """# Exact versions with hashes of what requirements.txt asks for, but torch and what comes with it: the container takes the build
# of torch that suits its machine first. Made by `make lock`; installed by
#   pip install --no-deps --require-hashes -r requirements.lock
"""
OF_TORCH = re.compile(r"(torch|triton|nvidia-|cuda-)")
QUIET = ("-q", "--no-emit-index-url", "--no-emit-find-links", "--no-header", "--no-annotate")


def main() -> int:
    """Resolve for all platforms and write."""
    command = [str(Path(sys.executable).with_name("uv")), "pip", "compile", "--universal", "--python-version", "3.11"]
    done = subprocess.run(
        [*command, "--generate-hashes", *QUIET, "requirements.txt"], check=True, capture_output=True, text=True
    )
    LOCK.write_text(HEAD + without_torch(done.stdout), encoding="utf-8")
    return 0


def without_torch(text: str) -> str:
    """The entries of a lock, each a line with its lines of hashes, but for those that come with torch."""
    entries = re.split(r"(?m)^(?=\S)", text)
    return "".join(entry for entry in entries if not OF_TORCH.match(entry))


if __name__ == "__main__":
    raise SystemExit(main())
