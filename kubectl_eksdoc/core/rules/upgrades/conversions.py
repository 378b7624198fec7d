"""How a manifest is brought to another API version: kubectl convert, and what it leaves to people.

Source, if none is named: kubernetes.io, Deprecated API Migration Guide ("Notable changes").
"""

from __future__ import annotations

from dataclasses import dataclass

from kubectl_eksdoc.core.model.commands import shell
from kubectl_eksdoc.core.model.knowledge import Source
from kubectl_eksdoc.core.rules.upgrades.removed_apis import RemovedApi

GUIDE = Source("kubernetes.io, Deprecated API Migration Guide")
PLUGIN = "kubectl convert is a plugin of its own (kubectl-convert); it knows Kubernetes' own kinds, no custom resources"


def convert(file: str, api_version: str) -> str:
    """The command that prints the manifests of a file in that version."""
    return shell("kubectl", "convert", "-f", file, "--output-version", api_version)


@dataclass(frozen=True, slots=True)
class ByHand:
    """`kind` in the `api_versions`: `what` convert cannot know, a sentence; `fields` that it is about."""

    kind: str
    api_versions: tuple[str, ...]
    what: str
    fields: tuple[str, ...] = ()
    source: Source = GUIDE


_EXTENSIONS, _NETWORKING = "extensions/v1beta1", "networking.k8s.io/v1beta1"
_ADMISSION, _CRD = "admissionregistration.k8s.io/v1beta1", "apiextensions.k8s.io/v1beta1"
_APPS = (_EXTENSIONS, "apps/v1beta1", "apps/v1beta2")
_WEBHOOKS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")

_BY_HAND = (
    ByHand(
        "PodDisruptionBudget",
        ("policy/v1beta1",),
        "An empty selector ({}) selects every pod of the namespace in policy/v1; in v1beta1 it selected none.",
        ("spec.selector",),
    ),
    ByHand(
        "PodSecurityPolicy",
        (_EXTENSIONS, "policy/v1beta1"),
        "Nothing replaces it: use Pod Security Admission or another policy engine before the upgrade.",
        source=Source("kubernetes.io, Deprecated API Migration Guide; EKS user guide, 1.25"),
    ),
    ByHand(
        "Ingress",
        (_EXTENSIONS, _NETWORKING),
        "Each path needs a pathType; ImplementationSpecific is what an Ingress without one meant.",
        ("spec.rules[*].http.paths[*].pathType",),
    ),
    ByHand(
        "Ingress",
        (_EXTENSIONS, _NETWORKING),
        "Backends are renamed: backend to defaultBackend, serviceName to service.name, and servicePort to"
        " service.port.number or service.port.name, by whether it is a number. Templates that write the old"
        " names need new ones.",
        ("spec.backend", "spec.rules[*].http.paths[*].backend"),
    ),
    ByHand(
        "HorizontalPodAutoscaler",
        ("autoscaling/v2beta1",),
        "Metrics are written otherwise: targetAverageUtilization becomes target.averageUtilization with target.type,"
        " and the like for values.",
        ("spec.metrics[*]",),
    ),
    ByHand(
        "CustomResourceDefinition",
        (_CRD,),
        "Each version needs a structural schema; scope must be said; version, validation, subresources and"
        " additionalPrinterColumns move into versions[*]; the conversion webhook moves below conversion.webhook.",
        ("spec.versions[*].schema.openAPIV3Schema", "spec.scope", "spec.version", "spec.validation", "spec.conversion"),
    ),
    ByHand(
        "CustomResourceDefinition",
        (_CRD,),
        "preserveUnknownFields: true is refused; say x-kubernetes-preserve-unknown-fields in the schema.",
        ("spec.preserveUnknownFields",),
    ),
    *(
        ByHand(
            kind,
            (_ADMISSION,),
            "sideEffects (None or NoneOnDryRun) and admissionReviewVersions are required, and the webhook must answer"
            " in a version that it names.",
            ("webhooks[*].sideEffects", "webhooks[*].admissionReviewVersions"),
        )
        for kind in _WEBHOOKS
    ),
    *(
        ByHand(
            kind,
            (_ADMISSION,),
            "Defaults change: failurePolicy Ignore to Fail, matchPolicy Exact to Equivalent, timeoutSeconds 30 to 10.",
            ("webhooks[*].failurePolicy", "webhooks[*].matchPolicy", "webhooks[*].timeoutSeconds"),
        )
        for kind in _WEBHOOKS
    ),
    *(
        ByHand(
            kind,
            _APPS,
            "spec.selector is required and cannot be changed later: take the labels that the template has.",
            ("spec.selector",),
        )
        for kind in ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")
    ),
    ByHand(
        "Deployment",
        (_EXTENSIONS, "apps/v1beta1"),
        "Defaults change (progressDeadlineSeconds 600, revisionHistoryLimit 10, 25 % for maxSurge and maxUnavailable),"
        " and rollbackTo is gone.",
        ("spec.strategy", "spec.rollbackTo"),
    ),
    *(
        ByHand(
            kind,
            ("apps/v1beta1", _EXTENSIONS),
            "updateStrategy.type is RollingUpdate if nothing is said; it was OnDelete.",
            ("spec.updateStrategy",),
        )
        for kind in ("DaemonSet", "StatefulSet")
    ),
    ByHand(
        "CertificateSigningRequest",
        ("certificates.k8s.io/v1beta1",),
        "signerName and usages are required, and kubernetes.io/legacy-unknown is refused.",
        ("spec.signerName", "spec.usages"),
    ),
    ByHand(
        "EndpointSlice",
        ("discovery.k8s.io/v1beta1",),
        "topology is gone: who reads it takes nodeName and zone of each endpoint.",
        ("endpoints[*].topology",),
    ),
    ByHand(
        "Event",
        ("events.k8s.io/v1beta1",),
        "Fields are renamed and required (regarding, eventTime, action, reason, reportingController); clients that"
        " write events need a newer library.",
    ),
    *(
        ByHand(
            kind,
            ("authorization.k8s.io/v1beta1",),
            "spec.group is called spec.groups; it is clients that send these, no manifests.",
            ("spec.group",),
        )
        for kind in ("LocalSubjectAccessReview", "SubjectAccessReview")
    ),
    *(
        ByHand(
            "PriorityLevelConfiguration",
            (f"flowcontrol.apiserver.k8s.io/{version}",),
            "assuredConcurrencyShares is called nominalConcurrencyShares from v1beta3 on.",
            ("spec.limited.assuredConcurrencyShares",),
        )
        for version in ("v1alpha1", "v1beta1", "v1beta2")
    ),
    ByHand(
        "PriorityLevelConfiguration",
        ("flowcontrol.apiserver.k8s.io/v1beta3",),
        "In v1 a nominalConcurrencyShares of 0 stays 0; only one that is not said becomes 30.",
        ("spec.limited.nominalConcurrencyShares",),
    ),
    ByHand(
        "ExecCredential",
        ("client.authentication.k8s.io/v1alpha1",),
        "It stands in kubeconfigs: write them anew with a current AWS CLI (aws eks update-kubeconfig).",
        source=Source("EKS user guide, kubeconfig and 1.24"),
    ),
)


def by_hand(row: RemovedApi) -> tuple[ByHand, ...]:
    """What is left to people after convert; none where it suffices, as far as the guide says."""
    return tuple(each for each in _BY_HAND if each.kind == row.kind and row.api_version in each.api_versions)


def convertible(row: RemovedApi) -> bool:
    """Whether kubectl convert does anything about it: it must be an object, and something must replace it."""
    return bool(row.resource and row.replacement) and row.kind != "PodSecurityPolicy"
