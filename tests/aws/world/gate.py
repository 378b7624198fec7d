"""The entrance to moto's server: it names and counts every call, and injects the faults that a test sets.

Of moto's internals: its application is a WSGI one, called only after ours; `get_service_router` returns a request's
operation and `determine_request_protocol` its protocol. Of werkzeug: the connection is in the environment.
"""

from __future__ import annotations

import io
import json
import re
import socket
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import parse_qsl
from xml.sax.saxutils import escape

from tests.aws.world import callers
from tests.aws.world.troubles import Troubles
from tests.aws.world.words import Call, Refusal

_SCOPE = re.compile(r"Credential=([^/]+)/\d+/([^/]+)/([^/]+)/aws4_request")
_ID = "00000000-0000-4000-8000-000000000000"


class Gate:
    """A WSGI application before moto's. Mutable only through `troubles`."""

    def __init__(self, application: Callable[..., Iterable[bytes]], troubles: Troubles) -> None:
        self._application = application
        self._troubles = troubles

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(body)
        call = _named(environ, body)
        if call is None:
            return self._application(environ, start)
        environ["HTTP_X_MOTO_ACCOUNT_ID"] = call.account
        trouble = self._troubles.meets(call)
        if trouble is None:
            return self._application(environ, start)
        if trouble.refusal is None:  # no answer at all
            environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
            return []
        return _refused(environ, start, call, trouble.refusal(call))


_SIGNED_AS = {"monitoring": "cloudwatch", "servicequotas": "service-quotas"}
"""Services that sign with another name than botocore, and IAM, know them by."""


def _named(environ: dict[str, Any], body: bytes) -> Call | None:
    """The call that a signed request makes; None for an unsigned request, or one that no model knows."""
    scope = _SCOPE.search(environ.get("HTTP_AUTHORIZATION", ""))
    if scope is None:
        return None
    from moto.core.request import Request
    from moto.core.routing import get_service_router
    from werkzeug.exceptions import HTTPException

    key, region, signed = scope.groups()
    service = _SIGNED_AS.get(signed, signed)
    copy = {**environ, "wsgi.input": io.BytesIO(body)}
    try:
        operation, in_path = get_service_router(service).match(Request(copy))
    except (HTTPException, NotImplementedError):
        return None
    account, caller = callers.arn_of(key, region)
    named = tuple((name, str(value)) for name, value in {**in_path, **_params(environ, body)}.items())
    return Call(service, operation.name, account, region, caller, environ["PATH_INFO"], named)


def _params(environ: dict[str, Any], body: bytes) -> dict[str, Any]:
    """The request's own parameters, from its query and its body, as form or JSON."""
    found: dict[str, Any] = dict(parse_qsl(environ.get("QUERY_STRING", "")))
    if environ.get("CONTENT_TYPE", "").startswith("application/x-www-form-urlencoded"):
        return {**found, **dict(parse_qsl(body.decode()))}
    return {**found, **json.loads(body)} if body and "json" in environ.get("CONTENT_TYPE", "json") else found


def _refused(environ: dict[str, Any], start: Callable[..., Any], call: Call, refusal: Refusal) -> list[bytes]:
    """The refusal as each protocol writes errors; SQS's code is in a header, as it formerly used another protocol."""
    from moto.core.request import determine_request_protocol
    from moto.core.utils import get_service_model

    protocol = determine_request_protocol(get_service_model(call.service), environ.get("CONTENT_TYPE"))
    headers = {"x-amzn-RequestId": _ID, "Content-Type": "text/xml"}
    said = f"<Code>{refusal.code}</Code><Message>{escape(refusal.message)}</Message>"
    if protocol == "ec2":
        text = f"<Response><Errors><Error>{said}</Error></Errors><RequestID>{_ID}</RequestID></Response>"
    elif protocol == "query":
        error = f"<Error><Type>Sender</Type>{said}</Error>"
        text = f"<ErrorResponse>{error}<RequestId>{_ID}</RequestId></ErrorResponse>"
    else:
        headers = {**headers, "Content-Type": "application/json", "x-amzn-ErrorType": refusal.code}
        headers["x-amzn-query-error"] = f"{refusal.code};Sender"
        text = json.dumps({"__type": refusal.code, "message": refusal.message})
    start(f"{refusal.status} Refused", [*headers.items(), ("Content-Length", str(len(text.encode())))])
    return [text.encode()]
