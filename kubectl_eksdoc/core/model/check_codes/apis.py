"""Codes about API versions that Kubernetes stops serving, and who still uses them."""

from __future__ import annotations

from kubectl_eksdoc.core.model.codes import Code

REQUESTED = Code(
    "api-requested",
    "Requests for an API that goes on the way",
    "The API server counts which deprecated APIs are asked for (apiserver_requested_deprecated_apis). It is one "
    "server's memory since it started, and does not say who asks: the audit log and EKS's insights do.",
)
WRITTEN = Code(
    "api-written",
    "Objects that are written in an API version that goes on the way",
    "kubectl's annotation tells in which version a manifest was applied, managedFields in which version a client "
    "wrote. The objects stay, in the version that follows; whoever writes the old one is refused. What the API server, "
    "EKS and controllers of the control plane write themselves passes.",
)
REFUSED = Code(
    "api-refused-today",
    "Manifests that the API server would refuse today",
    "Objects that were last applied in a version which is not served any more: their manifests cannot be applied again "
    "as they are.",
)
IN_HELM = Code(
    "api-in-helm",
    "Releases of Helm with an API version that goes on the way, or is gone",
    "Helm compares with the manifest that it has stored; once a version in it is not served, the next upgrade of the "
    "release fails. Releases that Helm keeps in Secrets are looked at, which is its default: only which objects are in "
    "them is read.",
)
IN_MANIFEST = Code(
    "api-in-manifest",
    "Manifests in files with an API version that goes on the way, or is gone",
    "Of the files that are named with --filename.",
)
