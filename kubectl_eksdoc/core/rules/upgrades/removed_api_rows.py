"""Which API versions Kubernetes removed or plans to remove, as data: kinds, resources, releases, replacements.

Sources: kubernetes/api, */zz_generated.prerelease-lifecycle.go, tags v0.19.0 to HEAD of July 2026; for three kinds that
have no such file, and for PodSecurityPolicy, the deprecated API migration guide of kubernetes.io. Alpha versions are
here for completeness: EKS serves none of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kubectl_eksdoc.core.model.confidence import Confidence
from kubectl_eksdoc.core.model.versions import Version, parse
from kubectl_eksdoc.core.rules.upgrades.sourced import Source

READ_TO = Version(1, 36)
"""The last release whose removals are done; those of later ones are planned."""


@dataclass(frozen=True, slots=True)
class RemovedApi:
    """`kind` in `api_version` is not served from `removed` on. `resource` is its plural name, "" for a kind that only
    clients use. `replacement` as the source words it, "" where it names none; see `removed_apis.instead`."""

    api_version: str
    kind: str
    resource: str
    introduced: Version | None
    deprecated: Version | None
    removed: Version
    replacement: str
    source: Source

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]

    @property
    def version(self) -> str:
        return self.api_version.rpartition("/")[2]

    @property
    def alpha(self) -> bool:
        """An API server has to be told to serve it, and that of EKS is not."""
        return "alpha" in self.version and bool(self.resource)

    @property
    def planned(self) -> bool:
        """Its removal is announced, not seen."""
        return self.removed > READ_TO


_WORDED = {
    "policy": "policy/v1beta1 (itself removed 1.25)",
    "exec": "client.authentication.k8s.io/v1 (or v1beta1)",
    "none": "none (use Pod Security Admission)",
    "flow 1.23": "flowcontrol.apiserver.k8s.io/v1beta2 (1.23+), v1beta3 (1.26+), v1 (1.29+)",
    "flow 1.26": "flowcontrol.apiserver.k8s.io/v1 (available 1.29+) or v1beta3 (1.26+, removed 1.32)",
}
_DOCUMENTS = {
    "guide": "kubernetes.io deprecation guide",
    "guide-1.22": "kubernetes.io deprecation guide; EKS user guide, 1.22",
    "exec": "EKS user guide, kubeconfig and 1.24",
}

# Below each apiVersion: kind and resource | introduced, deprecated, removed | replacement: a version of the same group,
# an apiVersion, a key of _WORDED in quotes, or none | the last tag of kubernetes/api that has it, if not HEAD
_TABLE = """
apps/v1beta1
  ControllerRevision controllerrevisions | 1.7 1.8 1.16 | v1
  Deployment deployments | 1.6 1.8 1.16 | v1
  StatefulSet statefulsets | 1.5 1.8 1.16 | v1
apps/v1beta2
  ControllerRevision controllerrevisions | 1.8 1.9 1.16 | v1
  DaemonSet daemonsets | 1.8 1.9 1.16 | v1
  Deployment deployments | 1.8 1.9 1.16 | v1
  ReplicaSet replicasets | 1.8 1.9 1.16 | v1
  StatefulSet statefulsets | 1.8 1.9 1.16 | v1
extensions/v1beta1
  DaemonSet daemonsets | 1.1 1.8 1.16 | apps/v1
  Deployment deployments | 1.1 1.8 1.16 | apps/v1
  NetworkPolicy networkpolicies | 1.3 1.9 1.16 | networking.k8s.io/v1
  PodSecurityPolicy podsecuritypolicies | 1.2 1.11 1.16 | "policy" | v0.26.0
  ReplicaSet replicasets | 1.2 1.8 1.16 | apps/v1
  Ingress ingresses | 1.1 1.14 1.22 | networking.k8s.io/v1
flowcontrol.apiserver.k8s.io/v1alpha1
  FlowSchema flowschemas | 1.18 1.20 1.21 | v1beta3 | v0.28.0
  PriorityLevelConfiguration prioritylevelconfigurations | 1.18 1.20 1.21 | v1beta3 | v0.28.0
admissionregistration.k8s.io/v1beta1
  MutatingWebhookConfiguration mutatingwebhookconfigurations | 1.9 1.16 1.22 | v1
  ValidatingWebhookConfiguration validatingwebhookconfigurations | 1.9 1.16 1.22 | v1
  ValidatingAdmissionPolicy validatingadmissionpolicies | 1.28 1.31 1.34 | v1
  ValidatingAdmissionPolicyBinding validatingadmissionpolicybindings | 1.28 1.31 1.34 | v1
  MutatingAdmissionPolicy mutatingadmissionpolicies | 1.34 1.37 1.40 | v1
  MutatingAdmissionPolicyBinding mutatingadmissionpolicybindings | 1.34 1.37 1.40 | v1
apiextensions.k8s.io/v1beta1
  CustomResourceDefinition customresourcedefinitions | - - 1.22 | v1 | guide-1.22
