"""Helm releases: only the list of objects in their Secrets is kept; unusual data is unknown and never unpacked."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.model.api_objects import HelmRelease, ManifestObject, ManifestText, ObjectName
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.objects.manifests import (
    MAX_DEPTH,
    MAX_RELEASE_BYTES,
    HelmRevision,
    current_revisions,
    helm_release,
    helm_revision,
    parse_manifest,
)
from tests.any_json import anything

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
    found = helm_release(OF, a_secret())
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
    found = _manifest(helm_release(OF, a_secret(HELD | {"manifest": text})))
    assert len(found.unread) == 3 and TOKEN not in repr(found)
    assert TOKEN not in repr(helm_release(OF, a_secret(f'{{"manifest": 7, "{TOKEN}": '.encode())))


def _manifest(found: HelmRelease) -> ManifestText:
    assert isinstance(found.manifest, ManifestText)
    return found.manifest


def test_text_that_is_not_packed_is_read() -> None:
    assert _manifest(helm_release(OF, a_secret(json.dumps(HELD).encode()))).documents


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
        (b"x" * MAX_RELEASE_BYTES * 2, "larger than"),
    ],
)
def test_what_is_no_release_is_unknown(content: bytes, why: str) -> None:
    found = helm_release(OF, a_secret(content)).manifest
    assert isinstance(found, Unknown) and why in found.why and OF.secret in found.why


@pytest.mark.parametrize("data", [None, {"release": 7}, {"release": "é"}, "x"])
def test_a_secret_of_another_form_is_unknown(data: Any) -> None:
    assert isinstance(helm_release(OF, a_secret() | {"data": data}).manifest, Unknown)


def test_revisions_are_told_by_their_labels() -> None:
    assert helm_revision(a_secret()) == OF
    for odd in ({"owner": "flux"}, {"version": "3a"}, {"version": "9" * 10}, {"version": 3}, {"name": ""}, {"name": 7}):
        assert helm_revision(a_secret(**odd)) is None
    assert helm_revision({"metadata": {"labels": 7}}) is None and helm_revision({}) is None


def of(revision: int, status: str, name: str = "web") -> HelmRevision:
    return HelmRevision("shop", name, revision, status, f"{name}.v{revision}")


def test_the_revision_that_is_deployed_counts_else_the_last() -> None:
    assert current_revisions([of(2, "superseded"), of(3, "deployed"), of(4, "failed")]) == (of(3, "deployed"),)
    assert current_revisions([of(9, "failed"), of(10, "pending-install")]) == (of(10, "pending-install"),)
    assert current_revisions([of(1, "superseded"), of(2, "uninstalled")]) == ()
    assert current_revisions([of(1, "superseded"), of(2, "superseded")]) == (of(2, "superseded"),)
    assert current_revisions([of(1, "deployed", "b"), of(1, "deployed", "a")]) == (
        of(1, "deployed", "a"),
        of(1, "deployed", "b"),
    )


ANY = st.none() | st.integers() | st.text(max_size=5) | st.lists(st.text(max_size=3), max_size=2)


HOOKS = ANY | st.lists(st.dictionaries(st.just("manifest"), ANY))


@given(
    st.fixed_dictionaries({}, optional={"manifest": ANY, "hooks": HOOKS}) | st.binary() | st.binary().map(gzip.compress)
)
def test_any_release_is_read(content: dict[str, Any] | bytes) -> None:
    helm_release(OF, a_secret(content))


# The objects in a text: documents, Lists, JSON, and the unreadable parts beside them.

PDB = "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: web, namespace: shop}\n"
OF_PDB = ObjectName("policy/v1beta1", "PodDisruptionBudget", "shop", "web")


def objects(text: str) -> list[ManifestObject]:
    found = parse_manifest(text)
    assert found.unread == ()
    return list(found.documents)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (PDB, 1),
        (f"# what it is\n\n---\n{PDB}", 4),
        (f"---\n---\n# nothing\n---\n{PDB}...\n", 5),
        (f"--- # marked\r\n{PDB}", 2),
        (f"%YAML 1.1\n---\n{PDB}", 3),
        (json.dumps({"kind": "PodDisruptionBudget", "metadata": {"namespace": "shop", "name": "web"}}), 1),
        ("\ufeff" + PDB, 1),
    ],
)
def test_documents_have_the_line_of_their_first_key(text: str, line: int) -> None:
    if text.startswith("{"):
        text = text.replace("{", '{\t"apiVersion": "policy/v1beta1", ', 1)
    assert objects(text.lstrip("\ufeff")) == [ManifestObject(OF_PDB, line)]


def test_items_of_lists_are_objects() -> None:
    item = "- apiVersion: policy/v1beta1\n  kind: PodDisruptionBudget\n  metadata: {name: web, namespace: shop}\n"
    assert objects(f"apiVersion: v1\nkind: List\nitems:\n{item}{item}") == [
        ManifestObject(OF_PDB, 4),
        ManifestObject(OF_PDB, 7),
    ]
    typed = (
        "apiVersion: policy/v1beta1\nkind: PodDisruptionBudgetList\nitems:\n- metadata: {name: web, namespace: shop}"
    )
    assert objects(typed) == [ManifestObject(OF_PDB, 4)]
    assert objects("kind: List\napiVersion: v1\nitems: []") == []


@pytest.mark.parametrize("text", ["[", '{"a": ', "a: [", "- "])
def test_what_is_nested_without_an_end_is_given_up_early(text: str) -> None:
    """libyaml's time for a value grows with its depth: minutes for this depth."""
    (unread,) = parse_manifest(text * 100_000).unread
    assert "nested too deeply" in unread.why or "no YAML" in unread.why or "neither YAML nor JSON" in unread.why


