"""Failures below HTTP, told in words: what failed, what to try, and whether trying again may help."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from http.client import HTTPException, LineTooLong
from urllib.parse import urlsplit

from kubectl_eksdoc.errors import Unreachable, Untrusted
from kubectl_eksdoc.kube.answers import NO_API, Incomplete, shown

_BEHIND = "Is the cluster's endpoint private? Then a VPN, a bastion or a proxy is needed to reach it."
_HOSTNAME_ERRORS = (62, 64)  # X509_V_ERR_HOSTNAME_MISMATCH, _IP_ADDRESS_MISMATCH
_TIME_ERRORS = (9, 10)  # X509_V_ERR_CERT_NOT_YET_VALID, _HAS_EXPIRED


def breakdown(error: Exception, server: str, proxy: str, seconds: float) -> tuple[Unreachable, bool]:
    """`error` of urllib3 as ours, and True if another try may go better.

    `seconds` is how long the request was allowed to take, for the message of a timeout.
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
    """Whether there was no connection at all (to the server, or to the proxy): nothing of the request was sent."""
    from urllib3 import exceptions

    kinds = (exceptions.NewConnectionError, exceptions.ConnectTimeoutError)
    return any(isinstance(cause, kinds) for cause in _causes(error))


def _causes(error: BaseException) -> Iterator[BaseException]:
    """`error` and what is wrapped in it: by chaining, as an argument, or as urllib3's attributes."""
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
            "The certificate authority of the kubeconfig is not the server's: write the entry anew "
            "(aws eks update-kubeconfig --name CLUSTER), or give --certificate-authority FILE."
        )
    return Untrusted(f"the certificate of {at} is not trusted: {refused.verify_message}", hint)
