"""Bodies in YAML: applied and created as their JSON would be."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.embedded.serving.bodies import NoYaml, decode
from kubectl_eksdoc.embedded.serving.targets import Reply, Request
from tests.embedded.clients import worlds
from tests.embedded.serving.asking import APPLY, Asking

MAPS = "/api/v1/namespaces/default/configmaps"
MAP = """
apiVersion: v1
kind: ConfigMap
metadata: {name: hand, labels: {since: "2026-11-20"}}
data:
  a: |
    many
    lines
"""


@pytest.fixture
def asking() -> Asking:
    return Asking()


def sent(asking: Asking, method: str, path: str, body: str, content: str, **query: str) -> Reply:
    headers = {"authorization": f"Bearer {worlds.ADMIN_TOKEN}", "content-type": content}
    given = {name: (value,) for name, value in query.items()}
    return asking.api.handle(Request(method, path, given, headers, body.encode()))


def test_what_is_written_by_hand_is_applied_and_created(asking: Asking) -> None:
    assert sent(asking, "PATCH", f"{MAPS}/hand", MAP, APPLY, fieldManager="me").status == 201
    assert asking.ask("GET", f"{MAPS}/hand")["data"] == {"a": "many\nlines\n"}
    other = MAP.replace("hand", "other")
    assert sent(asking, "POST", MAPS, other, "application/yaml").status == 201
    assert asking.ask("GET", f"{MAPS}/other")["metadata"]["labels"] == {"since": "2026-11-20"}


@pytest.mark.parametrize(
    "body", ["a: [", "\x00", "&a [*a]", "a: !!python/object:os.system {}", "? [a]\n: b", "[" * 3000]
)
def test_what_is_no_yaml_is_refused(asking: Asking, body: str) -> None:
    reply = sent(asking, "PATCH", f"{MAPS}/hand", body, APPLY, fieldManager="me")
    assert reply.status == 400 and b"error converting YAML to JSON" in reply.body
    assert list(asking.api.faults) == []


def test_yaml_is_read_as_its_json() -> None:
    assert decode(b"{since: 2026-11-20, at: 2026-11-20T08:00:00Z, 7: x, yes: 2, none: , half: 0.5}") == {
        "since": "2026-11-20",
        "at": "2026-11-20T08:00:00Z",
        "7": "x",
        "true": 2,
        "none": None,
        "half": 0.5,
    }


def test_a_small_text_does_not_become_a_huge_object() -> None:
    laughs = "a0: &a0 [ha, ha]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40))
    with pytest.raises(NoYaml, match="aliases"):
        decode(laughs.encode())
