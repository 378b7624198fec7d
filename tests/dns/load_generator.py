"""The packed load generator as a separate process, isolated from installed packages, and its output."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kubectl_eksdoc.host.dns_load_archive import packed
from tests.dns.responder_processes import LONGEST_S, until

QUESTION = "kubernetes.default.svc.cluster.local."
Targets = Mapping[str, tuple[str, int]]


def plan(targets: Targets, **wanted: Any) -> str:
    made = [{"name": name, "address": address, "port": port} for name, (address, port) in targets.items()]
    usual = {"rate": 25, "seconds": 60, "timeout": 1.5, "late": 0.5, "question": QUESTION, "transports": ["udp", "tcp"]}
    return json.dumps({**usual, "targets": made, **wanted})


class Asking:
    """`lines`: the lines printed so far, each an object. Mutable: another thread reads them."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[dict[str, Any]] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(json.loads(line))

    def end(self) -> None:
        """Stop asking; open questions get their time to be answered."""
        self.process.send_signal(signal.SIGTERM)
        self.over()

    def over(self) -> None:
        self.process.wait(LONGEST_S)
        self._reader.join(LONGEST_S)
        assert not self._reader.is_alive()

    def sums(self) -> dict[tuple[str, str], Counter[str]]:
        """The sums by target and transport, from the seconds; the last line must have the same sums."""
        found: dict[tuple[str, str], Counter[str]] = {}
        for line in self.lines:
            if "t" in line:
                found.setdefault((line["to"], line["by"]), Counter()).update(_numbers(line))
        last = self.lines[-1]
        assert {(each["to"], each["by"]): _numbers(each) for each in last["sum"] if _numbers(each)} == found
        for each in found.values():
            ends = ("answered", "late", "lost", "refused", "failed", "unsure")
            assert each["sent"] == sum(each[name] for name in ends)
        return found

    def of(self, target: str) -> Counter[str]:
        """The sum over both transports."""
        return sum((each for (to, _), each in self.sums().items() if to == target), Counter())


def _numbers(line: Mapping[str, Any]) -> Counter[str]:
    return Counter({name: value for name, value in line.items() if isinstance(value, int) and name != "t" and value})


@contextmanager
def asking(folder: Path, text: str, *flags: str) -> Iterator[Asking]:
    """Run the load generator; it has started when the block is entered."""
    file = folder / f"dns-load-{time.monotonic_ns()}.pyz"
    file.write_bytes(packed())
    argv: Sequence[str] = [sys.executable, "-I", "-S", "-B", *flags, str(file), "--plan", text]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=folder) as process:
        asked = Asking(process)
        try:
            until(lambda: bool(asked.lines), "it never began")
            yield asked
        finally:
            process.kill()
