"""python -m tests.vectors write: the files that the engine and the page are both checked against."""

import json
import sys

from tests.vectors import compute, path, subjects


def main(arguments: list[str]) -> int:
    if arguments != ["write"]:
        sys.stderr.write("usage: python -m tests.vectors write\n")
        return 2
    for subject in subjects():
        path(subject).write_text(json.dumps(compute(subject), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        sys.stdout.write(f"{path(subject)}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
