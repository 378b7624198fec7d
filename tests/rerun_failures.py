"""Run the failed tests once more, alone and with rewritten assertions: ``python -m tests.rerun_failures [MOST]``.

Exits 0 if at most MOST (default: 0) failed before and all pass now. Long tests run processes, terminals and clocks in
parallel, several on each core; a test that fails there and passes alone is named, so that a developer checks it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

FAILED = Path(".pytest_cache/v/cache/lastfailed")


def main(most: int) -> int:
    try:
        failed = list(json.loads(FAILED.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return 1  # it was not a test that failed
    code = subprocess.call([sys.executable, "-m", "pytest", "-q", "--last-failed", "--last-failed-no-failures", "none"])
    if code or not 0 < len(failed) <= most:
        return 1
    print(f"Passed alone, and failed beside others: {', '.join(failed)}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 0))
