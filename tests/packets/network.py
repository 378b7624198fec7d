"""An EC2 node in network namespaces of this machine: real packets, routed by the kernel, with a real TTL.

::

    service ── node ── router ── … ── pod

`service` has both addresses of the metadata service, and a program that serves there; `node` and every router forward.
A usual pod is connected to the node itself; with `routers` there are more hops between.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType

from kubectl_eksdoc.imds_probe.probe_result import SCRIPT
from kubectl_eksdoc.model.machines import MetadataOptions
from kubectl_eksdoc.model.metadata import ProbeReport, parse_report
from tests.packets.stand_in import V4, V6

PREFIX = "eksdoc"
_STAND_IN = Path(__file__).with_name("stand_in.py")
_numbers = itertools.count()
_FORWARDS = ("ipv4/ip_forward+", "ipv6/conf/all/forwarding+")
_AT_ONCE = ("ipv6/conf/default/accept_dad", "ipv6/conf/default/dad_transmits")
"""A link's IPv6 addresses hold at once: nobody else on it could have the same."""


def ip(*words: str) -> str:
    """Run ip(8). Raises CalledProcessError, with the message of ip(8)."""
    ran = subprocess.run(["ip", *words], capture_output=True, text=True)
    if ran.returncode:
        raise AssertionError(f"ip {' '.join(words)}: {ran.stderr.strip()}")
    return ran.stdout


def why_not() -> str:
    """The reason why no namespaces can be created here, "" if they can. Tried several times: the first ones on a
    machine conflict with those of another worker."""
    for _ in range(5):
        why = _tried()
        if not why:
            return ""
        time.sleep(0.1)
    return why


def _tried() -> str:
    name = f"{PREFIX}-{os.getpid()}-trial"
    uses = "test -d /proc/sys/net/ipv6 && echo 1 >/proc/sys/net/ipv4/ip_forward"
    for words in (["add", name], ["exec", name, "sh", "-ec", uses]):
        ran = subprocess.run(["ip", "netns", *words], capture_output=True, text=True)
        if ran.returncode:
            break
    subprocess.run(["ip", "netns", "del", name], capture_output=True)
    return (ran.stderr.strip() or f"ip netns {words[0]} fails") if ran.returncode else ""


def sweep() -> None:
    """Remove namespaces of test processes that were killed."""
    for line in ip("netns", "list").splitlines():
        name = line.split()[0]
        parts = name.split("-")
        if parts[0] == PREFIX and len(parts) > 2 and parts[1].isdecimal() and not Path(f"/proc/{parts[1]}").exists():
            with suppress(AssertionError):
                _remove(name)


def _remove(name: str) -> None:
    ip("netns", "del", name)


class Network:
    """Mutable: created when the block is entered, and removed completely when it is left, whatever happens between."""

    def __init__(self, options: MetadataOptions, routers: int = 0) -> None:
        self._options = options
        self._prefix = f"{PREFIX}-{os.getpid()}-{next(_numbers)}"
        self._routers = [f"r{number}" for number in range(routers)]
        self._stack = ExitStack()

    def __enter__(self) -> Network:
        with self._stack:
            self._make()
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stack.close()

    def space(self, name: str) -> str:
        """The namespace of this name: its full name is unique to this process."""
        return f"{self._prefix}-{name}"

    def run(self, name: str, *words: str) -> None:
        """Run ip(8) within a namespace."""
        ip("-n", self.space(name), *words)

    def probe(self) -> tuple[ProbeReport, ProbeReport]:
        """The output of the probe's script in the pod's namespace and in the node's, at the same time."""
        begun = [self._begun(name) for name in ("pod", "node")]
        own, host = (_report(process) for process in begun)
        return own, host

    def _begun(self, name: str) -> subprocess.Popen[str]:
        command = ["ip", "netns", "exec", self.space(name), "sh", "-c", SCRIPT]
        plain = {"PATH": os.environ.get("PATH", os.defpath), "SETTLE_S": "0"}
        process = subprocess.Popen(command, env=plain, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self._stack.callback(_end, process)
        return process

    def _make(self) -> None:
        for name in ("service", "node", *self._routers, "pod"):
            ip("netns", "add", self.space(name))
            self._stack.callback(_remove, self.space(name))
            self._settings(name, *_AT_ONCE)
            self.run(name, "link", "set", "lo", "up")
        ways = ["service", "node", *self._routers, "pod"]
        for name in ways[1:-1]:
            self._settings(name, *_FORWARDS)
        for number, (upper, lower) in enumerate(itertools.pairwise(ways)):
            self._link(number, upper, lower)
        self._routes(ways)
        self._serve()

    def _settings(self, name: str, *settings: str) -> None:
        """Set each to 1 if it ends with +, else to 0."""
        script = "; ".join(f"echo {int(each[-1] == '+')} >/proc/sys/net/{each.rstrip('+')}" for each in settings)
        done = subprocess.run(["ip", "netns", "exec", self.space(name), "sh", "-ec", script], capture_output=True)
        assert done.returncode == 0, done.stderr

    def _link(self, number: int, upper: str, lower: str) -> None:
        """On the side of the service, `upper` is .1; each end is named after its peer."""
        ends = ("name", f"to-{lower}", "netns", self.space(upper)), ("name", f"to-{upper}", "netns", self.space(lower))
        ip("link", "add", *ends[0], "type", "veth", "peer", *ends[1])
        for name, device, host in ((upper, f"to-{lower}", 1), (lower, f"to-{upper}", 2)):
            self.run(name, "address", "add", f"10.99.{number}.{host}/24", "dev", device)
            self.run(name, "address", "add", f"fd99:{number}::{host}/64", "dev", device, "nodad")
            self.run(name, "link", "set", device, "up")

    def _routes(self, ways: Sequence[str]) -> None:
        self.run("service", "address", "add", f"{V4}/32", "dev", "lo")
        self.run("service", "address", "add", f"{V6}/128", "dev", "lo", "nodad")
        for number, name in enumerate(ways):
            if number > 0:
                self.run(name, "route", "add", "default", "via", f"10.99.{number - 1}.1")
                self.run(name, "route", "add", "default", "via", f"fd99:{number - 1}::1")
            for further in range(number + 1, len(ways) - 1):
                self.run(name, "route", "add", f"10.99.{further}.0/24", "via", f"10.99.{number}.2")
                self.run(name, "route", "add", f"fd99:{further}::/64", "via", f"fd99:{number}::2")

    def _serve(self) -> None:
        options = self._options
        endpoint = "enabled" if options.endpoint else "disabled"
        command = [sys.executable, str(_STAND_IN), options.tokens, str(options.hop_limit), endpoint]
        process = subprocess.Popen(
            ["ip", "netns", "exec", self.space("service"), *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._stack.callback(_end, process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n", "the stand-in did not come up"


def _end(process: subprocess.Popen[str]) -> None:
    """End a process and wait for it: a namespace with a running process stays after its name is removed."""
    process.kill()
    process.communicate()


def _report(process: subprocess.Popen[str]) -> ProbeReport:
    out, err = process.communicate(timeout=60)
    report = parse_report(out)
    assert isinstance(report, ProbeReport), (report, out, err)
    return report
