"""Run kubectl as a user does: arguments, its own kubeconfig and home, and its output."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.fakes import kubeconfigs


def at_once(*deeds: Callable[[], object]) -> None:
    """Run all of them in parallel threads, because kubectl mostly waits. Failures are reported after all have ended."""
    with ThreadPoolExecutor(len(deeds)) as pool:
        failed = [error for done in [pool.submit(deed) for deed in deeds] if (error := done.exception())]
    assert not failed, "\n".join(map(repr, failed))


class Ran(NamedTuple):
    code: int
    out: str
    err: str


class Kubectl:
    """`kubectl("get", "nodes")` returns the output and requires success; `ran` returns the whole result."""

    def __init__(self, program: str, folder: Path, server: str, **cluster: str) -> None:
        """`cluster`: additional fields of the cluster in the kubeconfig."""
        self._program = program
        self._kubeconfig = kubeconfigs.one(folder / "config", server, **cluster)
        self._environ = {
            "HOME": str(folder / "home"),
            "KUBECACHEDIR": str(folder / "cache"),
            "KUBECONFIG": self._kubeconfig,
            "PATH": os.environ.get("PATH", os.defpath),
        }

    def __call__(self, *words: str, given: str = "") -> str:
        ran = self.ran(*words, given=given)
        assert ran.code == 0, f"kubectl {' '.join(words)} ended with {ran.code}:\n{ran.out}{ran.err}"
        return ran.out

    def ran(self, *words: str, given: str = "") -> Ran:
        done = subprocess.run(
            [self._program, *words], input=given, env=self._environ, capture_output=True, text=True, timeout=60
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def refused(self, *words: str, given: str = "") -> str:
        """Its error message; the command must fail."""
        ran = self.ran(*words, given=given)
        assert ran.code != 0, f"kubectl {' '.join(words)} should fail:\n{ran.out}{ran.err}"
        return ran.err

    def json(self, *words: str) -> Any:
        return json.loads(self(*words, "-o", "json"))

    @contextmanager
    def going(self, *words: str) -> Iterator[subprocess.Popen[str]]:
        """A command that keeps running until the block ends, such as ``get -w``."""
        with subprocess.Popen(
            [self._program, *words], env=self._environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            try:
                yield process
            finally:
                process.kill()
