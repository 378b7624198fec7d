"""Write the snapshot of the built-in cluster (`kubectl_eksdoc/embedded/demo/data`), or with --check list its stale
files.

python -m tools.demo [--check]
"""

from __future__ import annotations

import sys

from tools.demo.writing import DATA, files, stale, write


def main(argv: list[str]) -> int:
    made = files(DATA)
    changed = stale(made, DATA)
    names = ", ".join(path.relative_to(DATA).as_posix() for path in changed)
    if "--check" in argv:
        if changed:
            print(f"error: the demo's snapshot is stale: {names}; run make docs", file=sys.stderr)
        return 1 if changed else 0
    write(made, changed)
    print(f"written: {names}" if changed else "nothing to write")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
