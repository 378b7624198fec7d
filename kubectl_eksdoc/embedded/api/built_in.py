"""The resources kube-apiserver 1.36.2 serves by itself; the tests compare whole recorded discovery answers."""

from __future__ import annotations

from kubectl_eksdoc.embedded.api.resources import ALL_VERBS, READ_AND_WRITE, Served, Subresource

GROUP_PRIORITIES = {
    "apiregistration.k8s.io": 20000,
    "apps": 17800,
    "events.k8s.io": 17750,
    "authentication.k8s.io": 17700,
    "authorization.k8s.io": 17600,
    "autoscaling": 17500,
    "batch": 17400,
    "certificates.k8s.io": 17300,
    "networking.k8s.io": 17200,
    "policy": 17100,
    "rbac.authorization.k8s.io": 17000,
    "storage.k8s.io": 16800,
    "admissionregistration.k8s.io": 16700,
    "apiextensions.k8s.io": 16700,
    "scheduling.k8s.io": 16600,
    "coordination.k8s.io": 16500,
    "node.k8s.io": 16300,
    "discovery.k8s.io": 16200,
    "resource.k8s.io": 16200,
    "flowcontrol.apiserver.k8s.io": 16100,
}
"""In which order ``/apis`` lists the groups: the highest first, and by name where two are equal.

The order is the recorded one; the numbers only have to stay above 1000, which groups of custom resources get.
"""

_CREATE = ("create",)
_CREATE_GET = ("create", "get")
_PROXY = ("create", "delete", "get", "patch", "update")
_SCALE = Subresource("scale", "Scale", READ_AND_WRITE, "autoscaling", "v1")


def _served(
    group_version: str,
    kind: str,
    plural: str,
    namespaced: bool = True,
    *,
    short: str = "",
    category: str = "",
    verbs: tuple[str, ...] = ALL_VERBS,
    sub: tuple[Subresource, ...] = (),
    status: bool = False,
) -> Served:
    """One resource; `short` are its short names in one word each, `status` stands for the usual subresource."""
    group, _, version = group_version.rpartition("/")
    subresources = (*sub, Subresource("status", kind, READ_AND_WRITE)) if status else sub
    return Served(
        group,
        version,
        plural,
        kind.lower(),
        kind,
        namespaced,
        verbs,
        tuple(short.split()),
        tuple(category.split()),
        tuple(sorted(subresources, key=lambda s: s.name)),
    )


_POD_SUBRESOURCES = (
    Subresource("attach", "PodAttachOptions", _CREATE_GET),
    Subresource("binding", "Binding", _CREATE),
    Subresource("ephemeralcontainers", "Pod", READ_AND_WRITE),
    Subresource("eviction", "Eviction", _CREATE, "policy", "v1"),
    Subresource("exec", "PodExecOptions", _CREATE_GET),
    Subresource("log", "Pod", ("get",)),
    Subresource("portforward", "PodPortForwardOptions", _CREATE_GET),
    Subresource("proxy", "PodProxyOptions", _PROXY),
    Subresource("resize", "Pod", READ_AND_WRITE),
)

_CORE = (
    _served("v1", "Binding", "bindings", verbs=_CREATE),
    _served("v1", "ComponentStatus", "componentstatuses", False, short="cs", verbs=("get", "list")),
    _served("v1", "ConfigMap", "configmaps", short="cm"),
    _served("v1", "Endpoints", "endpoints", short="ep"),
    _served("v1", "Event", "events", short="ev"),
    _served("v1", "LimitRange", "limitranges", short="limits"),
    _served(
        "v1",
        "Namespace",
        "namespaces",
        False,
        short="ns",
        verbs=tuple(verb for verb in ALL_VERBS if verb != "deletecollection"),
        sub=(Subresource("finalize", "Namespace", ("update",)),),
        status=True,
    ),
    _served(
        "v1", "Node", "nodes", False, short="no", sub=(Subresource("proxy", "NodeProxyOptions", _PROXY),), status=True
    ),
    _served("v1", "PersistentVolumeClaim", "persistentvolumeclaims", short="pvc", status=True),
    _served("v1", "PersistentVolume", "persistentvolumes", False, short="pv", status=True),
    _served("v1", "Pod", "pods", short="po", category="all", sub=_POD_SUBRESOURCES, status=True),
    _served("v1", "PodTemplate", "podtemplates"),
    _served(
        "v1", "ReplicationController", "replicationcontrollers", short="rc", category="all", sub=(_SCALE,), status=True
    ),
    _served("v1", "ResourceQuota", "resourcequotas", short="quota", status=True),
    _served("v1", "Secret", "secrets"),
    _served(
        "v1",
        "ServiceAccount",
        "serviceaccounts",
        short="sa",
        sub=(Subresource("token", "TokenRequest", _CREATE, "authentication.k8s.io", "v1"),),
    ),
    _served(
        "v1",
        "Service",
        "services",
        short="svc",
        category="all",
        sub=(Subresource("proxy", "ServiceProxyOptions", _PROXY),),
        status=True,
    ),
)

