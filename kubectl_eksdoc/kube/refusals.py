"""What a refusal means for the user: credentials that are not accepted, a right that is missing, no API at all."""

from __future__ import annotations

from kubectl_eksdoc.errors import Forbidden, Unauthorized
from kubectl_eksdoc.kube.answers import Answer, Refused
from kubectl_eksdoc.kube.config import Access


def forbidden(access: Access, answer: Answer, path: str, right: str) -> Forbidden:
    """`missing` is "" where it is not a right that is missing but the credentials."""
    refused = f"{access.target.server.url} refuses {right or path}: {answer.said}"
    if "system:anonymous" in answer.said:
        return Forbidden(
            refused, "No credentials were sent: the kubeconfig entry has no user, or the server ignores it."
        )
    all_over = right.startswith(("list ", "watch "))
    look = f"kubectl auth can-i {right} -A" if all_over else "kubectl auth can-i --list"
    return Forbidden(refused, f"Ask for the right, or look: {look}", right)


def unauthorized(access: Access, answer: Answer) -> Unauthorized:
    profile = f" --profile {access.eks.profile}" if access.eks.profile else ""
    hint = "The token may have expired, or belong to another cluster: check --context and --user."
    if access.target.user.plugin is not None and not access.target.user.token:
        hint = (
            f"Who you are: aws sts get-caller-identity{profile}. Sign in anew: aws sso login{profile}. "
            "If that is right, the cluster has no access entry (or aws-auth line) for this identity."
        )
    return Unauthorized(f"{access.target.server.url} does not accept {access.login}: {answer.said}", hint)


def not_json(access: Access, answer: Answer, path: str) -> Refused:
    kind = answer.headers.get("content-type", "no content type")
    return Refused(
        f"{access.target.server.url}{path} answered with {kind} instead of JSON: {answer.said}",
        "Is this the address of a Kubernetes API, and is no login page or proxy in between?",
    )


def redirected(access: Access, answer: Answer, path: str) -> Refused:
    where = answer.headers.get("location", "somewhere")
    return Refused(
        f"{access.target.server.url}{path} answered with a redirect to {where}; an API server does not do that",
        "A login page or a proxy stands in between.",
    )
