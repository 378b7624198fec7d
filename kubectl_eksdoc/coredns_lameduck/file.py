"""A Corefile alone, without a cluster: whether a version of CoreDNS takes it, and how it would end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kubectl_eksdoc.coredns_lameduck.shutdown import CLOSING_S, DEFAULT_GRACE_S, FASTEST_S, Shutdown, arithmetic, budget
from kubectl_eksdoc.kubernetes.corefile.parser import parse
from kubectl_eksdoc.kubernetes.corefile.plugins import JudgedCorefile, addresses, judged, lameduck_s
from kubectl_eksdoc.model.codes import Code
from kubectl_eksdoc.model.coredns import Corefile, CorefileRefusal
from kubectl_eksdoc.model.findings import Finding, Remedy, Severity, Status, Subject
from kubectl_eksdoc.model.versions import Version

FILE = "File"


@dataclass(frozen=True, slots=True)
class CorefileRead:
    """`health` and `ready`: addresses, one for each block that has the plugin. `lameduck_s` is None where the text does
    not tell it."""

    path: str
    version: Version
    judged: JudgedCorefile
    lameduck_s: float | None
    health: tuple[str, ...]
    ready: tuple[str, ...]
    findings: tuple[Finding, ...]

    @property
    def shutdown_s(self) -> float | None:
        """From SIGTERM to the end, at most."""
        return None if self.lameduck_s is None else self.lameduck_s + CLOSING_S


def read_corefile(text: str, path: str, version: Version) -> CorefileRead:
    corefile = parse(text)
    found = judged(corefile, version)
    if isinstance(corefile, CorefileRefusal):
        return CorefileRead(path, version, found, None, (), (), tuple(_refused(path, version, found)))
    length = None if corefile.files else lameduck_s(corefile)
    return CorefileRead(
        path,
        version,
        found,
        length,
        addresses(corefile, "health", ":8080"),
        addresses(corefile, "ready", ":8181"),
        (*_refused(path, version, found), *_ending(path, corefile, length, found)),
    )


def _refused(path: str, version: Version, found: JudgedCorefile) -> Iterator[Finding]:
    """Each refusal is a finding, so that each has its line; CoreDNS stops at the first."""
    for each in found.refusals:
        yield Finding.of(
            "dns-corefile-refused/by-version",
            Subject(FILE, path),
            (f"{path}:{max(each.line, 1)} {each.said}",),
            version=version,
            each=each,
        )
    if found.doubts and not found.refusals:
        yield Finding.of(
            "dns-corefile-unknown", Subject(FILE, path), found.doubts[1:], version=version, doubts=found.doubts[0]
        )


def _ending(path: str, corefile: Corefile, length: float | None, found: JudgedCorefile) -> Iterator[Finding]:
    if found.refusals:
        return
    health = next((each for block in corefile.servers for each in block.named("health")), None)
    at = (f"{path}:{health.line if health is not None else 1} lameduck",)
    if length is None:
        yield Finding.of("dns-lameduck-unknown/ending", Subject(FILE, path), at)
        return
    allowed = budget(Shutdown(DEFAULT_GRACE_S, lameduck_s=length), 0)
    if allowed.too_short:
        message = f"lameduck is less than {FASTEST_S} s: CoreDNS stops answering before any node sends elsewhere"
        code, severity = Code.of("dns-lameduck-short"), Severity.HIGH
    elif allowed.too_long:
        message = f"lameduck does not fit what EKS gives CoreDNS: {arithmetic(length, allowed.shutdown)}"
        code, severity = Code.of("dns-lameduck-long"), Severity.HIGH
    elif allowed.tight:
        message = f"lameduck breaks the margin until SIGKILL: {arithmetic(length, allowed.shutdown)}"
        code, severity = Code.of("dns-lameduck-long"), Severity.MEDIUM
    else:
        return
    remedy = (Remedy(f"Write lameduck {allowed.advised_s}s, in health of the first server block."),)
    yield Finding(code, severity, Status.FAIL, Subject(FILE, path), message, at, remedy)
