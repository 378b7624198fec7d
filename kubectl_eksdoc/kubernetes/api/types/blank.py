"""What an object of a kind holds before anybody writes anything: fields that Go's types always have.

A create is compared with such a blank object, so its author does not own an object or list that was there already,
only what is in it: ``f:spec`` and ``f:containers`` of a new pod have no ``.`` of their own, ``f:labels`` has. Derived
from the struct fields of k8s.io/api that are no pointers and lack omitempty; status is on every blank that has one.
"""

from __future__ import annotations

from kubectl_eksdoc.model.api_objects import Doc, with_value

_TABLE = """
v1 Pod: spec.containers=null status
v1 PodTemplate: template.metadata template.spec.containers=null
v1 PersistentVolumeClaim: spec.resources status
v1 LimitRange: spec.limits=null
v1 Event: involvedObject source firstTimestamp=null lastTimestamp=null eventTime=null reportingComponent=""
    reportingInstance=""
v1 Namespace,Node,PersistentVolume,ReplicationController,ResourceQuota,Service: spec status
apps/v1 ControllerRevision: data=null revision=0
apps/v1 DaemonSet: spec.selector=null spec.template.metadata spec.template.spec.containers=null spec.updateStrategy
    status.currentNumberScheduled=0 status.numberMisscheduled=0 status.desiredNumberScheduled=0 status.numberReady=0
apps/v1 Deployment: spec.selector=null spec.template.metadata spec.template.spec.containers=null spec.strategy status
apps/v1 ReplicaSet: spec.selector=null spec.template.metadata spec.template.spec.containers=null status
apps/v1 StatefulSet: spec.selector=null spec.template.metadata spec.template.spec.containers=null spec.serviceName=""
    spec.updateStrategy status
batch/v1 Job: spec.template.metadata spec.template.spec.containers=null status
batch/v1 CronJob: spec.schedule="" spec.jobTemplate.metadata spec.jobTemplate.spec.template.metadata
    spec.jobTemplate.spec.template.spec.containers=null status
policy/v1 PodDisruptionBudget: spec status.disruptionsAllowed=0 status.currentHealthy=0 status.desiredHealthy=0
    status.expectedPods=0
discovery.k8s.io/v1 EndpointSlice: addressType="" endpoints=null ports=null
coordination.k8s.io/v1 Lease: spec
autoscaling/v1 HorizontalPodAutoscaler: spec.scaleTargetRef.kind="" spec.scaleTargetRef.name="" spec.maxReplicas=0
    status
autoscaling/v2 HorizontalPodAutoscaler: spec.scaleTargetRef.kind="" spec.scaleTargetRef.name="" spec.maxReplicas=0
    status
rbac.authorization.k8s.io/v1 Role,ClusterRole: rules=null
rbac.authorization.k8s.io/v1 RoleBinding,ClusterRoleBinding: roleRef.apiGroup="" roleRef.kind="" roleRef.name=""
admissionregistration.k8s.io/v1
    MutatingAdmissionPolicy,MutatingAdmissionPolicyBinding,ValidatingAdmissionPolicyBinding: spec
admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy: spec status
authorization.k8s.io/v1 LocalSubjectAccessReview,SelfSubjectAccessReview,SelfSubjectRulesReview,SubjectAccessReview:
    spec status
storage.k8s.io/v1 StorageClass: provisioner=""
storage.k8s.io/v1 VolumeAttachment: spec.attacher="" spec.source spec.nodeName="" status
storage.k8s.io/v1 CSIDriver: spec
storage.k8s.io/v1 CSINode: spec.drivers=null
storage.k8s.io/v1 CSIStorageCapacity: storageClassName=""
storage.k8s.io/v1 VolumeAttributesClass: driverName=""
networking.k8s.io/v1 NetworkPolicy: spec.podSelector
networking.k8s.io/v1 Ingress,ServiceCIDR: spec status
networking.k8s.io/v1 IngressClass,IPAddress: spec
scheduling.k8s.io/v1 PriorityClass: value=0
node.k8s.io/v1 RuntimeClass: handler=""
certificates.k8s.io/v1 CertificateSigningRequest: spec.request=null spec.signerName="" status
flowcontrol.apiserver.k8s.io/v1 FlowSchema: spec.priorityLevelConfiguration.name="" spec.matchingPrecedence=0 status
flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfiguration: spec.type="" status
apiextensions.k8s.io/v1 CustomResourceDefinition: spec.group="" spec.names.plural="" spec.names.kind="" spec.scope=""
    spec.versions=null status
apiregistration.k8s.io/v1 APIService: spec.groupPriorityMinimum=0 spec.versionPriority=0 status
"""
"""Kinds of a version, and what there is beside metadata: paths, with an empty object where no value is said."""


_VALUES: dict[str, object] = {"": {}, "null": None, "0": 0, '""': ""}


def _blanks() -> dict[tuple[str, str], Doc]:
    found: dict[tuple[str, str], Doc] = {}
    for line in _TABLE.replace("\n    ", " ").strip().splitlines():
        version, kinds, *paths = line.split()
        doc: Doc = {"metadata": {}}
        for each in paths:
            path, _, value = each.partition("=")
            doc = with_value(doc, tuple(path.split(".")), _VALUES[value])
        found |= {(version, kind): doc for kind in kinds[:-1].split(",")}
    return found


_BLANKS = _blanks()


def blank_of(api_version: str, kind: str) -> Doc:
    """A blank object of the kind; of an unknown kind (a custom resource) nothing but metadata."""
    return _BLANKS.get((api_version, kind), {"metadata": {}})
