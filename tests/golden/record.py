"""`make golden`: record the golden runs anew. The diff of the files is what a reviewer reads."""

import json

import torch

from engine.lab import Lab
from tests.golden.runs import FOLDER, RUNS, golden, lines


def main() -> None:
    """Write one file a run."""
    torch.set_num_threads(1)
    lab = Lab.load("tiny", device="cpu")
    for name in RUNS:
        (FOLDER / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines(golden(lab, name))))


if __name__ == "__main__":
    main()
