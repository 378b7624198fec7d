"""What of the built-in kinds is not plain, for server-side apply and strategic merge patches: a table that is read.

Source: k8s.io/api, apiextensions-apiserver, kube-aggregator; apimachinery/pkg/apis/meta/v1. Kinds that are not here
have metadata, and are plain otherwise.
"""

from __future__ import annotations

from dataclasses import replace

from kubectl_eksdoc.kubernetes.api.places import PLAIN, SchemaPlace

_TABLE = """
Metadata finalizers: merged-set; ownerReferences: by uid of whole
Status conditions: by type
StatusReplaced conditions: owned-by type
SecretRef secretRef: whole
Resources claims: owned-by name
ValueFrom fieldRef: whole; fileKeyRef: whole; resourceFieldRef: whole; configMapKeyRef: whole; secretKeyRef: whole
Variable valueFrom: ValueFrom
Mount bindMountOptions: set
Container env: by name of Variable; ports: by containerPort,protocol=TCP; resources: Resources;
    volumeDevices: by devicePath; volumeMounts: by mountPath of Mount
ClaimSpec dataSource: whole; selector: whole
ClaimTemplate metadata: Metadata; spec: ClaimSpec
Ephemeral volumeClaimTemplate: ClaimTemplate
InlineDriver nodePublishSecretRef: whole
Volume cephfs: SecretRef; cinder: SecretRef; csi: InlineDriver; ephemeral: Ephemeral; flexVolume: SecretRef;
    iscsi: SecretRef; rbd: SecretRef; scaleIO: SecretRef; storageos: SecretRef
NodeAffinity requiredDuringSchedulingIgnoredDuringExecution: whole
Affinity nodeAffinity: NodeAffinity
SpreadConstraint labelSelector: whole
PodSpec affinity: Affinity; containers: by name of Container; ephemeralContainers: by name of Container;
    hostAliases: by ip; imagePullSecrets: by name of whole; initContainers: by name of Container; nodeSelector: whole;
    resourceClaims: retaining by name; resources: Resources; schedulingGates: by name;
    topologySpreadConstraints: by topologyKey,whenUnsatisfiable of SpreadConstraint;
    volumes: retaining by name of Volume
Allocatable containers: set; mapping: by name; overhead: by name
PodStatus conditions: by type; hostIPs: merged-by ip;
    nodeAllocatableResourceClaimStatuses: by resourceClaimName of Allocatable; podIPs: by ip;
    resourceClaimStatuses: retaining by name; resources: Resources
Template metadata: Metadata; spec: PodSpec
Driver controllerExpandSecretRef: whole; controllerPublishSecretRef: whole; nodeExpandSecretRef: whole;
    nodePublishSecretRef: whole; nodeStageSecretRef: whole
VolumeAffinity required: whole
VolumeSpec cephfs: SecretRef; cinder: SecretRef; csi: Driver; flexVolume: SecretRef; iscsi: SecretRef;
    nodeAffinity: VolumeAffinity; rbd: SecretRef; scaleIO: SecretRef; storageos: SecretRef
NodeSpec podCIDRs: merged-set
NodeStatus addresses: by type; conditions: by type
ServiceSpec ports: by port,protocol=TCP; selector: whole
QuotaSpec scopeSelector: whole
WorkloadSpec selector: whole; template: Template
DeploymentSpec selector: whole; template: Template; strategy: retaining
JobTemplate metadata: Metadata; spec: WorkloadSpec
CronJobSpec jobTemplate: JobTemplate
Uncounted failed: set; succeeded: set
JobStatus conditions: merged-by type; uncountedTerminatedPods: Uncounted
BudgetSpec selector: replaced
Webhook matchConditions: by name; namespaceSelector: whole; objectSelector: whole
PolicySpec matchConditions: by name; matchConstraints: whole; paramKind: whole
ValidatingPolicySpec matchConditions: by name; matchConstraints: whole; paramKind: whole; variables: by name of whole
BindingSpec matchResources: whole; paramRef: whole
ValidatingBindingSpec matchResources: whole; paramRef: whole; validationActions: set
DriverSpec volumeLifecycleModes: set
DriversSpec drivers: by name
AttachmentSource inlineVolumeSpec: VolumeSpec
AttachmentSpec source: AttachmentSource
BackendService port: whole
Backend resource: whole; service: BackendService
IngressSpec defaultBackend: Backend
NetworkPolicySpec podSelector: whole
ScaledSpec scaleTargetRef: whole
RuntimeScheduling nodeSelector: whole

v1 Event: involvedObject: whole; related: whole
v1 Namespace: status: Status
v1 Node: spec: NodeSpec; status: NodeStatus
v1 PersistentVolume: spec: VolumeSpec
v1 PersistentVolumeClaim: spec: ClaimSpec; status: Status
v1 Pod: spec: PodSpec; status: PodStatus
v1 PodTemplate: template: Template
v1 ReplicationController: spec: WorkloadSpec; status: Status
v1 ResourceQuota: spec: QuotaSpec
v1 Service: spec: ServiceSpec; status: Status
v1 ServiceAccount: secrets: by name of whole
apps/v1 ControllerRevision: data: whole
apps/v1 Deployment: spec: DeploymentSpec; status: Status
apps/v1 DaemonSet,ReplicaSet,StatefulSet: spec: WorkloadSpec; status: Status
batch/v1 CronJob: spec: CronJobSpec
batch/v1 Job: spec: WorkloadSpec; status: JobStatus
policy/v1 PodDisruptionBudget: spec: BudgetSpec; status: Status
admissionregistration.k8s.io/v1 MutatingAdmissionPolicy: spec: PolicySpec
admissionregistration.k8s.io/v1 MutatingAdmissionPolicyBinding: spec: BindingSpec
admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy: spec: ValidatingPolicySpec; status: StatusReplaced
admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding: spec: ValidatingBindingSpec
admissionregistration.k8s.io/v1 MutatingWebhookConfiguration,ValidatingWebhookConfiguration:
    webhooks: by name of Webhook
apiextensions.k8s.io/v1 CustomResourceDefinition: status: StatusReplaced
apiregistration.k8s.io/v1 APIService: status: Status
autoscaling/v1 HorizontalPodAutoscaler: spec: ScaledSpec
autoscaling/v2 HorizontalPodAutoscaler: status: Status
certificates.k8s.io/v1 CertificateSigningRequest: status: StatusReplaced
events.k8s.io/v1 Event: regarding: whole; related: whole
flowcontrol.apiserver.k8s.io/v1 FlowSchema,PriorityLevelConfiguration: status: Status
networking.k8s.io/v1 Ingress: spec: IngressSpec
networking.k8s.io/v1 NetworkPolicy: spec: NetworkPolicySpec
networking.k8s.io/v1 ServiceCIDR: status: Status
node.k8s.io/v1 RuntimeClass: scheduling: RuntimeScheduling
rbac.authorization.k8s.io/v1 ClusterRoleBinding,RoleBinding: roleRef: whole
storage.k8s.io/v1 CSIDriver: spec: DriverSpec
storage.k8s.io/v1 CSINode: spec: DriversSpec
storage.k8s.io/v1 CSIStorageCapacity: nodeTopology: whole
storage.k8s.io/v1 VolumeAttachment: spec: AttachmentSpec
"""
"""Structs, and kinds of a version, with their fields. `whole`: owned as one value; `replaced`: and replaced by a patch.
`by`: a list whose items are the same when these keys are, which may have a default; a strategic merge patch goes by the
first of them alone. `owned-by`: but a patch replaces the list; `merged-by`: it is owned as one value, yet merged by
that key. `retaining`: the patch may list the keys that stay (``$retainKeys``). In a PersistentVolume claimRef is
granular, although an object reference is owned as a whole everywhere else."""

