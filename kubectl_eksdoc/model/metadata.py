"""Instance metadata service (IMDS): changes of its options that let pods reach it, and the output of a probe.

A change contains the state before it. Token settings are never changed: IMDSv1 is never enabled for a pod.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from enum import Enum

from kubectl_eksdoc.frozen import frozen

from .kinds import Unknown
from .machines import MetadataOptions, SaidOptions
from .placing import ProbeLabels


@frozen
class SetOptions:
    """ModifyInstanceMetadataOptions of the running `instance` behind `node`: nothing is replaced or restarted.
    `endpoint`: whether it is enabled afterwards."""

    node: str
    instance: str
    before: MetadataOptions
    hop_limit: int
    endpoint: bool = True

    @property
    def after(self) -> MetadataOptions:
        """The options after EC2 has applied the change."""
        return replace(self.before, hop_limit=self.hop_limit, endpoint=self.endpoint, pending=False)

    def __str__(self) -> str:
        switched = f", endpoint {'enabled' if self.endpoint else 'disabled'}"
        limits = f"hop limit {self.before.hop_limit} → {self.hop_limit}"
        return f"{self.instance} ({self.node}): {limits}{'' if self.endpoint is self.before.endpoint else switched}"


@frozen
class OnInstances:
    """One API call for each instance."""

    each: tuple[SetOptions, ...]

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(one.node for one in self.each)


@frozen
class OnTemplate:
    """A new version of the launch template `id`, based on its version `source`, and the update of the managed node
    group `group` to it. `version` and `release` are the current ones, so that the AMI stays; both are "" if the
    template names an AMI itself, because EKS then refuses them. `nodes` are those that the update replaces. `switch`:
    their endpoint is disabled, by the template or by the account's default, and becomes enabled. `to`: the existing
    version for a rollback, 0 if a new one is created."""

    group: str
    id: str
    source: int
    before: SaidOptions
    hop_limit: int
    version: str
    release: str
    nodes: tuple[str, ...]
    switch: bool = False
    to: int = 0

    @property
    def after(self) -> SaidOptions:
        """All metadata options of the new version, because they replace those of its source as a whole."""
        on = True if self.switch or self.before.endpoint is False else self.before.endpoint
        return replace(self.before, hop_limit=self.hop_limit, endpoint=on)


@frozen
class OnClass:
    """A patch of the EC2NodeClass `name`; `before` or `hop_limit` None: the field is not set. `nodes` are those that
    drift afterwards. `switch`: its endpoint is disabled, and becomes enabled; `off`: it is enabled, and becomes
    disabled."""

    name: str
    before: int | None
    hop_limit: int | None
    nodes: tuple[str, ...]
    switch: bool = False
    off: bool = False


Act = OnInstances | OnTemplate | OnClass


# The output of an IMDS probe, and its parser.
#
# One line for each request: the address family, the kind of request, curl's exit code, the HTTP status (000: none), and
# seconds until the connection was established and until the end (0.000000: never established)::
#
#     imds-probe 1
#     v4 v1 0 401 0.000312 0.001021
#     v4 token 28 000 0.000287 3.000671
#     v4 id i-0123456789abcdef0
#     end
#
# Without the last line the output is truncated.


class AddressFamily(str, Enum):
    """The family of the address: 169.254.169.254, and [fd00:ec2::254]."""

    V4 = "v4"
    V6 = "v6"


class Ask(str, Enum):
    """The requests, in their order."""

    V1 = "v1"  # GET without a token, as in IMDSv1
    TOKEN = "token"  # PUT; the hop limit applies to its answer
    V2 = "v2"  # GET with the received token


class Network(str, Enum):
    """The network in which the probe runs."""

    OWN = "own"  # the pod's own, as for most pods
    HOST = "host"  # the host network of the node


@frozen
class ProbeStep:
    """One request. `exit`: curl's exit code; `code`: the HTTP status, 0 without an answer; times in milliseconds,
    `stood` is None if no connection was established."""

    ask: Ask
    exit: int
    code: int
    stood: float | None
    total: float

    @property
    def answered(self) -> bool:
        return self.code > 0

    @property
    def connected(self) -> bool:
        return self.stood is not None or self.answered


@frozen
class FamilyAnswer:
    """The answers of one address family; `instance`: the instance ID received, "" without one."""

    steps: tuple[ProbeStep, ...]
    instance: str = ""

    def of(self, ask: Ask) -> ProbeStep | None:
        return next((step for step in self.steps if step.ask is ask), None)


@frozen
class ProbeReport:
    """The complete output of one probe."""

    v4: FamilyAnswer
    v6: FamilyAnswer

    def of(self, family: AddressFamily) -> FamilyAnswer:
        return self.v4 if family is AddressFamily.V4 else self.v6


PROBE_LABEL = "eksdoc.io/imds-probe"
"""Label on every object that a probe creates, with the ID of the probe."""

CONTAINER = "probe"
"""The probe's container in its pods; other containers may be injected."""

MARKS = ProbeLabels(PROBE_LABEL, CONTAINER)

FIRST, LAST = "imds-probe 1", "end"
NO_CURL = "no curl"

_STEP = re.compile(r"(v4|v6) (v1|token|v2) (\d{1,3}) (\d{3}) (\d{1,6}\.\d{1,9}) (\d{1,6}\.\d{1,9})")
_INSTANCE = re.compile(r"(v4|v6) id (i-[0-9a-f]{1,32})")


def report_in(log: str) -> ProbeReport | Unknown:
    """Parse the log of a probe. Other lines are ignored: a sidecar or a shell may print something, too."""
    lines = [line.strip() for line in log.splitlines()]
    if FIRST not in lines:
        return Unknown("its log does not begin as the probe's does: another program ran" if log else "its log is empty")
    lines = lines[lines.index(FIRST) :]
    if NO_CURL in lines:
        return Unknown("its image has no curl")
    if LAST not in lines:
        return Unknown("its log ends before the probe's end")
    lines = lines[: lines.index(LAST)]
    return ProbeReport(_seen(lines, AddressFamily.V4), _seen(lines, AddressFamily.V6))


def _seen(lines: list[str], family: AddressFamily) -> FamilyAnswer:
    steps = {step.ask: step for step in _steps(lines, family)}
    named = [found[2] for found in map(_INSTANCE.fullmatch, lines) if found and found[1] == family.value]
    return FamilyAnswer(tuple(steps[ask] for ask in Ask if ask in steps), named[-1] if named else "")


def _steps(lines: list[str], family: AddressFamily) -> Iterator[ProbeStep]:
    for found in filter(None, map(_STEP.fullmatch, lines)):
        if found[1] == family.value:
            stood_ms, total_ms = float(found[5]) * 1000, float(found[6]) * 1000
            yield ProbeStep(Ask(found[2]), int(found[3]), int(found[4]), stood_ms or None, total_ms)


def log_of(report: ProbeReport) -> str:
    """The log in which a probe would print this report."""
    lines = [FIRST]
    for family in AddressFamily:
        seen = report.of(family)
        for step in seen.steps:
            times = f"{(step.stood or 0) / 1000:.6f} {step.total / 1000:.6f}"
            lines.append(f"{family.value} {step.ask.value} {step.exit} {step.code:03d} {times}")
        if seen.instance:
            lines.append(f"{family.value} id {seen.instance}")
    return "\n".join([*lines, LAST, ""])