apiregistration.k8s.io/v1beta1
  APIService apiservices | - - 1.22 | v1 | guide
authentication.k8s.io/v1beta1
  TokenReview tokenreviews | 1.4 1.19 1.22 | v1
  SelfSubjectReview selfsubjectreviews | 1.27 1.30 1.33 | v1
authorization.k8s.io/v1beta1
  LocalSubjectAccessReview localsubjectaccessreviews | 1.2 1.19 1.22 | v1
  SelfSubjectAccessReview selfsubjectaccessreviews | 1.2 1.19 1.22 | v1
  SelfSubjectRulesReview selfsubjectrulesreviews | 1.8 1.19 1.22 | v1
  SubjectAccessReview subjectaccessreviews | 1.2 1.19 1.22 | v1
certificates.k8s.io/v1beta1
  CertificateSigningRequest certificatesigningrequests | 1.12 1.19 1.22 | v1
  ClusterTrustBundle clustertrustbundles | 1.33 1.37 1.40 | v1
  PodCertificateRequest podcertificaterequests | 1.35 1.37 1.40 | v1
coordination.k8s.io/v1beta1
  Lease leases | 1.12 1.19 1.22 | v1
  LeaseCandidate leasecandidates | 1.33 1.36 1.39 | -
networking.k8s.io/v1beta1
  Ingress ingresses | 1.14 1.19 1.22 | v1
  IngressClass ingressclasses | 1.18 1.19 1.22 | v1
  IPAddress ipaddresses | 1.31 1.34 1.37 | v1
  ServiceCIDR servicecidrs | 1.31 1.34 1.37 | v1
rbac.authorization.k8s.io/v1beta1
  ClusterRole clusterroles | 1.6 1.17 1.22 | v1
  ClusterRoleBinding clusterrolebindings | 1.6 1.17 1.22 | v1
  Role roles | 1.6 1.17 1.22 | v1
  RoleBinding rolebindings | 1.6 1.17 1.22 | v1
scheduling.k8s.io/v1beta1
  PriorityClass priorityclasses | 1.11 1.14 1.22 | v1
  PodGroup podgroups | 1.37 1.40 1.43 | -
  Workload workloads | 1.37 1.40 1.43 | -
storage.k8s.io/v1beta1
  CSIDriver csidrivers | 1.14 1.19 1.22 | v1
  CSINode csinodes | 1.14 1.17 1.22 | v1
  StorageClass storageclasses | 1.4 1.19 1.22 | v1
  VolumeAttachment volumeattachments | 1.10 1.19 1.22 | v1
  CSIStorageCapacity csistoragecapacities | 1.21 1.24 1.27 | v1
  VolumeAttributesClass volumeattributesclasses | 1.31 1.34 1.37 | v1
client.authentication.k8s.io/v1alpha1
  ExecCredential | - - 1.24 | "exec" | exec
storage.k8s.io/v1alpha1
  CSIStorageCapacity csistoragecapacities | 1.19 1.21 1.24 | v1beta1
  VolumeAttachment volumeattachments | 1.9 1.21 1.24 | v1
  VolumeAttributesClass volumeattributesclasses | 1.29 1.32 1.35 | v1
autoscaling/v2beta1
  HorizontalPodAutoscaler horizontalpodautoscalers | 1.8 1.22 1.25 | v2 | v0.35.0
batch/v1beta1
  CronJob cronjobs | 1.8 1.21 1.25 | v1
discovery.k8s.io/v1beta1
  EndpointSlice endpointslices | 1.16 1.21 1.25 | v1
events.k8s.io/v1beta1
  Event events | 1.8 1.22 1.25 | v1
node.k8s.io/v1beta1
  RuntimeClass runtimeclasses | 1.13 1.22 1.25 | v1
policy/v1beta1
  Eviction pods/eviction | 1.5 1.22 1.25 | v1
  PodDisruptionBudget poddisruptionbudgets | 1.5 1.21 1.25 | v1
  PodSecurityPolicy podsecuritypolicies | 1.10 1.21 1.25 | "none" | v0.28.0
autoscaling/v2beta2
  HorizontalPodAutoscaler horizontalpodautoscalers | 1.12 1.23 1.26 | v2 | v0.35.0
flowcontrol.apiserver.k8s.io/v1beta1
  FlowSchema flowschemas | 1.20 1.23 1.26 | "flow 1.23"
  PriorityLevelConfiguration prioritylevelconfigurations | 1.20 1.23 1.26 | "flow 1.23"
flowcontrol.apiserver.k8s.io/v1beta2
  FlowSchema flowschemas | 1.23 1.26 1.29 | "flow 1.26"
  PriorityLevelConfiguration prioritylevelconfigurations | 1.23 1.26 1.29 | "flow 1.26"
networking.k8s.io/v1alpha1
  ClusterCIDR clustercidrs | 1.25 1.28 1.31 | - | v0.28.0
  IPAddress ipaddresses | 1.27 1.30 1.33 | v1 | v0.33.0
  ServiceCIDR servicecidrs | 1.27 1.30 1.33 | v1 | v0.33.0