def test_aliases_of_lists_make_no_more_of_them() -> None:
    names = [f"- &a{at} {{kind: List, apiVersion: v1, items: [{f'*a{at - 1}, ' * 9}]}}" for at in range(1, 9)]
    first = "- &a0 {kind: PodDisruptionBudget, apiVersion: policy/v1beta1, metadata: {name: web, namespace: shop}}"
    assert objects("\n".join(("kind: List", "apiVersion: v1", "items:", first, *names))) == [ManifestObject(OF_PDB, 4)]


def test_lists_end_somewhere() -> None:
    deep = "{kind: List, apiVersion: v1, items: [" * (3 * MAX_DEPTH)
    (unread,) = parse_manifest(deep + "]}" * (3 * MAX_DEPTH)).unread
    assert "deep" in unread.why


def test_what_is_no_object_is_none() -> None:
    assert [objects(text) for text in ("", "name: chart\napiVersion: v2\n", "null")] == [[]] * 3


def test_json_of_any_form_is_read_one_after_the_other() -> None:
    one = '{\t"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "\\ud83d\\ude00"}}'
    assert [each.of.name for each in objects(f"{one}\n\n{one}")] == ["\N{GRINNING FACE}"] * 2


def test_aliases_are_followed_and_grow_nothing() -> None:
    bomb = "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 60))
    assert (
        objects(f"a0: &a0 x\n{bomb}version: &v policy/v1beta1\n{PDB.replace('policy/v1beta1', '*v')}")[0].of == OF_PDB
    )


