"""The instance metadata service: changes by which pods reach it, and what a probe of it prints, as data.

A change has what was there before. Tokens stay as they are: IMDSv1 is never allowed for the sake of a pod.
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
    `endpoint`: whether it is enabled then."""

    node: str
    instance: str
    before: MetadataOptions
    hop_limit: int
    endpoint: bool = True

    @property
    def after(self) -> MetadataOptions:
        """What it has then, once EC2 has applied it."""
        return replace(self.before, hop_limit=self.hop_limit, endpoint=self.endpoint, pending=False)

    def __str__(self) -> str:
        switched = f", endpoint {'enabled' if self.endpoint else 'disabled'}"
        limits = f"hop limit {self.before.hop_limit} → {self.hop_limit}"
        return f"{self.instance} ({self.node}): {limits}{'' if self.endpoint is self.before.endpoint else switched}"


@frozen
class OnInstances:
    """One call for each."""

    each: tuple[SetOptions, ...]

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(one.node for one in self.each)


@frozen
class OnTemplate:
    """A new version of the launch template `id`, built on its version `source`, and the update of the managed node
    group `group` to it. `version` and `release` are those of today, so that the AMI stays, both "" where the template
    names an AMI itself: EKS refuses them then. `nodes` are those that it replaces. `switch`: their endpoint is
    disabled, by the template or by the account's default, and becomes enabled. `to`: the version that the group goes
    back to, 0 where one is made."""

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
        """All that the new version says of it, as what it says replaces what its source says."""
        on = True if self.switch or self.before.endpoint is False else self.before.endpoint
        return replace(self.before, hop_limit=self.hop_limit, endpoint=on)


@frozen
class OnClass:
    """A patch of the EC2NodeClass `name`; `before` or `hop_limit` None: it says nothing of it. `nodes` are those that
    drift then. `switch`: its endpoint is disabled, and becomes enabled; `off`: it is enabled, and becomes disabled."""

    name: str
    before: int | None
    hop_limit: int | None
    nodes: tuple[str, ...]
    switch: bool = False
    off: bool = False


Act = OnInstances | OnTemplate | OnClass


# What a probe of the instance metadata service prints, and what is read of it.
#
# A line for each request that was made: the family of addresses, what was asked, curl's exit code, the code of the HTTP
# answer (000: none), and seconds until the connection stood and until the end (0.000000: it never stood)::
#
#     imds-probe 1
#     v4 v1 0 401 0.000312 0.001021
#     v4 token 28 000 0.000287 3.000671
#     v4 id i-0123456789abcdef0
#     end
#
# Without the last line it was cut off.


class AddressFamily(str, Enum):
    """Of the address: 169.254.169.254, and [fd00:ec2::254]."""

    V4 = "v4"
    V6 = "v6"


class Ask(str, Enum):
    """The requests, in their order."""

    V1 = "v1"  # GET without a token, as IMDSv1
    TOKEN = "token"  # PUT, of which the hop limit bounds the answer
    V2 = "v2"  # GET with the token that came


class Network(str, Enum):
    """In whose network the probe runs."""

    OWN = "own"  # of the pod, as most pods have it
    HOST = "host"  # of the node


@frozen
class ProbeStep:
    """One request. `exit`: curl's exit code; `code`: of the HTTP answer, 0 without one; times in milliseconds, `stood`
    is None where no connection came about."""

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
    """What one family of addresses answered; `instance`: the id that came, "" without one."""

    steps: tuple[ProbeStep, ...]
    instance: str = ""

    def of(self, ask: Ask) -> ProbeStep | None:
        return next((step for step in self.steps if step.ask is ask), None)


@frozen
class ProbeReport:
    """All that one probe printed."""

    v4: FamilyAnswer
    v6: FamilyAnswer

    def of(self, family: AddressFamily) -> FamilyAnswer:
        return self.v4 if family is AddressFamily.V4 else self.v6


PROBE_LABEL = "eksdoc.io/imds-probe"
"""On all that a probe makes: its id."""

CONTAINER = "probe"
"""Of a probe's pods; others in them are not ours."""

MARKS = ProbeLabels(PROBE_LABEL, CONTAINER)

FIRST, LAST = "imds-probe 1", "end"
NO_CURL = "no curl"

_STEP = re.compile(r"(v4|v6) (v1|token|v2) (\d{1,3}) (\d{3}) (\d{1,6}\.\d{1,9}) (\d{1,6}\.\d{1,9})")
_INSTANCE = re.compile(r"(v4|v6) id (i-[0-9a-f]{1,32})")


def report_in(log: str) -> ProbeReport | Unknown:
    """What a probe's log says. Lines that are none of the probe's own are passed over: a sidecar or a shell may say
    something, too."""
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
    """The log with which a probe says that."""
    lines = [FIRST]
    for family in AddressFamily:
        seen = report.of(family)
        for step in seen.steps:
            times = f"{(step.stood or 0) / 1000:.6f} {step.total / 1000:.6f}"
            lines.append(f"{family.value} {step.ask.value} {step.exit} {step.code:03d} {times}")
        if seen.instance:
            lines.append(f"{family.value} id {seen.instance}")
    return "\n".join([*lines, LAST, ""])
