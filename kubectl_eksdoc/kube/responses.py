"""HTTP responses of the API server, and the errors for a refused request, as opposed to a cluster that cannot be
reached."""

from __future__ import annotations

import json
import math
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from functools import cached_property
from http.client import HTTPException, LineTooLong
from typing import Any
from urllib.parse import urlsplit

from kubectl_eksdoc.errors import ClusterError, Forbidden, Unauthorized, Unreachable, Untrusted
from kubectl_eksdoc.frozen import CachedProperties, frozen
from kubectl_eksdoc.held_secrets import without_held
from kubectl_eksdoc.kubernetes.api.resources import ApiStatus, Details, LostAnswer, StatusCause
from kubectl_eksdoc.kubernetes.guards import address, addresses_in

from .config import ApiAccess
from .target import utc_now

MOST_SAID = 4000
"""Characters of a message that are shown and stored: a body can have as many as fit into the largest answer."""

NO_API = "Is this the address of a Kubernetes API, and is no proxy in between?"

_MOST_READ = 1 << 16
"""Characters of a body that are decoded for a message; the rest is not shown."""


class NotServed(ClusterError):
    """404: the server does not know the resource."""


class ObjectNotFound(NotServed):
    """404 of one object by its name: the server knows the resource, and has no such object."""


class ContinueTokenExpired(ClusterError):
    """410: the continue token of a list is too old."""


class RequestRefused(ClusterError):
    """Any other refusal that a retry did not change."""


class Incomplete(Unreachable):
    """The server was reached, but no complete answer came."""


class ReadTimeout(Unreachable):
    """All reads together took longer than --read-timeout: nothing more can be read."""


@frozen
class HttpAnswer(CachedProperties):
    """Header names are lower-case. `document` is decoded once, on first use."""

    status: int
    body: bytes
    headers: Mapping[str, str]

    @property
    def date(self) -> datetime | None:
        return http_date(self.headers.get("date", ""))

    @property
    def is_json(self) -> bool:
        return self._media_type == "application/json"

    @property
    def is_text(self) -> bool:
        """Plain text, or no body: a 204 has no type."""
        return self._media_type == "text/plain" or (self.status == 204 and not self.body)

    @property
    def _media_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @cached_property
    def document(self) -> Mapping[str, Any]:
        """The JSON object in the body; {} where it is not one."""
        return _json_object(self.body) if self.is_json else {}

    @property
    def names_an_object(self) -> bool:
        """Whether it is a Status that names the object that it is about."""
        details = self.document.get("details")
        return self.document.get("kind") == "Status" and isinstance(details, dict) and bool(details.get("name"))

    @property
    def said(self) -> str:
        """The message of a Status, also of one with a content type other than JSON, or its reason where it has no
        message; else the beginning of the body."""
        document = self.document or _json_object(self.body[:_MOST_READ])
        for told in (document.get("message"), document.get("reason")):
            if isinstance(told, str) and told:
                return shown(told)
        return shown(" ".join(self.body[:_MOST_READ].decode("utf-8", "replace").split()))[:200]

    def retry_after(self, now: datetime) -> float | None:
        """Seconds that the server asks to wait (Retry-After: seconds or a date), None without that header."""
        value = self.headers.get("retry-after", "").strip()
        if value.isdecimal():
            return float(value)
        date = http_date(value)
        # By the server's own clock where there is a Date header.
        return max(0.0, (date - (self.date or now)).total_seconds()) if date else None


def _json_object(body: bytes) -> Mapping[str, Any]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def shown(message: str) -> str:
    """The message of another program as it is shown and stored: without the secrets that this process sent, and without
    those in URLs."""
    return addresses_in(without_held(message[:_MOST_READ]))[:MOST_SAID]


def http_date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    return date.astimezone(timezone.utc) if date.tzinfo else date.replace(tzinfo=timezone.utc)


# Errors below HTTP (DNS, TCP, TLS, proxy): the message, a hint, and whether a retry may help.


_BEHIND = "Is the cluster's endpoint private? Then a VPN, a bastion or a proxy is needed to reach it."
_HOSTNAME_ERRORS = (62, 64)  # X509_V_ERR_HOSTNAME_MISMATCH, _IP_ADDRESS_MISMATCH
_TIME_ERRORS = (9, 10)  # X509_V_ERR_CERT_NOT_YET_VALID, _HAS_EXPIRED


