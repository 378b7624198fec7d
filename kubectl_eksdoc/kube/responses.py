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
from kubectl_eksdoc.held_secrets import redact_held
from kubectl_eksdoc.kubernetes.api.resources import ApiStatus, LostResponse, StatusCause, StatusDetails
from kubectl_eksdoc.kubernetes.guards import redact_url, redact_urls

from .config import ApiAccess
from .target import utc_now

MAX_MESSAGE = 4000
"""Characters of a message that are shown and stored: a body can have as many as fit into the largest answer."""

NO_API_HINT = "Is this the address of a Kubernetes API, and is no proxy in between?"

_MAX_PARSED = 1 << 16
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
class HttpResponse(CachedProperties):
    """Header names are lower-case. `document` is decoded once, on first use."""

    status: int
    body: bytes
    headers: Mapping[str, str]

    @property
    def server_time(self) -> datetime | None:
        return parse_http_date(self.headers.get("date", ""))

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
    def message(self) -> str:
        """The message of a Status, also of one with a content type other than JSON, or its reason where it has no
        message; else the beginning of the body."""
        document = self.document or _json_object(self.body[:_MAX_PARSED])
        for text in (document.get("message"), document.get("reason")):
            if isinstance(text, str) and text:
                return safe_message(text)
        return safe_message(" ".join(self.body[:_MAX_PARSED].decode("utf-8", "replace").split()))[:200]

    def retry_after(self, now: datetime) -> float | None:
        """Seconds that the server asks to wait (Retry-After: seconds or a date), None without that header."""
        value = self.headers.get("retry-after", "").strip()
        if value.isdecimal():
            return float(value)
        date = parse_http_date(value)
        # By the server's own clock where there is a Date header.
        return max(0.0, (date - (self.server_time or now)).total_seconds()) if date else None


def _json_object(body: bytes) -> Mapping[str, Any]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def safe_message(message: str) -> str:
    """The message of another program as it is shown and stored: without the secrets that this process sent, and without
    those in URLs."""
    return redact_urls(redact_held(message[:_MAX_PARSED]))[:MAX_MESSAGE]


def parse_http_date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    return date.astimezone(timezone.utc) if date.tzinfo else date.replace(tzinfo=timezone.utc)


# Errors below HTTP (DNS, TCP, TLS, proxy): the message, a hint, and whether a retry may help.


_PRIVATE_ENDPOINT_HINT = "Is the cluster's endpoint private? Then a VPN, a bastion or a proxy is needed to reach it."
_HOSTNAME_ERRORS = (62, 64)  # X509_V_ERR_HOSTNAME_MISMATCH, _IP_ADDRESS_MISMATCH
_TIME_ERRORS = (9, 10)  # X509_V_ERR_CERT_NOT_YET_VALID, _HAS_EXPIRED


def connection_error(error: Exception, server: str, proxy: str, timeout_s: float) -> tuple[Unreachable, bool]:
    """The error of urllib3 as one of ours, and True if a retry may succeed.

    `timeout_s`: the time limit of the request, for the message of a timeout.
    """
    from urllib3 import exceptions

    causes = tuple(_causes(error))
    via_proxy = f" through the proxy {proxy}" if proxy else ""
    server_via_proxy = f"{server}{via_proxy}"

    def first_of(*kinds: type[BaseException]) -> BaseException | None:
        return next((cause for cause in causes if isinstance(cause, kinds)), None)

    if first_of(ssl.SSLEOFError, ssl.SSLZeroReturnError):
        return Incomplete(
            f"{server_via_proxy} cut the connection",
            "Something in between may do that (a firewall, a proxy), or the server wants a client certificate.",
        ), True
    tls = first_of(ssl.SSLError, exceptions.SSLError)
    if tls is not None and not first_of(exceptions.ProxyError):
        return _tls_error(causes, server_via_proxy), False
    if first_of(exceptions.NameResolutionError):
        name = urlsplit(proxy or server).hostname
        return Unreachable(
            f"{server_via_proxy} cannot be reached: the name {name} cannot be resolved",
            f"Check the name, DNS and the network. {_PRIVATE_ENDPOINT_HINT}",
        ), True
    if first_of(ConnectionRefusedError):
        return Unreachable(
            f"{server_via_proxy} cannot be reached: the connection is refused", _PRIVATE_ENDPOINT_HINT
        ), True
    if first_of(exceptions.ConnectTimeoutError) and not first_of(exceptions.NewConnectionError):
        return Unreachable(
            f"{server_via_proxy} cannot be reached: no connection within {timeout_s:g} s", _PRIVATE_ENDPOINT_HINT
        ), True
    if first_of(exceptions.ReadTimeoutError) or (
        first_of(TimeoutError) and not first_of(exceptions.NewConnectionError)
    ):
        return Incomplete(
            f"{server_via_proxy} gave no answer within {timeout_s:g} s",
            "The server is slow, or something in between (a proxy, a load balancer) keeps its answer. "
            "Allow more with --request-timeout TIME.",
        ), False
    protocol_error = next((cause for cause in causes if type(cause) in (HTTPException, LineTooLong)), None)
    if protocol_error is not None:
        return Incomplete(f"{server_via_proxy} answered as no API server does: {protocol_error}", NO_API_HINT), False
    if first_of(exceptions.ProxyError):
        return Unreachable(f"{server} cannot be reached: the proxy {proxy} failed: {_innermost(causes)}"), True
    if first_of(exceptions.NewConnectionError):
        return Unreachable(f"{server_via_proxy} cannot be reached: {_innermost(causes)}", _PRIVATE_ENDPOINT_HINT), True
    return Incomplete(f"{server_via_proxy} broke off its answer: {_innermost(causes)}"), True


