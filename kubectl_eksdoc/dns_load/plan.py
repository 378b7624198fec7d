"""What is to be asked: the plan that the program is given, a JSON object.

``{"targets": [{"name": "service-v4", "address": "172.20.0.10", "port": 53, "kept": true}], "transports": ["udp",
"tcp"], "rate": 10, "seconds": 60, "timeout": 5, "late": 1, "question": "kubernetes.default.svc.cluster.local."}``: so
many questions a second to each target over each transport; `kept`: also over one UDP socket that is kept. What came
after `late` seconds is late; what did not come within `timeout` is lost (resolv.conf(5): 5 s, then a client asks again
or somebody else).
"""

from __future__ import annotations

import ipaddress
import json
from dataclasses import dataclass
from typing import Any

UDP, TCP, KEPT = "udp", "tcp", "udp-kept"
MOST_A_SECOND = 2000
"""Of all streams together: more is no measurement, it is a flood."""


class BadPlan(ValueError):
    """The plan cannot be carried out; the message says why."""


@dataclass(frozen=True, slots=True)
class QueryStream:
    """One target over one transport."""

    target: str
    transport: str
    address: str
    port: int

    @property
    def v6(self) -> bool:
        return ":" in self.address


@dataclass(frozen=True, slots=True)
class LoadSettings:
    """Seconds, and questions a second in each stream."""

    streams: tuple[QueryStream, ...]
    rate: float
    seconds: float
    timeout: float
    late: float
    question: str


def read(text: str) -> LoadSettings:
    """
    Raises:
        BadPlan: it is no plan, or asks for what cannot be.
    """
    try:
        found = json.loads(text)
        streams = tuple(_streams(found))
        asked = LoadSettings(
            streams,
            float(found["rate"]),
            float(found["seconds"]),
            float(found.get("timeout", 5)),
            float(found.get("late", 1)),
            str(found["question"]),
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise BadPlan(f"the plan cannot be read: {type(error).__name__}: {error}") from error
    if not streams:
        raise BadPlan("the plan names no server to query")
    if len(set(streams)) < len(streams):
        raise BadPlan("the plan names a server twice")
    if min(asked.rate, asked.seconds, asked.timeout, asked.late) <= 0:
        raise BadPlan("rate, seconds, timeout and late must be more than 0")
    if asked.rate * len(streams) > MOST_A_SECOND:
        raise BadPlan(f"{asked.rate * len(streams):g} questions a second are more than {MOST_A_SECOND}")
    return asked


def _streams(plan: dict[str, Any]) -> list[QueryStream]:
    transports = plan["transports"]
    if set(transports) - {UDP, TCP}:
        raise ValueError(f"transports are {UDP} and {TCP}")
    made = []
    for target in plan["targets"]:
        ipaddress.ip_address(target["address"])  # names would be resolved by what is measured
        for transport in (*transports, *((KEPT,) if target.get("kept") else ())):
            made.append(QueryStream(str(target["name"]), transport, target["address"], int(target.get("port", 53))))
    return made
