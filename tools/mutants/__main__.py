"""The command line: ``python -m tools.mutants``."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tools.mutants.planting import BESIDE, PURE, ROOT, Mutant, copied, drawn
from tools.mutants.running import Reached, Server


def run(sample: Path, reach: Path, results: Path, jobs: int, limit: float, root: Path, near: bool) -> int:
    """Judge the mutants that are not judged yet; each process appends to a file of its own in `results`."""
    results.mkdir(parents=True, exist_ok=True)
    mutants = read_sample(sample)
    done = {
        number for number, row in read_results(results).items() if row["run"] == row["tests"] or limit <= row["limit"]
    }
    done |= {number for number, row in read_results(results).items() if row["result"] == "killed"}
    left = [mutant for mutant in mutants if mutant.number not in done]
    with tempfile.TemporaryDirectory(prefix="eksdoc-mutants-") as folder:
        tree = Path(folder)
        copied(mutants, tree, root)
        # `root` may be older than these tools.
        shutil.copy2(ROOT / "tools" / "quick.py", tree / "tools")
        shutil.copytree(Path(__file__).parent, tree / "tools" / "mutants", dirs_exist_ok=True)
        env = {**os.environ, "PYTHONPATH": folder, "EKSDOC_MUTANT": "0"}
        shares = [[str(mutant.number) for mutant in left[at::jobs]] for at in range(jobs)]
        where = [str(path.resolve()) for path in (sample, reach)]
        serving = [
            subprocess.Popen(
                [sys.executable, "-m", "tools.mutants", "serve", *where]
                + [str((results / f"{at}.jsonl").resolve()), str(limit), ",".join(share)]
                + ["--quick"] * near,
                cwd=tree,
                env=env,
            )
            for at, share in enumerate(shares)
            if share
        ]
        return max((server.wait() for server in serving), default=0)


def serve(sample: Path, reach: Path, result: Path, limit: float, numbers: frozenset[int], near: bool) -> int:
    mutants = [mutant for mutant in read_sample(sample) if mutant.number in numbers]
    plugin = Server(mutants, Reached.read(reach), result, limit, near)
    return int(pytest.main(["-q", "-m", "not long", "-p", "no:cacheprovider"], plugins=[plugin]))


def read_sample(path: Path) -> tuple[Mutant, ...]:
    return tuple(Mutant(**row) for row in json.loads(path.read_text(encoding="utf-8")))


def read_results(folder: Path) -> dict[int, dict[str, Any]]:
    rows = [json.loads(line) for path in sorted(folder.glob("*.jsonl")) for line in path.read_text().splitlines()]
    return {row["number"]: row for row in sorted(rows, key=lambda row: (row["result"] == "killed", row["run"]))}


def report(sample: Path, results: Path) -> int:
    rows = read_results(results)
    counts = Counter(row["result"] for row in rows.values())
    print(", ".join(f"{count} {result}" for result, count in sorted(counts.items())), "of", len(read_sample(sample)))
    for mutant in read_sample(sample):
        row = rows.get(mutant.number)
        if row is None or row["result"] != "killed":
            of = "not run yet" if row is None else f"{row['result']}, {row['run']} of {row['tests']} tests run"
            print(f"{mutant.number}: {mutant.file}:{mutant.line} {mutant.kind} -> {mutant.new or 'left out'} ({of})")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Measures the tests by mutants")
    commands = parser.add_subparsers(dest="command", required=True)
    sampling = commands.add_parser("sample")
    sampling.add_argument("files", nargs="*", type=Path, help=f"default: all of {', '.join(PURE)}")
    sampling.add_argument("--count", type=int, default=160)
    sampling.add_argument("--seed", type=int, default=1)
    sampling.add_argument("--to", type=Path, required=True)
    running = commands.add_parser("run")
    serving = commands.add_parser("serve")
    reporting = commands.add_parser("report")
    for one in (running, serving, reporting):
        one.add_argument("sample", type=Path)
    for one in (running, serving):
        one.add_argument("reach", type=Path)
        one.add_argument("--quick", action="store_true", help="only the tests of make quick")
    for one in (running, serving, reporting):
        one.add_argument("results", type=Path)
    running.add_argument("--jobs", type=int, default=2)
    running.add_argument("--limit", type=float, default=1e9, help="seconds of tests for one mutant")
    running.add_argument("--root", type=Path, default=ROOT, help="the checkout whose tests are measured")
    serving.add_argument("limit", type=float)
    serving.add_argument("numbers")
    args = parser.parse_args()
    if args.command == "sample":
        files = [path.resolve() for path in args.files] or sorted(
            path
            for folder in PURE
            for path in (ROOT / folder).rglob("*.py")
            if not BESIDE.intersection(path.relative_to(ROOT).with_suffix("").parts)
        )
        chosen = drawn(files, args.count, args.seed)
        if len(chosen) < args.count:
            print(f"only {len(chosen)} places in {len(files)} files", file=sys.stderr)
        args.to.parent.mkdir(parents=True, exist_ok=True)
        args.to.write_text(json.dumps([asdict(mutant) for mutant in chosen], indent=1), encoding="utf-8")
        return 0
    if args.command == "run":
        return run(args.sample, args.reach, args.results, args.jobs, args.limit, args.root.resolve(), args.quick)
    if args.command == "serve":
        numbers = frozenset(int(number) for number in args.numbers.split(","))
        return serve(args.sample, args.reach, args.results, args.limit, numbers, args.quick)
    return report(args.sample, args.results)


if __name__ == "__main__":
    sys.exit(main())