admissionregistration.k8s.io/v1alpha1
  ValidatingAdmissionPolicy validatingadmissionpolicies | 1.26 1.29 1.32 | v1
  ValidatingAdmissionPolicyBinding validatingadmissionpolicybindings | 1.26 1.29 1.32 | v1
  MutatingAdmissionPolicy mutatingadmissionpolicies | 1.32 1.35 1.38 | -
  MutatingAdmissionPolicyBinding mutatingadmissionpolicybindings | 1.32 1.35 1.38 | -
authentication.k8s.io/v1alpha1
  SelfSubjectReview selfsubjectreviews | 1.26 1.29 1.32 | v1
flowcontrol.apiserver.k8s.io/v1beta3
  FlowSchema flowschemas | 1.26 1.29 1.32 | v1
  PriorityLevelConfiguration prioritylevelconfigurations | 1.26 1.29 1.32 | v1
apidiscovery.k8s.io/v2beta1
  APIGroupDiscovery apigroupdiscoverys | 1.26 1.32 1.35 | -
storagemigration.k8s.io/v1alpha1
  StorageVersionMigration storageversionmigrations | 1.30 1.33 1.36 | - | v0.34.0
certificates.k8s.io/v1alpha1
  ClusterTrustBundle clustertrustbundles | 1.26 1.34 1.37 | -
  PodCertificateRequest podcertificaterequests | 1.34 1.37 1.40 | - | v0.34.0
coordination.k8s.io/v1alpha1
  LeaseCandidate leasecandidates | 1.31 1.34 1.37 | - | v0.31.0
resource.k8s.io/v1alpha3
  DeviceClass deviceclasses | 1.31 1.34 1.37 | v1beta1 | v0.33.0
  ResourceClaim resourceclaims | 1.31 1.34 1.37 | v1beta1 | v0.33.0
  ResourceClaimTemplate resourceclaimtemplates | 1.31 1.34 1.37 | v1beta1 | v0.33.0
  ResourceSlice resourceslices | 1.31 1.34 1.37 | v1beta1 | v0.33.0
  DeviceTaintRule devicetaintrules | 1.33 1.36 1.39 | -
  ResourcePoolStatusRequest resourcepoolstatusrequests | 1.36 1.39 1.42 | -
coordination.k8s.io/v1alpha2
  LeaseCandidate leasecandidates | 1.32 1.35 1.38 | -
resource.k8s.io/v1beta1
  DeviceClass deviceclasses | 1.32 1.35 1.38 | v1
  ResourceClaim resourceclaims | 1.32 1.35 1.38 | v1
  ResourceClaimTemplate resourceclaimtemplates | 1.32 1.35 1.38 | v1
  ResourceSlice resourceslices | 1.32 1.35 1.38 | v1
resource.k8s.io/v1beta2
  DeviceClass deviceclasses | 1.33 1.36 1.39 | v1
  ResourceClaim resourceclaims | 1.33 1.36 1.39 | v1
  ResourceClaimTemplate resourceclaimtemplates | 1.33 1.36 1.39 | v1
  ResourceSlice resourceslices | 1.33 1.36 1.39 | v1
  DeviceTaintRule devicetaintrules | 1.36 1.39 1.42 | -
storagemigration.k8s.io/v1beta1
  StorageVersionMigration storageversionmigrations | 1.35 1.37 1.40 | v1
"""


def _rows() -> Iterator[RemovedApi]:
    api_version = ""
    for line in _TABLE.strip().splitlines():
        if line.startswith(" "):
            yield _row(api_version, line)
        else:
            api_version = line


def _row(api_version: str, line: str) -> RemovedApi:
    named, releases, replacement, *seen = (cell.strip() for cell in line.split("|"))
    kind, _, resource = named.partition(" ")
    introduced, deprecated, removed = (parse(each) for each in releases.split())
    if removed is None:
        raise AssertionError(f"{api_version} {kind} is in the table and was not removed")
    return RemovedApi(
        api_version,
        kind,
        resource,
        introduced,
        deprecated,
        removed,
        _replacement(api_version, replacement),
        _source(api_version, seen[0] if seen else "HEAD", removed),
    )


def _replacement(api_version: str, cell: str) -> str:
    if cell == "-":
        return ""
    if cell.startswith('"'):
        return _WORDED[cell.strip('"')]
    return cell if "/" in cell else f"{api_version.rpartition('/')[0]}/{cell}"


def _source(api_version: str, seen: str, removed: Version) -> Source:
    group, _, version = api_version.rpartition("/")
    lifecycle = f"kubernetes/api {group.partition('.')[0]}/{version}/zz_generated.prerelease-lifecycle.go"
    document = _DOCUMENTS.get(seen) or f"{lifecycle} (last seen {seen})"
    return Source(document, Confidence.MEDIUM if removed > READ_TO else Confidence.HIGH)


ROWS = tuple(_rows())