@pytest.mark.parametrize(
    ("text", "line", "template"),
    [
        ("a: [\n", 1, False),
        ("{{- if .Values.on }}\nkind: Pod\n{{- end }}\n", 1, True),
        ("kind: Pod\napiVersion: {{ .Values.v }}\n", 1, True),
        ("kind: Pod\nmetadata: {name: web}\n", 1, False),
        ("base: &b {kind: Pod}\n---\n<<: *b\napiVersion: v1\n", 3, False),
        ("kind: Pod\napiVersion: ${VERSION}\n", 1, False),
        ("kind: $(KIND)\napiVersion: v1\n", 1, False),
        ("kind: [Pod]\napiVersion: v1\n", 1, False),
        ("Kind: Deployment\napiVersion: apps/v1\n", 1, False),
        ("kind: List\napiVersion: v1\nitems: [{metadata: {name: a}}]\n", 1, False),
        ("- kind: Pod\n  apiVersion: v1\n", 1, False),
        ("{{ toYaml .Values.more }}\n", 1, True),
        ("a: \x07\n", 1, False),
    ],
)
def test_what_cannot_be_read_is_named_and_hides_no_other(text: str, line: int, template: bool) -> None:
    found = parse_manifest(f"{text}---\n{PDB}")
    assert [(each.line, each.template) for each in found.unread] == [(line, template)]
    assert [each.of for each in found.documents] == [OF_PDB]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kind: Template\napiVersion: v1\nobjects: []\n", "check what oc process prints"),
        ("kind: Template\napiVersion: template.openshift.io/v1\n", "check what oc process prints"),
        (f"kind: ConfigMap\napiVersion: v1\ndata: {json.dumps({'a': 'b', 'x.yaml': PDB})}\n", "its x.yaml holds"),
        (
            json.dumps({"kind": "ConfigMap", "apiVersion": "v1", "data": {"p": PDB}}),
            "its p holds a PodDisruptionBudget",
        ),
        ("kind: ConfigMap\napiVersion: v1\ndata:\n  p: |\n    kind: KubeletConfiguration\n    apiVersion: x/v1\n", ""),
        ("kind: ConfigMap\napiVersion: v1\ndata: {p: {kind: Pod}, 'q': 'kind: Pod', r: [x]}\n", ""),
    ],
)
def test_what_makes_objects_or_holds_some_is_not_judged(text: str, said: str) -> None:
    """This is about files; a release applies only the output of Helm."""
    found = parse_manifest(text, "deploy/x.yaml")
    assert len(found.documents) == 1 and parse_manifest(text).unread == ()
    assert said in found.unread[0].why and found.unread[0].line == 1 if said else found.unread == ()


def test_a_template_with_a_literal_version_and_kind_is_read_as_text() -> None:
    begin = "{{- if .Values.on }}\napiVersion: policy/v1beta1\nkind: PodDisruptionBudget # of the web\nmetadata:\n"
    found = parse_manifest(
        f"{begin}  name: {{{{ .Release.Name }}}}\nspec:\n  {{{{- toYaml .Values.spec | nindent 2 }}}}\n"
    )
    assert [(each.of.api_version, each.of.kind, each.line) for each in found.documents] == [
        ("policy/v1beta1", "PodDisruptionBudget", 2)
    ]
    assert found.unread == ()


@pytest.mark.parametrize(
    "text",
    [
        "{{ if .Values.old }}\napiVersion: policy/v1beta1\n{{ else }}\napiVersion: policy/v1\n{{ end }}\nkind: Pod\n",
        "{{ if .Values.old }}\napiVersion: {{ .Values.api }}\n{{ end }}\nkind: Pod\n",
        "{{ if .Values.old }}\napiVersion: v1\nkind: {{ .Values.kind }}\n{{ end }}\n",
        "{{ if .Values.old }}\napiVersion: v1\nkind: List\n{{ end }}\n",
        'apiVersion: v1\nkind: Pod\nmetadata: {}\n{{ include "more" . }}\n',
    ],
)
def test_a_template_that_only_helm_can_tell_is_unknown(text: str) -> None:
    assert [each.template for each in parse_manifest(text).unread] == [True]


ODD = ["---", "kind: List", "items:", "- a", "  - {", "}", "&a", "*a", "<<: *a", "!!python/x", "? [", "{", '"', "\t"]
PIECES = st.sampled_from([*PDB.splitlines(), *ODD])


@given(st.lists(PIECES | st.text(max_size=8), max_size=12).map("\n".join))
def test_any_text_is_read(text: str) -> None:
    parse_manifest(text)


@given(anything())
def test_any_json_is_read(value: object) -> None:
    kept = {"apiVersion": "v1", "kind": "List", "items": [value]}
    parse_manifest(json.dumps(value))
    parse_manifest(json.dumps(kept))
    parse_manifest(json.dumps({"apiVersion": value, "kind": value, "metadata": value, "items": value}))