def was_never_sent(error: Exception) -> bool:
    """Whether no connection was opened (to the server, or to the proxy), so that nothing of the request was sent."""
    from urllib3 import exceptions

    kinds = (exceptions.NewConnectionError, exceptions.ConnectTimeoutError)
    return any(isinstance(cause, kinds) for cause in _causes(error))


def _causes(error: BaseException) -> Iterator[BaseException]:
    """`error` and the errors wrapped in it: by chaining, as an argument, or as urllib3's attributes."""
    seen: set[int] = set()
    pending: list[object] = [error]
    while pending:
        cause = pending.pop(0)
        if not isinstance(cause, BaseException) or id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        pending += [cause.__cause__, cause.__context__, getattr(cause, "original_error", None), *cause.args]


def _innermost(causes: tuple[BaseException, ...]) -> str:
    messages = (text for cause in reversed(causes) if (text := str(cause).strip()))
    return safe_message(next(messages, type(causes[0]).__name__))


def _tls_error(causes: tuple[BaseException, ...], server_via_proxy: str) -> Unreachable:
    verification_error = next((c for c in causes if isinstance(c, ssl.SSLCertVerificationError)), None)
    if verification_error is None:
        reason = next((c.reason for c in causes if isinstance(c, ssl.SSLError) and c.reason), "") or _innermost(causes)
        text = str(reason).lower().replace("_", " ")
        hint = "The server may speak plain http, or a proxy stands in between."
        if "certificate" in text:
            hint = "The server wants another client certificate: --client-certificate and --client-key."
        return Unreachable(f"{server_via_proxy} cannot be reached: TLS failed: {text}", hint)
    if verification_error.verify_code in _TIME_ERRORS:
        hint = "Is the clock of this machine right? Otherwise the server's certificate has to be renewed."
    elif verification_error.verify_code in _HOSTNAME_ERRORS:
        hint = "If you go through a tunnel, name the server with --tls-server-name."
    else:
        hint = (
            "The certificate authority of the kubeconfig is not the server's: update the entry (aws eks "
            "update-kubeconfig --name CLUSTER), or give --certificate-authority FILE."
        )
    return Untrusted(f"the certificate of {server_via_proxy} is not trusted: {verification_error.verify_message}", hint)


# Errors of HTTP responses: credentials that are not accepted, a missing permission, a server that is not an API server.


def response_error(
    access: ApiAccess, response: HttpResponse, path: str, right: str, tries: int = 1, expected_type: str = "JSON"
) -> ClusterError:
    """The error of a response that is not 2xx with a body of the `expected_type`. `right` is the RBAC name of the
    request, e.g. ``list pods``; `tries`: how often the server answered like that."""
    server = access.target.server.address
    if 200 <= response.status < 300:
        content_type = safe_message(response.headers.get("content-type", "no content type"))
        return RequestRefused(
            f"{server}{path} answered with {content_type} instead of {expected_type}: {response.message}",
            "Is this the address of a Kubernetes API, and is no login page or proxy in between?",
        )
    if response.status == 401:
        return _unauthorized_error(access, response)
    if response.status == 403:
        return _forbidden_error(access, response, path, right)
    if response.status == 404 and response.names_an_object:
        return ObjectNotFound(response.message)
    if response.status == 404:
        return NotServed(f"{server} does not serve {path}", "Is this the address of a Kubernetes API?")
    if response.status == 410:
        return ContinueTokenExpired(response.message)
    if 300 <= response.status < 400:
        location = redact_url(safe_message(response.headers.get("location", "somewhere")))
        return RequestRefused(
            f"{server}{path} answered with a redirect to {location}; an API server does not do that",
            "A login page or a proxy stands in between.",
        )
    times = f" ({tries} tries)" if tries > 1 else ""
    return RequestRefused(f"{server}{path} answered {response.status}{times}: {response.message}")


