"""What a refusal means for the user: credentials that are not accepted, a right that is missing, no API at all."""

from __future__ import annotations

from kubectl_eksdoc.core.rules.addresses import address
from kubectl_eksdoc.errors import ClusterError, Forbidden, Unauthorized
from kubectl_eksdoc.kube.answers import Absent, Answer, Expired, NotServed, Refused, shown
from kubectl_eksdoc.kube.config import Access


def error_of(
    access: Access, answer: Answer, path: str, right: str, tries: int = 1, wanted: str = "JSON"
) -> ClusterError:
    """What is wrong with an answer that is not 2xx with what was `wanted`. `right` is what RBAC calls the request, e.g.
    ``list pods``; `tries`: so often it was answered like that."""
    server = access.target.server.address
    if 200 <= answer.status < 300:
        return _something_else(access, answer, path, wanted)
    if answer.status == 401:
        return _unauthorized(access, answer)
    if answer.status == 403:
        return _forbidden(access, answer, path, right)
    if answer.status == 404 and answer.names_an_object:
        return Absent(answer.said)
    if answer.status == 404:
        return NotServed(f"{server} does not serve {path}", "Is this the address of a Kubernetes API?")
    if answer.status == 410:
        return Expired(answer.said)
    if 300 <= answer.status < 400:
        return _redirected(access, answer, path)
    times = f" ({tries} tries)" if tries > 1 else ""
    return Refused(f"{server}{path} answered {answer.status}{times}: {answer.said}")


def _forbidden(access: Access, answer: Answer, path: str, right: str) -> Forbidden:
    """`missing` is "" where it is not a right that is missing but the credentials."""
    refused = f"{access.target.server.address} refuses {right or path}: {answer.said}"
    if "system:anonymous" in answer.said:
        return Forbidden(
            refused, "No credentials were sent: the kubeconfig entry has no user, or the server ignores it."
        )
    all_over = right.startswith(("list ", "watch "))
    look = f"kubectl auth can-i {right} -A" if all_over else "kubectl auth can-i --list"
    return Forbidden(refused, f"Ask for the right, or look: {look}", right)


def _unauthorized(access: Access, answer: Answer) -> Unauthorized:
    profile = f" --profile {access.eks.profile}" if access.eks.profile else ""
    hint = "The token may have expired, or belong to another cluster: check --context and --user."
    if access.target.user.plugin is not None and not access.target.user.token:
        hint = (
            f"Who you are: aws sts get-caller-identity{profile}. Sign in anew: aws sso login{profile}. "
            "If that is right, the cluster has no access entry (or aws-auth line) for this identity."
        )
    return Unauthorized(f"{access.target.server.address} does not accept {access.login}: {answer.said}", hint)


def _something_else(access: Access, answer: Answer, path: str, wanted: str) -> Refused:
    kind = shown(answer.headers.get("content-type", "no content type"))
    return Refused(
        f"{access.target.server.address}{path} answered with {kind} instead of {wanted}: {answer.said}",
        "Is this the address of a Kubernetes API, and is no login page or proxy in between?",
    )


def _redirected(access: Access, answer: Answer, path: str) -> Refused:
    where = address(shown(answer.headers.get("location", "somewhere")))
    return Refused(
        f"{access.target.server.address}{path} answered with a redirect to {where}; an API server does not do that",
        "A login page or a proxy stands in between.",
    )
