"""Random histories of writes to the add-on's objects by several clients, for hypothesis.

A history is a list of steps; each prints itself in one line, so that a failing example can be read in order:
``SetsEnv('ENABLE_POD_ENI', 'true')``, ``Updates('v1.15.1-eksbuild.1', 'PRESERVE')``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from hypothesis import strategies as st

from kubectl_eksdoc.model.api_objects import Doc
from tests.addon.stand_in import hands
from tests.addon.stand_in.documents import Documents
from tests.addon.stand_in.pod_template import INIT, MAIN
from tests.addon.stand_in.service import AddonService, Mode

VERSIONS = tuple(f"{chart}-eksbuild.1" for chart in ("v1.11.0", "v1.12.0", "v1.12.6", "v1.14.0", "v1.15.1", "v1.19.5"))

NAMES = {
    MAIN: ("ENABLE_POD_ENI", "WARM_ENI_TARGET", "AWS_VPC_K8S_CNI_CONFIGURE_RPFILTER", "VPC_CNI_VERSION", "MY_OWN"),
    INIT: ("DISABLE_TCP_EARLY_DEMUX", "ENABLE_V6_EGRESS"),
}
"""Of the chart in every version, until or since some version, and never."""


class Step(Protocol):
    def done(self, service: AddonService) -> None:
        """Carry out the step. A write that would break the object does nothing, as a server would refuse it."""


@dataclass(frozen=True)
class SetsEnv:
    name: str
    value: str
    container: str = MAIN
    manager: str = hands.KUBECTL_SET

    def done(self, service: AddonService) -> None:
        hands.sets_env(service.objects, self.name, self.value, container=self.container, manager=self.manager)


@dataclass(frozen=True)
class RemovesEnv:
    name: str
    container: str = MAIN
    manager: str = hands.KUBECTL_SET

    def done(self, service: AddonService) -> None:
        hands.removes_env(service.objects, self.name, container=self.container, manager=self.manager)


@dataclass(frozen=True)
class AppliesEnv:
    """Argo CD, Helm or Terraform; each has one configuration, so its next apply removes its previous entry."""

    name: str
    value: str
    container: str = MAIN
    manager: str = hands.ARGO_CD

    def done(self, service: AddonService) -> None:
        hands.applies_env(service.objects, self.name, self.value, container=self.container, manager=self.manager)


@dataclass(frozen=True)
class HelmInstalls:
    """The chart of the version that EKS has installed, with `values` as JSON."""

    values: str

    def done(self, service: AddonService) -> None:
        hands.helm_installs(service.objects, service.version, json.loads(self.values), service.site)


@dataclass(frozen=True)
class Patches:
    """A strategic merge patch of the DaemonSet, as JSON."""

    patch: str
    manager: str = hands.KUBECTL_PATCH

    def done(self, service: AddonService) -> None:
        patch: Doc = json.loads(self.patch)
        hands.patches(service.objects, patch, manager=self.manager)


@dataclass(frozen=True)
class SetsData:
    """A key of the ConfigMap, which old versions do not have."""

    key: str
    value: str

    def done(self, service: AddonService) -> None:
        if service.objects.get("ConfigMap", "amazon-vpc-cni") is not None:
            hands.sets_data(service.objects, self.key, self.value)


@dataclass(frozen=True)
class Updates:
    """Update the add-on; "" keeps its version, None keeps its values."""

    version: str
    mode: Mode
    values: str | None = None

    def done(self, service: AddonService) -> None:
        service.update(self.version, resolve_conflicts=self.mode, configuration_values=self.values)


@cache
def _installed(version: str, values: str) -> tuple[AddonService, Documents]:
    objects = Documents()
    return AddonService.install(objects, version, values), objects


def installed(version: str, values: str = "") -> AddonService:
    """A new, separate add-on, just installed on documents in memory."""
    service, objects = _installed(version, values)
    return service.copy(objects.copy())


def played(service: AddonService, history: Iterable[Step]) -> None:
    for step in history:
        step.done(service)


def _patch(container: str, **fields: object) -> str:
    return json.dumps({"spec": {"template": {"spec": {"containers": [{"name": container, **fields}]}}}})


_CONTAINERS = st.sampled_from([(container, name) for container, names in NAMES.items() for name in names])
_VALUES = st.sampled_from(("true", "false", "7"))
_APPLIERS = st.sampled_from((hands.ARGO_CD, hands.TERRAFORM, hands.HELM))
_UPDATERS = st.sampled_from((hands.KUBECTL_SET, hands.KUBECTL_PATCH, "kubectl-client-side-apply"))
_DOCUMENTS = st.sampled_from(
    (
        "{}",
        '{"env":{"ENABLE_POD_ENI":"true"}}',
        '{"env":{"ENABLE_POD_ENI":"true","MY_OWN":"1"},"init":{"env":{"DISABLE_TCP_EARLY_DEMUX":"true"}}}',
        '{"resources":{"requests":{"cpu":"50m"}},"livenessProbeTimeoutSeconds":30}',
    )
)
_PATCHES = st.sampled_from(
    (
        _patch(MAIN, resources={"requests": {"cpu": "100m"}}),
        _patch(MAIN, resources={"limits": {"memory": "512Mi"}}),
        _patch(MAIN, livenessProbe={"timeoutSeconds": 20}),
        _patch(MAIN, image="registry.example/amazon-k8s-cni:mine"),
        '{"spec":{"updateStrategy":{"rollingUpdate":{"maxUnavailable":1}}}}',
        '{"spec":{"template":{"spec":{"tolerations":[{"operator":"Exists","effect":"NoSchedule"}]}}}}',
        '{"metadata":{"labels":{"team":"network"}}}',
        '{"spec":{"template":{"metadata":{"annotations":{"restarted":"today"}}}}}',
    )
)
_DATA = st.tuples(st.sampled_from(("enable-windows-ipam", "enable-network-policy-controller", "mine")), _VALUES)
_MODES = st.sampled_from(("NONE", "OVERWRITE", "PRESERVE"))

STEPS: st.SearchStrategy[Step] = st.one_of(
    st.builds(lambda at, value, by: SetsEnv(at[1], value, at[0], by), _CONTAINERS, _VALUES, _UPDATERS),
    st.builds(lambda at, by: RemovesEnv(at[1], at[0], by), _CONTAINERS, _UPDATERS),
    st.builds(lambda at, value, by: AppliesEnv(at[1], value, at[0], by), _CONTAINERS, _VALUES, _APPLIERS),
    st.builds(HelmInstalls, _DOCUMENTS),
    st.builds(Patches, _PATCHES),
    st.builds(lambda said: SetsData(*said), _DATA),
    st.builds(Updates, st.sampled_from(("", *VERSIONS)), _MODES, st.none() | _DOCUMENTS),
)

HISTORIES: st.SearchStrategy[list[Step]] = st.lists(STEPS, max_size=6)
"""What happened since the add-on was installed."""

UPDATES: st.SearchStrategy[Updates] = st.builds(Updates, st.sampled_from(VERSIONS), _MODES, st.none() | _DOCUMENTS)
"""The one update that is asked about."""