STRUCTS: dict[str, SchemaPlace] = {
    "plain": PLAIN,
    "whole": SchemaPlace(atomic=True),
    "replaced": SchemaPlace(atomic=True, strategy=("replace",)),
    "set": SchemaPlace(list_type="set"),
    "merged-set": SchemaPlace(list_type="set", strategy=("merge",)),
}


def _place(word: str = "plain", *rest: str) -> SchemaPlace:
    if word == "retaining":
        place = _place(*rest)
        return replace(place, strategy=(*place.strategy, "retainKeys"))
    if word == "merged-by":
        return SchemaPlace(strategy=("merge",), merge_key=rest[0])
    if word not in ("by", "owned-by"):
        return STRUCTS[word]
    keys = [key.partition("=") for key in rest[0].split(",")]
    place = SchemaPlace(
        list_type="map",
        keys=tuple(name for name, _, _ in keys),
        items=_place(*rest[2:]),
        defaults={name: default for name, _, default in keys if default},
    )
    return replace(place, strategy=("merge",), merge_key=place.keys[0]) if word == "by" else place


def _kinds() -> dict[tuple[str, str], SchemaPlace]:
    found: dict[tuple[str, str], SchemaPlace] = {}
    for line in filter(None, _TABLE.replace("\n    ", " ").splitlines()):
        head, _, rest = line.partition(" ")
        kinds, _, fields = rest.partition(": ") if head == "v1" or "/" in head else ("", "", rest)
        named = {name.strip(): _place(*said.split()) for name, _, said in (e.partition(":") for e in fields.split(";"))}
        if kinds:
            place = SchemaPlace(named={"metadata": STRUCTS["Metadata"], **named})
            found |= {(head, kind): place for kind in kinds.split(",")}
        else:
            STRUCTS[head] = SchemaPlace(named=named)
    return found


KINDS = _kinds()
METADATA = STRUCTS["Metadata"]