def breakdown(error: Exception, server: str, proxy: str, seconds: float) -> tuple[Unreachable, bool]:
    """The error of urllib3 as one of ours, and True if a retry may succeed.

    `timeout_s`: the time limit of the request, for the message of a timeout.
    """
    from urllib3 import exceptions

    causes = tuple(_causes(error))
    via = f" through the proxy {proxy}" if proxy else ""
    at = f"{server}{via}"

    def among(*kinds: type[BaseException]) -> BaseException | None:
        return next((cause for cause in causes if isinstance(cause, kinds)), None)

    if among(ssl.SSLEOFError, ssl.SSLZeroReturnError):
        return Incomplete(
            f"{at} cut the connection",
            "Something in between may do that (a firewall, a proxy), or the server wants a client certificate.",
        ), True
    tls = among(ssl.SSLError, exceptions.SSLError)
    if tls is not None and not among(exceptions.ProxyError):
        return _tls(causes, at), False
    if among(exceptions.NameResolutionError):
        name = urlsplit(proxy or server).hostname
        return Unreachable(
            f"{at} cannot be reached: the name {name} cannot be resolved",
            f"Check the name, DNS and the network. {_BEHIND}",
        ), True
    if among(ConnectionRefusedError):
        return Unreachable(f"{at} cannot be reached: the connection is refused", _BEHIND), True
    if among(exceptions.ConnectTimeoutError) and not among(exceptions.NewConnectionError):
        return Unreachable(f"{at} cannot be reached: no connection within {seconds:g} s", _BEHIND), True
    if among(exceptions.ReadTimeoutError) or (among(TimeoutError) and not among(exceptions.NewConnectionError)):
        return Incomplete(
            f"{at} gave no answer within {seconds:g} s",
            "The server is slow, or something in between (a proxy, a load balancer) keeps its answer. "
            "Allow more with --request-timeout TIME.",
        ), False
    endless = next((cause for cause in causes if type(cause) in (HTTPException, LineTooLong)), None)
    if endless is not None:
        return Incomplete(f"{at} answered as no API server does: {endless}", NO_API), False
    if among(exceptions.ProxyError):
        return Unreachable(f"{server} cannot be reached: the proxy {proxy} failed: {_innermost(causes)}"), True
    if among(exceptions.NewConnectionError):
        return Unreachable(f"{at} cannot be reached: {_innermost(causes)}", _BEHIND), True
    return Incomplete(f"{at} broke off its answer: {_innermost(causes)}"), True


def never_sent(error: Exception) -> bool:
    """Whether no connection was opened (to the server, or to the proxy), so that nothing of the request was sent."""
    from urllib3 import exceptions

    kinds = (exceptions.NewConnectionError, exceptions.ConnectTimeoutError)
    return any(isinstance(cause, kinds) for cause in _causes(error))


def _causes(error: BaseException) -> Iterator[BaseException]:
    """`error` and the errors wrapped in it: by chaining, as an argument, or as urllib3's attributes."""
    seen: set[int] = set()
    waiting: list[object] = [error]
    while waiting:
        one = waiting.pop(0)
        if not isinstance(one, BaseException) or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        waiting += [one.__cause__, one.__context__, getattr(one, "original_error", None), *one.args]


def _innermost(causes: tuple[BaseException, ...]) -> str:
    said = (text for cause in reversed(causes) if (text := str(cause).strip()))
    return shown(next(said, type(causes[0]).__name__))


def _tls(causes: tuple[BaseException, ...], at: str) -> Unreachable:
    refused = next((c for c in causes if isinstance(c, ssl.SSLCertVerificationError)), None)
    if refused is None:
        reason = next((c.reason for c in causes if isinstance(c, ssl.SSLError) and c.reason), "") or _innermost(causes)
        text = str(reason).lower().replace("_", " ")
        hint = "The server may speak plain http, or a proxy stands in between."
        if "certificate" in text:
            hint = "The server wants another client certificate: --client-certificate and --client-key."
        return Unreachable(f"{at} cannot be reached: TLS failed: {text}", hint)
    if refused.verify_code in _TIME_ERRORS:
        hint = "Is the clock of this machine right? Otherwise the server's certificate has to be renewed."
    elif refused.verify_code in _HOSTNAME_ERRORS:
        hint = "If you go through a tunnel, name the server with --tls-server-name."
    else:
        hint = (
            "The certificate authority of the kubeconfig is not the server's: update the entry (aws eks "
            "update-kubeconfig --name CLUSTER), or give --certificate-authority FILE."
        )
    return Untrusted(f"the certificate of {at} is not trusted: {refused.verify_message}", hint)


# Errors of HTTP responses: credentials that are not accepted, a missing permission, a server that is not an API server.


