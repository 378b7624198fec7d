"""The served cluster tells of a client that uses an API which goes, as a real one does; who may not ask is told so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kubectl_eksdoc.amazon.written_kinds import going, gone_before
from kubectl_eksdoc.embedded.loading import load
from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.handler import serving
from kubectl_eksdoc.kube.api_signs import ApiSigns
from kubectl_eksdoc.model.api_objects import Doc, KindUsage, WrittenBy
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.quantities import Version
from tests.embedded.clients import worlds
from tests.embedded.deprecated_uses import DeprecatedUse, text
from tests.fakes import kubeconfigs
from tools.demo.upgrade.old_apis import old_apis

GROUP = "admissionregistration.k8s.io"
USE = DeprecatedUse(GROUP, "v1beta1", "validatingadmissionpolicies", "1.34")
WAY = (Version(1, 33), Version(1, 34))
NAMESPACE: Doc = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "policy"}}


@pytest.fixture(scope="module")
def url() -> Iterator[tuple[str, str]]:
    """Where an admin and one with few rights reach it."""
    api = Api(load([NAMESPACE, *old_apis()], worlds.START).plane, replace(worlds.SETUP, metrics=text((USE,))))
    with serving(api) as server:
        yield server.url(worlds.ADMIN_TOKEN), server.url(worlds.DRAINER_TOKEN)
    assert list(api.faults) == []


def signs(folder: Path, url: str, page: int = 1) -> ApiSigns:
    return ApiSigns(Connection(kubeconfig=kubeconfigs.one(folder / "config", url), page_size=page))


def test_objects_tell_in_which_version_they_were_written(url: tuple[str, str], tmp_path: Path) -> None:
    policies, bindings = signs(tmp_path, url[0]).written(going(*WAY))
    assert {each.of.name: [sign.by for sign in each.signs] for each in _objects(policies)} == {
        "no-host-path": [WrittenBy.LAST_APPLIED, WrittenBy.MANAGED_FIELDS],
        "require-owner": [WrittenBy.MANAGED_FIELDS],
    }
    (binding,) = _objects(bindings)
    assert [sign.manager for sign in binding.signs] == ["helm", "policy-webhook"]


def _objects(told: KindUsage) -> tuple:
    assert not isinstance(told.objects, Unknown), told.objects
    return told.objects


def test_every_kind_that_is_looked_at_can_be_listed(url: tuple[str, str], tmp_path: Path) -> None:
    for told in signs(tmp_path, url[0], 500).written(gone_before(Version(1, 33))):
        assert _objects(told) == ()
