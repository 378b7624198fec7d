"""Replay of patches that a real API server accepted: the object before, the patch, and the whole object after."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_eksdoc.kubernetes.api.patches import apply_json_patch, apply_merge, apply_strategic
from kubectl_eksdoc.kubernetes.api.resources import ApiRefusal
from kubectl_eksdoc.model.api_objects import Doc, without_path
from tests import raw_facts
from tests.kubernetes.api.pod_fields import POD_FIELDS

EXCHANGES: list[dict[str, Any]] = list(raw_facts.lines("recordings/exchanges.jsonl.gz"))

# Fields that the server writes by itself, independent of the patch.
SERVERS = (
    ("metadata", "resourceVersion"),
    ("metadata", "managedFields"),
    ("metadata", "generation"),
    ("metadata", "annotations", "deprecated.daemonset.template.generation"),
    ("status",),
)

# Refused for reasons that are not in the patch.
NOT_ABOUT_THE_PATCH = ("patch with stale resourceVersion", "patch forbidden")

# A controller tainted the node after it had been cordoned.
IN_BETWEEN = {"uncordon merge patch": ("spec", "taints")}


def applied(doc: Doc, content_type: str, patch: Any) -> Doc:
    match content_type:
        case "application/merge-patch+json":
            return apply_merge(doc, patch)
        case "application/json-patch+json":
            return apply_json_patch(doc, patch)
        case "application/strategic-merge-patch+json":
            return apply_strategic(doc, patch, POD_FIELDS)
    raise AssertionError(content_type)


def plain_patches() -> list[int]:
    """The accepted exchanges that are patches but no applies, by position."""
    return [
        place
        for place, e in enumerate(EXCHANGES)
        if e["request"]["method"] == "PATCH"
        and "apply-patch" not in e["request"]["contentType"]
        and e["response"]["status"] == 200
    ]


def before(place: int) -> Doc:
    """The last recorded state of the object that the exchange at position `place` patches."""
    path = EXCHANGES[place]["request"]["path"].partition("?")[0]
    for e in reversed(EXCHANGES[:place]):
        asked, asks = e["request"]["path"].partition("?")[::2]
        if asked == path and e["response"]["status"] < 300 and "dryRun" not in asks:
            return e["response"]["body"]
    return _listed_before(place, *path.split("/")[-2:])


def _listed_before(place: int, resource: str, name: str) -> Doc:
    lists = [e for e in EXCHANGES[:place] if e["request"]["path"].partition("?")[0].endswith(f"/{resource}")]
    for body in (e["response"]["body"] for e in reversed(lists)):
        for item in body.get("items", ()):
            if item["metadata"]["name"] == name:
                return {"kind": body["kind"].removesuffix("List"), "apiVersion": body["apiVersion"], **item}
    # Of one node only a row of a table was recorded before it was cordoned.
    assert EXCHANGES[place]["name"] == "cordon strategic patch (kubectl)"
    return without_path(EXCHANGES[place]["response"]["body"], ("spec", "unschedulable"))


def ours(doc: Doc) -> Doc:
    """`doc` without the fields that the server writes by itself; empty fields are not printed."""
    for path in SERVERS:
        doc = without_path(doc, path)
    return doc if doc["metadata"].get("annotations") else without_path(doc, ("metadata", "annotations"))


@pytest.mark.parametrize("place", plain_patches(), ids=lambda place: EXCHANGES[place]["name"])
def test_an_exchange_replays(place: int) -> None:
    exchange = EXCHANGES[place]
    request = exchange["request"]
    after = applied(before(place), request["contentType"], request["body"])
    elsewhere = IN_BETWEEN.get(exchange["name"], ("status",))
    assert without_path(ours(after), elsewhere) == without_path(ours(exchange["response"]["body"]), elsewhere)


def test_a_refusal_is_answered_as_recorded() -> None:
    place = next(i for i, e in enumerate(EXCHANGES) if e["name"] == "bad json patch")
    with pytest.raises(ApiRefusal) as refused:
        apply_json_patch(before(place), EXCHANGES[place]["request"]["body"])
    recorded = EXCHANGES[place]["response"]
    assert refused.value.status.code == recorded["status"]
    assert list(refused.value.status.to_document().items()) == list(recorded["body"].items())


def test_no_patch_is_left_out() -> None:
    patches = [e for e in EXCHANGES if e["request"]["method"] == "PATCH" and "apply" not in e["request"]["contentType"]]
    refused = {e["name"] for e in patches if e["response"]["status"] != 200}
    assert refused == {"bad json patch", *NOT_ABOUT_THE_PATCH}
    assert len(plain_patches()) == len(patches) - len(refused) == 12