def error_of(
    access: ApiAccess, answer: HttpAnswer, path: str, right: str, tries: int = 1, wanted: str = "JSON"
) -> ClusterError:
    """The error of a response that is not 2xx with a body of the `expected_type`. `right` is the RBAC name of the
    request, e.g. ``list pods``; `tries`: how often the server answered like that."""
    server = access.target.server.address
    if 200 <= answer.status < 300:
        kind = shown(answer.headers.get("content-type", "no content type"))
        return RequestRefused(
            f"{server}{path} answered with {kind} instead of {wanted}: {answer.said}",
            "Is this the address of a Kubernetes API, and is no login page or proxy in between?",
        )
    if answer.status == 401:
        return _unauthorized(access, answer)
    if answer.status == 403:
        return _forbidden(access, answer, path, right)
    if answer.status == 404 and answer.names_an_object:
        return ObjectNotFound(answer.said)
    if answer.status == 404:
        return NotServed(f"{server} does not serve {path}", "Is this the address of a Kubernetes API?")
    if answer.status == 410:
        return ContinueTokenExpired(answer.said)
    if 300 <= answer.status < 400:
        where = address(shown(answer.headers.get("location", "somewhere")))
        return RequestRefused(
            f"{server}{path} answered with a redirect to {where}; an API server does not do that",
            "A login page or a proxy stands in between.",
        )
    times = f" ({tries} tries)" if tries > 1 else ""
    return RequestRefused(f"{server}{path} answered {answer.status}{times}: {answer.said}")


def _forbidden(access: ApiAccess, answer: HttpAnswer, path: str, right: str) -> Forbidden:
    """`missing` is "" where the credentials are missing, not a permission."""
    refused = f"{access.target.server.address} refuses {right or path}: {answer.said}"
    if "system:anonymous" in answer.said:
        return Forbidden(
            refused, "No credentials were sent: the kubeconfig entry has no user, or the server ignores it."
        )
    all_over = right.startswith(("list ", "watch "))
    look = f"kubectl auth can-i {right} -A" if all_over else "kubectl auth can-i --list"
    return Forbidden(refused, f"Ask for the right, or look: {look}", right)


def _unauthorized(access: ApiAccess, answer: HttpAnswer) -> Unauthorized:
    profile = f" --profile {access.eks.profile}" if access.eks.profile else ""
    hint = "The token may have expired, or belong to another cluster: check --context and --user."
    if access.target.user.plugin is not None and not access.target.user.token:
        hint = (
            f"Who you are: aws sts get-caller-identity{profile}. Sign in again: aws sso login{profile}. If that is "
            "right, the cluster has no access entry (or aws-auth line) for this identity."
        )
    return Unauthorized(f"{access.target.server.address} does not accept {access.login}: {answer.said}", hint)


# An HTTP response as a Status: the server's own document where there is one, else one made from code and body.


def status_of(answer: HttpAnswer) -> ApiStatus | LostAnswer:
    """`LostAnswer` where the response is not from an API server: a redirect, or a success whose body is not a JSON
    object. Then the outcome of the request is unknown.

    A document that is not a Status, such as the patched object, is a success without a message.
    """
    if 300 <= answer.status < 400:
        return LostAnswer(
            f"it was answered with a redirect to {address(shown(answer.headers.get('location', 'somewhere')))}"
        )
    document = answer.document
    if answer.status < 300 and not document:
        return LostAnswer(f"it was answered with something that is no object in JSON: {answer.said}")
    if document.get("kind") != "Status":
        found = ApiStatus(answer.status, message="" if answer.status < 300 else answer.said)
    else:
        found = _told(answer.status, document)
    # With the Retry-After header where the document has no retryAfterSeconds.
    asked = None if found.ok else answer.retry_after(utc_now())
    details = found.details or Details()
    if not asked or details.retry_after_s:
        return found
    return replace(found, details=replace(details, retry_after_s=math.ceil(asked)))


def _told(code: int, document: Mapping[str, Any]) -> ApiStatus:
    """The code is the one of HTTP; some failures come as a 200 whose document says that it failed."""
    if code < 300 and document.get("status") == "Failure":
        inner = document.get("code")
        code = inner if isinstance(inner, int) and inner >= 400 else 500
    details = document.get("details")
    return ApiStatus(
        code,
        _text(document, "reason"),
        shown(_text(document, "message")),
        _details(details) if isinstance(details, dict) else None,
    )


def _details(given: Mapping[str, Any]) -> Details:
    causes, retry = given.get("causes"), given.get("retryAfterSeconds")
    return Details(
        name=_text(given, "name"),
        group=_text(given, "group"),
        kind=_text(given, "kind"),
        uid=_text(given, "uid"),
        causes=tuple(
            StatusCause(_text(each, "reason"), shown(_text(each, "message")), _text(each, "field"))
            for each in (causes if isinstance(causes, list) else ())
            if isinstance(each, dict)
        ),
        retry_after_s=retry if isinstance(retry, int) and retry > 0 else 0,
    )


def _text(given: Mapping[str, Any], key: str) -> str:
    value = given.get(key)
    return value if isinstance(value, str) else ""
