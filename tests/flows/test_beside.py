"""Of what a cluster answers, a snapshot writes down what is read of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pytest

from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.containers import LogOf
from kubectl_eksdoc.core.plan.dns import symptoms as dns
from kubectl_eksdoc.core.plan.interruption.signs import log_signs
from kubectl_eksdoc.core.plan.metadata import symptoms as metadata
from kubectl_eksdoc.core.rules.keeping.digests import Digests
from kubectl_eksdoc.core.rules.keeping.keys import Keep
from kubectl_eksdoc.flows.beside import Ports, Recording
from kubectl_eksdoc.objects.keeping.pages import Keeping

LOG = LogOf("shop", "web-0", "web")
LINES = (
    "customer Jane paid with 4111 1111 1111 1111",
    "Unable to locate credentials",
    "root:hunter2 logged in",
    "[ERROR] plugin/errors: 2 example.org. A: read udp: i/o timeout",
    'panic: creating sqs provider, {"x": 1}',
    "goroutine 1 [running]: GetQueueUrl",
    '{"message":"watching interruption queue"}',
    "hunter2",
)


class Logs:
    """Whoever answers for logs, and for nothing else."""

    def __init__(self, said: str | Absent | Unknown) -> None:
        self._said = said

    def containers(self, pods: Collection[str]) -> Mapping[str, Any]:
        return {}

    def logs(self, asked: Collection[LogOf]) -> Mapping[LogOf, str | Absent | Unknown]:
        return dict.fromkeys(asked, self._said)


def kept(said: str | Absent | Unknown) -> str | Absent | Unknown:
    nobody: Any = None
    ports = Ports(nobody, nobody, Logs(said), nobody, nobody, nobody)
    recording = Recording(ports, Keeping(Keep(Digests(b"a key"))))
    assert recording.logs([LOG]) == {LOG: said}  # who asked gets all of it
    return recording.answers().logs[LOG]


def test_of_a_log_the_lines_are_kept_that_are_read() -> None:
    found = kept("\n".join(LINES))
    assert isinstance(found, str)
    assert "hunter2" not in found
    assert "4111" not in found
    assert len(found.splitlines()) == 5


@pytest.mark.parametrize("end", [len(LINES), 4, 5, 2])
def test_the_same_is_read_of_them(end: int) -> None:
    whole = "\n".join(LINES[:end])
    found = kept(whole)
    assert isinstance(found, str)
    assert metadata.last_symptom(found) == metadata.last_symptom(whole)
    assert dns.symptoms(found) == dns.symptoms(whole)
    assert log_signs(found, None) == log_signs(whole, None)


@pytest.mark.parametrize("said", [Absent("gone"), Unknown("not told", "get pods/log")])
def test_what_was_not_told_stays(said: Absent | Unknown) -> None:
    assert kept(said) == said