_WORKLOADS = (
    _served("apps/v1", "ControllerRevision", "controllerrevisions"),
    _served("apps/v1", "DaemonSet", "daemonsets", short="ds", category="all", status=True),
    _served("apps/v1", "Deployment", "deployments", short="deploy", category="all", sub=(_SCALE,), status=True),
    _served("apps/v1", "ReplicaSet", "replicasets", short="rs", category="all", sub=(_SCALE,), status=True),
    _served("apps/v1", "StatefulSet", "statefulsets", short="sts", category="all", sub=(_SCALE,), status=True),
    _served(
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        short="hpa",
        category="all",
        status=True,
    ),
    _served(
        "autoscaling/v1",
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        short="hpa",
        category="all",
        status=True,
    ),
    _served("batch/v1", "CronJob", "cronjobs", short="cj", category="all", status=True),
    _served("batch/v1", "Job", "jobs", category="all", status=True),
    _served("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", short="pdb", status=True),
    _served("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", False, short="pc"),
)

_IDENTITY = (
    _served("authentication.k8s.io/v1", "SelfSubjectReview", "selfsubjectreviews", False, verbs=_CREATE),
    _served("authentication.k8s.io/v1", "TokenReview", "tokenreviews", False, verbs=_CREATE),
    _served("authorization.k8s.io/v1", "LocalSubjectAccessReview", "localsubjectaccessreviews", verbs=_CREATE),
    _served("authorization.k8s.io/v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", False, verbs=_CREATE),
    _served("authorization.k8s.io/v1", "SelfSubjectRulesReview", "selfsubjectrulesreviews", False, verbs=_CREATE),
    _served("authorization.k8s.io/v1", "SubjectAccessReview", "subjectaccessreviews", False, verbs=_CREATE),
    _served(
        "certificates.k8s.io/v1",
        "CertificateSigningRequest",
        "certificatesigningrequests",
        False,
        short="csr",
        sub=(Subresource("approval", "CertificateSigningRequest", READ_AND_WRITE),),
        status=True,
    ),
    _served("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings", False),
    _served("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", False),
    _served("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings"),
    _served("rbac.authorization.k8s.io/v1", "Role", "roles"),
)

_NETWORK_AND_STORAGE = (
    _served("networking.k8s.io/v1", "IngressClass", "ingressclasses", False),
    _served("networking.k8s.io/v1", "Ingress", "ingresses", short="ing", status=True),
    _served("networking.k8s.io/v1", "IPAddress", "ipaddresses", False, short="ip"),
    _served("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", short="netpol"),
    _served("networking.k8s.io/v1", "ServiceCIDR", "servicecidrs", False, status=True),
    _served("discovery.k8s.io/v1", "EndpointSlice", "endpointslices"),
    _served("storage.k8s.io/v1", "CSIDriver", "csidrivers", False),
    _served("storage.k8s.io/v1", "CSINode", "csinodes", False),
    _served("storage.k8s.io/v1", "CSIStorageCapacity", "csistoragecapacities"),
    _served("storage.k8s.io/v1", "StorageClass", "storageclasses", False, short="sc"),
    _served("storage.k8s.io/v1", "VolumeAttachment", "volumeattachments", False, status=True),
    _served("storage.k8s.io/v1", "VolumeAttributesClass", "volumeattributesclasses", False, short="vac"),
)

_EXTENSION = "api-extensions"
_ADMISSION = "admissionregistration.k8s.io/v1"

_MACHINERY = (
    _served("apiregistration.k8s.io/v1", "APIService", "apiservices", False, category=_EXTENSION, status=True),
    _served("events.k8s.io/v1", "Event", "events", short="ev"),
    _served(_ADMISSION, "MutatingAdmissionPolicy", "mutatingadmissionpolicies", False, category=_EXTENSION),
    _served(
        _ADMISSION, "MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings", False, category=_EXTENSION
    ),
    _served(_ADMISSION, "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", False, category=_EXTENSION),
    _served(
        _ADMISSION, "ValidatingAdmissionPolicy", "validatingadmissionpolicies", False, category=_EXTENSION, status=True
    ),
    _served(
        _ADMISSION, "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", False, category=_EXTENSION
    ),
    _served(
        _ADMISSION, "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", False, category=_EXTENSION
    ),
    _served(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        False,
        short="crd crds",
        category=_EXTENSION,
        status=True,
    ),
    _served("coordination.k8s.io/v1", "Lease", "leases"),
    _served("node.k8s.io/v1", "RuntimeClass", "runtimeclasses", False),
    _served("resource.k8s.io/v1", "DeviceClass", "deviceclasses", False),
    _served("resource.k8s.io/v1", "ResourceClaim", "resourceclaims", status=True),
    _served("resource.k8s.io/v1", "ResourceClaimTemplate", "resourceclaimtemplates"),
    _served("resource.k8s.io/v1", "ResourceSlice", "resourceslices", False),
    _served("flowcontrol.apiserver.k8s.io/v1", "FlowSchema", "flowschemas", False, status=True),
    _served(
        "flowcontrol.apiserver.k8s.io/v1",
        "PriorityLevelConfiguration",
        "prioritylevelconfigurations",
        False,
        status=True,
    ),
)

BUILT_IN: tuple[Served, ...] = (*_CORE, *_WORKLOADS, *_IDENTITY, *_NETWORK_AND_STORAGE, *_MACHINERY)
