"""What an object of a kind holds before anybody writes anything: fields that Go's types always have.

A create is compared with such a blank object, so its author does not own an object or list that was there already,
only what is in it: ``f:spec`` and ``f:containers`` of a new pod have no ``.`` of their own, ``f:labels`` has. Derived
from the struct fields of k8s.io/api that are no pointers and lack omitempty; status is on every blank that has one.
"""

from __future__ import annotations

from collections.abc import Mapping

from kubectl_eksdoc.model.api_objects import Doc

_SPEC_AND_STATUS: Doc = {"metadata": {}, "spec": {}, "status": {}}
_SPEC: Doc = {"metadata": {}, "spec": {}}
_METADATA: Doc = {"metadata": {}}
_POD_SPEC: Doc = {"containers": None}
_TEMPLATE: Doc = {"metadata": {}, "spec": _POD_SPEC}
_ROLE_REF: Doc = {"metadata": {}, "roleRef": {"apiGroup": "", "kind": "", "name": ""}}
_AUTOSCALER: Doc = {
    "metadata": {},
    "spec": {"scaleTargetRef": {"kind": "", "name": ""}, "maxReplicas": 0},
    "status": {},
}


def _spec(**always: object) -> Doc:
    return {"metadata": {}, "spec": always, "status": {}}


def _zeros(*numbers: str) -> Doc:
    return dict.fromkeys(numbers, 0)


_BLANKS: Mapping[tuple[str, str], Doc] = {
    ("v1", "Pod"): _spec(**_POD_SPEC),
    ("v1", "PodTemplate"): {"metadata": {}, "template": _TEMPLATE},
    ("v1", "PersistentVolumeClaim"): _spec(resources={}),
    ("v1", "LimitRange"): {"metadata": {}, "spec": {"limits": None}},
    ("v1", "Event"): {
        "metadata": {},
        "involvedObject": {},
        "source": {},
        "firstTimestamp": None,
        "lastTimestamp": None,
        "eventTime": None,
        "reportingComponent": "",
        "reportingInstance": "",
    },
    **{
        ("v1", kind): _SPEC_AND_STATUS
        for kind in ("Namespace", "Node", "PersistentVolume", "ReplicationController", "ResourceQuota", "Service")
    },
    ("apps/v1", "ControllerRevision"): {"metadata": {}, "data": None, "revision": 0},
    ("apps/v1", "DaemonSet"): {
        **_spec(selector=None, template=_TEMPLATE, updateStrategy={}),
        "status": _zeros("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"),
    },
    ("apps/v1", "Deployment"): _spec(selector=None, template=_TEMPLATE, strategy={}),
    ("apps/v1", "ReplicaSet"): _spec(selector=None, template=_TEMPLATE),
    ("apps/v1", "StatefulSet"): _spec(selector=None, template=_TEMPLATE, serviceName="", updateStrategy={}),
    ("batch/v1", "Job"): _spec(template=_TEMPLATE),
    ("batch/v1", "CronJob"): _spec(schedule="", jobTemplate={"metadata": {}, "spec": {"template": _TEMPLATE}}),
    ("policy/v1", "PodDisruptionBudget"): {
        **_SPEC_AND_STATUS,
        "status": _zeros("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"),
    },
    ("discovery.k8s.io/v1", "EndpointSlice"): {"metadata": {}, "addressType": "", "endpoints": None, "ports": None},
    ("coordination.k8s.io/v1", "Lease"): _SPEC,
    ("autoscaling/v1", "HorizontalPodAutoscaler"): _AUTOSCALER,
    ("autoscaling/v2", "HorizontalPodAutoscaler"): _AUTOSCALER,
    ("rbac.authorization.k8s.io/v1", "Role"): {"metadata": {}, "rules": None},
    ("rbac.authorization.k8s.io/v1", "ClusterRole"): {"metadata": {}, "rules": None},
    ("rbac.authorization.k8s.io/v1", "RoleBinding"): _ROLE_REF,
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"): _ROLE_REF,
    **{
        ("admissionregistration.k8s.io/v1", kind): _SPEC
        for kind in (
            "MutatingAdmissionPolicy",
            "MutatingAdmissionPolicyBinding",
            "ValidatingAdmissionPolicyBinding",
        )
    },
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"): _SPEC_AND_STATUS,
    **{
        ("authorization.k8s.io/v1", kind): _SPEC_AND_STATUS
        for kind in (
            "LocalSubjectAccessReview",
            "SelfSubjectAccessReview",
            "SelfSubjectRulesReview",
            "SubjectAccessReview",
        )
    },
    ("storage.k8s.io/v1", "StorageClass"): {"metadata": {}, "provisioner": ""},
    ("storage.k8s.io/v1", "VolumeAttachment"): _spec(attacher="", source={}, nodeName=""),
    ("storage.k8s.io/v1", "CSIDriver"): _SPEC,
    ("storage.k8s.io/v1", "CSINode"): {"metadata": {}, "spec": {"drivers": None}},
    ("storage.k8s.io/v1", "CSIStorageCapacity"): {"metadata": {}, "storageClassName": ""},
    ("storage.k8s.io/v1", "VolumeAttributesClass"): {"metadata": {}, "driverName": ""},
    ("networking.k8s.io/v1", "NetworkPolicy"): {"metadata": {}, "spec": {"podSelector": {}}},
    ("networking.k8s.io/v1", "Ingress"): _SPEC_AND_STATUS,
    ("networking.k8s.io/v1", "IngressClass"): _SPEC,
    ("networking.k8s.io/v1", "IPAddress"): _SPEC,
    ("networking.k8s.io/v1", "ServiceCIDR"): _SPEC_AND_STATUS,
    ("scheduling.k8s.io/v1", "PriorityClass"): {"metadata": {}, "value": 0},
    ("node.k8s.io/v1", "RuntimeClass"): {"metadata": {}, "handler": ""},
    ("certificates.k8s.io/v1", "CertificateSigningRequest"): _spec(request=None, signerName=""),
    ("flowcontrol.apiserver.k8s.io/v1", "FlowSchema"): _spec(
        priorityLevelConfiguration={"name": ""}, matchingPrecedence=0
    ),
    ("flowcontrol.apiserver.k8s.io/v1", "PriorityLevelConfiguration"): _spec(type=""),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"): _spec(
        group="", names={"plural": "", "kind": ""}, scope="", versions=None
    ),
    ("apiregistration.k8s.io/v1", "APIService"): _spec(groupPriorityMinimum=0, versionPriority=0),
}


def blank_of(api_version: str, kind: str) -> Doc:
    """A blank object of the kind; of an unknown kind (a custom resource) nothing but metadata."""
    return _BLANKS.get((api_version, kind), _METADATA)