def _forbidden_error(access: ApiAccess, response: HttpResponse, path: str, right: str) -> Forbidden:
    """`missing` is "" where the credentials are missing, not a permission."""
    message = f"{access.target.server.address} refuses {right or path}: {response.message}"
    if "system:anonymous" in response.message:
        return Forbidden(
            message, "No credentials were sent: the kubeconfig entry has no user, or the server ignores it."
        )
    all_namespaces = right.startswith(("list ", "watch "))
    command = f"kubectl auth can-i {right} -A" if all_namespaces else "kubectl auth can-i --list"
    return Forbidden(message, f"Ask for the right, or look: {command}", right)


def _unauthorized_error(access: ApiAccess, response: HttpResponse) -> Unauthorized:
    profile = f" --profile {access.eks.profile}" if access.eks.profile else ""
    hint = "The token may have expired, or belong to another cluster: check --context and --user."
    if access.target.user.plugin is not None and not access.target.user.token:
        hint = (
            f"Who you are: aws sts get-caller-identity{profile}. Sign in again: aws sso login{profile}. If that is "
            "right, the cluster has no access entry (or aws-auth line) for this identity."
        )
    return Unauthorized(
        f"{access.target.server.address} does not accept {access.credential_description}: {response.message}", hint
    )


# An HTTP response as a Status: the server's own document where there is one, else one made from code and body.


def status_of(response: HttpResponse) -> ApiStatus | LostResponse:
    """`LostResponse` where the response is not from an API server: a redirect, or a success whose body is not a JSON
    object. Then the outcome of the request is unknown.

    A document that is not a Status, such as the patched object, is a success without a message.
    """
    if 300 <= response.status < 400:
        return LostResponse(
            "it was answered with a redirect to "
            f"{redact_url(safe_message(response.headers.get('location', 'somewhere')))}"
        )
    document = response.document
    if response.status < 300 and not document:
        return LostResponse(f"it was answered with something that is no object in JSON: {response.message}")
    if document.get("kind") != "Status":
        status = ApiStatus(response.status, message="" if response.status < 300 else response.message)
    else:
        status = _decode_status(response.status, document)
    # With the Retry-After header where the document has no retryAfterSeconds.
    retry_after_s = None if status.ok else response.retry_after(utc_now())
    details = status.details or StatusDetails()
    if not retry_after_s or details.retry_after_s:
        return status
    return replace(status, details=replace(details, retry_after_s=math.ceil(retry_after_s)))


def _decode_status(code: int, document: Mapping[str, Any]) -> ApiStatus:
    """The code is the one of HTTP; some failures come as a 200 whose document says that it failed."""
    if code < 300 and document.get("status") == "Failure":
        inner = document.get("code")
        code = inner if isinstance(inner, int) and inner >= 400 else 500
    details = document.get("details")
    return ApiStatus(
        code,
        _text_value(document, "reason"),
        safe_message(_text_value(document, "message")),
        _decode_details(details) if isinstance(details, dict) else None,
    )


def _decode_details(document: Mapping[str, Any]) -> StatusDetails:
    causes, retry_after_s = document.get("causes"), document.get("retryAfterSeconds")
    return StatusDetails(
        name=_text_value(document, "name"),
        group=_text_value(document, "group"),
        kind=_text_value(document, "kind"),
        uid=_text_value(document, "uid"),
        causes=tuple(
            StatusCause(
                _text_value(each, "reason"), safe_message(_text_value(each, "message")), _text_value(each, "field")
            )
            for each in (causes if isinstance(causes, list) else ())
            if isinstance(each, dict)
        ),
        retry_after_s=retry_after_s if isinstance(retry_after_s, int) and retry_after_s > 0 else 0,
    )


def _text_value(document: Mapping[str, Any], key: str) -> str:
    value = document.get(key)
    return value if isinstance(value, str) else ""
