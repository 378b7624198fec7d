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
from .machines import DeclaredMetadataOptions, MetadataOptions
from .placement import ProbeLabels


@frozen
class InstanceOptionsChange:
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
        endpoint_text = f", endpoint {'enabled' if self.endpoint else 'disabled'}"
        limits = f"hop limit {self.before.hop_limit} → {self.hop_limit}"
        return (
            f"{self.instance} ({self.node}): {limits}{'' if self.endpoint is self.before.endpoint else endpoint_text}"
        )


@frozen
class InstancesFix:
    """One API call for each instance."""

    each: tuple[InstanceOptionsChange, ...]

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(change.node for change in self.each)


@frozen
class LaunchTemplateFix:
    """A new version of the launch template `id`, based on its version `source`, and the update of the managed node
    group `group` to it. `version` and `release` are the current ones, so that the AMI stays; both are "" if the
    template names an AMI itself, because EKS then refuses them. `nodes` are those that the update replaces. `switch`:
    their endpoint is disabled, by the template or by the account's default, and becomes enabled. `to`: the existing
    version for a rollback, 0 if a new one is created."""

    group: str
    id: str
    source: int
    before: DeclaredMetadataOptions
    hop_limit: int
    version: str
    release: str
    nodes: tuple[str, ...]
    switch: bool = False
    to: int = 0

    @property
    def after(self) -> DeclaredMetadataOptions:
        """All metadata options of the new version, because they replace those of its source as a whole."""
        endpoint = True if self.switch or self.before.endpoint is False else self.before.endpoint
        return replace(self.before, hop_limit=self.hop_limit, endpoint=endpoint)


@frozen
class NodeClassFix:
    """A patch of the EC2NodeClass `name`; `before` or `hop_limit` None: the field is not set. `nodes` are those that
    drift afterwards. `switch`: its endpoint is disabled, and becomes enabled; `off`: it is enabled, and becomes
    disabled."""

    name: str
    before: int | None
    hop_limit: int | None
    nodes: tuple[str, ...]
    switch: bool = False
    off: bool = False


MetadataFix = InstancesFix | LaunchTemplateFix | NodeClassFix


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


class ImdsRequest(str, Enum):
    """The requests, in their order."""

    V1 = "v1"  # GET without a token, as in IMDSv1
    TOKEN = "token"  # PUT; the hop limit applies to its answer
    V2 = "v2"  # GET with the received token


class PodNetwork(str, Enum):
    """The network in which the probe runs."""

    OWN = "own"  # the pod's own, as for most pods
    HOST = "host"  # the host network of the node


@frozen
class ProbeStep:
    """One request. `exit`: curl's exit code; `code`: the HTTP status, 0 without an answer; times in milliseconds,
    `stood` is None if no connection was established."""

    ask: ImdsRequest
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

    def step(self, request: ImdsRequest) -> ProbeStep | None:
        return next((step for step in self.steps if step.ask is request), None)


@frozen
class ProbeReport:
    """The complete output of one probe."""

    v4: FamilyAnswer
    v6: FamilyAnswer

    def answer(self, family: AddressFamily) -> FamilyAnswer:
        return self.v4 if family is AddressFamily.V4 else self.v6


PROBE_LABEL = "eksdoc.io/imds-probe"
"""Label on every object that a probe creates, with the ID of the probe."""

CONTAINER = "probe"
"""The probe's container in its pods; other containers may be injected."""

PROBE_POD_LABELS = ProbeLabels(PROBE_LABEL, CONTAINER)

FIRST_LINE, LAST_LINE = "imds-probe 1", "end"
NO_CURL = "no curl"

_STEP = re.compile(r"(v4|v6) (v1|token|v2) (\d{1,3}) (\d{3}) (\d{1,6}\.\d{1,9}) (\d{1,6}\.\d{1,9})")
_INSTANCE = re.compile(r"(v4|v6) id (i-[0-9a-f]{1,32})")


def parse_report(log: str) -> ProbeReport | Unknown:
    """Parse the log of a probe. Other lines are ignored: a sidecar or a shell may print something, too."""
    lines = [line.strip() for line in log.splitlines()]
    if FIRST_LINE not in lines:
        return Unknown("its log does not begin as the probe's does: another program ran" if log else "its log is empty")
    lines = lines[lines.index(FIRST_LINE) :]
    if NO_CURL in lines:
        return Unknown("its image has no curl")
    if LAST_LINE not in lines:
        return Unknown("its log ends before the probe's end")
    lines = lines[: lines.index(LAST_LINE)]
    return ProbeReport(_family_answer(lines, AddressFamily.V4), _family_answer(lines, AddressFamily.V6))


def _family_answer(lines: list[str], family: AddressFamily) -> FamilyAnswer:
    steps = {step.ask: step for step in _steps(lines, family)}
    instance_ids = [match[2] for match in map(_INSTANCE.fullmatch, lines) if match and match[1] == family.value]
    return FamilyAnswer(
        tuple(steps[ask] for ask in ImdsRequest if ask in steps), instance_ids[-1] if instance_ids else ""
    )


def _steps(lines: list[str], family: AddressFamily) -> Iterator[ProbeStep]:
    for match in filter(None, map(_STEP.fullmatch, lines)):
        if match[1] == family.value:
            connect_ms, total_ms = float(match[5]) * 1000, float(match[6]) * 1000
            yield ProbeStep(ImdsRequest(match[2]), int(match[3]), int(match[4]), connect_ms or None, total_ms)


def format_log(report: ProbeReport) -> str:
    """The log in which a probe would print this report."""
    lines = [FIRST_LINE]
    for family in AddressFamily:
        answer = report.answer(family)
        for step in answer.steps:
            times = f"{(step.stood or 0) / 1000:.6f} {step.total / 1000:.6f}"
            lines.append(f"{family.value} {step.ask.value} {step.exit} {step.code:03d} {times}")
        if answer.instance:
            lines.append(f"{family.value} id {answer.instance}")
    return "\n".join([*lines, LAST_LINE, ""])
