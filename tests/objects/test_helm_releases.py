"""Releases of Helm: of their Secrets only which objects are in them is kept; what is odd is unknown, never opened."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.model.api_objects import HelmRelease, ManifestText
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.objects.manifests import LARGEST, HelmRevision, kept, latest, release

TOKEN = "AKIAIOSFODNN7EXAMPLE-hunter2"
MANIFEST = f"""---
# Source: web/templates/pdb.yaml {TOKEN}
apiVersion: policy/v1beta1
kind: PodDisruptionBudget
metadata:
  name: web
  annotations: {{token: {TOKEN}}}
---
apiVersion: v1
kind: Secret
metadata: {{name: web, namespace: shop}}
stringData: {{password: {TOKEN}}}
"""
HELD: dict[str, Any] = {
    "name": "web",
    "namespace": "shop",
    "version": 3,
    "info": {"status": "deployed", "notes": TOKEN},
    "config": {"password": TOKEN},
    "chart": {"values": {"password": TOKEN}, "files": [{"data": TOKEN}]},
    "hooks": [{"name": "x", "manifest": f"kind: Job\napiVersion: batch/v1beta1\nmetadata: {{name: h}}\ndata: {TOKEN}"}],
    "manifest": MANIFEST,
}
OF = HelmRevision("shop", "web", 3, "deployed", "sh.helm.release.v1.web.v3")


def a_secret(content: Any = HELD, **labels: Any) -> dict[str, Any]:
    zipped = content if isinstance(content, bytes) else gzip.compress(json.dumps(content).encode())
    said = {"owner": "helm", "name": "web", "version": "3", "status": "deployed", **labels}
    meta = {"name": OF.secret, "namespace": "shop", "labels": said}
    return {
        "type": "helm.sh/release.v1",
        "metadata": meta,
        "data": {"release": base64.b64encode(base64.b64encode(zipped)).decode()},
    }


def test_only_which_objects_are_in_it_is_kept() -> None:
    found = release(OF, a_secret())
    assert isinstance(found.manifest, ManifestText) and found.manifest.unread == ()
    assert [(each.of.api_version, each.of.kind, each.of.name) for each in found.manifest.documents] == [
        ("policy/v1beta1", "PodDisruptionBudget", "web"),
        ("v1", "Secret", "web"),
    ]
    assert [(each.of.api_version, each.of.kind, each.of.name) for each in found.hooks.documents] == [
        ("batch/v1beta1", "Job", "h")
    ]
    assert TOKEN not in repr(found)


def test_nothing_of_what_cannot_be_read_is_said() -> None:
    text = f"kind: Pod\nspec: [{TOKEN}\n---\nkind: Pod\n{TOKEN}: 1\n---\nkind: Pod\n{TOKEN}: &x *{TOKEN} {TOKEN}"
    found = _manifest(release(OF, a_secret(HELD | {"manifest": text})))
    assert len(found.unread) == 3 and TOKEN not in repr(found)
    assert TOKEN not in repr(release(OF, a_secret(f'{{"manifest": 7, "{TOKEN}": '.encode())))


def _manifest(found: HelmRelease) -> ManifestText:
    assert isinstance(found.manifest, ManifestText)
    return found.manifest


def test_text_that_is_not_packed_is_read() -> None:
    assert _manifest(release(OF, a_secret(json.dumps(HELD).encode()))).documents


BOMB = gzip.compress(b'{"manifest": "' + b"a" * (32 << 20) + b'"}')


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (BOMB, "grows to more than"),
        (gzip.compress(json.dumps(HELD).encode(), mtime=0)[:-9], "truncated"),
        (b"\x1f\x8b\x08 no gzip", "no gzip"),
        (b"[]", "no JSON of one"),
        (b'{"manifest": 7}', "no JSON of one"),
        (b"", "has no release in it"),
        (b"x" * LARGEST * 2, "larger than"),
    ],
)
def test_what_is_no_release_is_unknown(content: bytes, why: str) -> None:
    found = release(OF, a_secret(content)).manifest
    assert isinstance(found, Unknown) and why in found.why and OF.secret in found.why


@pytest.mark.parametrize("data", [None, {"release": 7}, {"release": "é"}, "x"])
def test_a_secret_of_another_form_is_unknown(data: Any) -> None:
    assert isinstance(release(OF, a_secret() | {"data": data}).manifest, Unknown)


def test_revisions_are_told_by_their_labels() -> None:
    assert kept(a_secret()) == OF
    for odd in ({"owner": "flux"}, {"version": "3a"}, {"version": "9" * 10}, {"version": 3}, {"name": ""}, {"name": 7}):
        assert kept(a_secret(**odd)) is None
    assert kept({"metadata": {"labels": 7}}) is None and kept({}) is None


def of(revision: int, status: str, name: str = "web") -> HelmRevision:
    return HelmRevision("shop", name, revision, status, f"{name}.v{revision}")


def test_the_revision_that_is_deployed_counts_else_the_last() -> None:
    assert latest([of(2, "superseded"), of(3, "deployed"), of(4, "failed")]) == (of(3, "deployed"),)
    assert latest([of(9, "failed"), of(10, "pending-install")]) == (of(10, "pending-install"),)
    assert latest([of(1, "superseded"), of(2, "uninstalled")]) == ()
    assert latest([of(1, "superseded"), of(2, "superseded")]) == (of(2, "superseded"),)
    assert latest([of(1, "deployed", "b"), of(1, "deployed", "a")]) == (of(1, "deployed", "a"), of(1, "deployed", "b"))


@given(st.binary(max_size=60), st.booleans())
def test_any_bytes_are_read(content: bytes, zipped: bool) -> None:
    release(OF, a_secret(gzip.compress(content) if zipped else content))


ANY = st.none() | st.integers() | st.text(max_size=5) | st.lists(st.text(max_size=3), max_size=2)


HOOKS = ANY | st.lists(st.dictionaries(st.just("manifest"), ANY))


@given(st.fixed_dictionaries({}, optional={"manifest": ANY, "hooks": HOOKS}))
def test_any_release_is_read(content: dict[str, Any]) -> None:
    release(OF, a_secret(content))
