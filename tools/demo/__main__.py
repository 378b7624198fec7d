"""Writes the snapshot of the built-in cluster (`kubectl_eksdoc/embedded/demo/data`), or with --check says what of it is
stale.

    python -m tools.demo [--check]
"""

from __future__ import annotations

import sys

from tools.demo.writing import DATA, files


def main(argv: list[str]) -> int:
    made = files()
    held = {path for path in DATA.rglob("*.json") if path.parent.name != "schemas"}
    stale = sorted(
        {path for path, text in made.items() if not path.exists() or path.read_text(encoding="utf-8") != text}
        | (held - made.keys())
    )
    names = ", ".join(path.relative_to(DATA).as_posix() for path in stale)
    if "--check" in argv:
        if stale:
            print(f"error: the demo's snapshot is stale: {names}; run make docs", file=sys.stderr)
        return 1 if stale else 0
    for path in stale:
        if path not in made:
            path.unlink()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(made[path], encoding="utf-8")
    print(f"written: {names}" if stale else "the demo's snapshot is as it was")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
