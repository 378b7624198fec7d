"""Makes pages small: lowers what a request asks for, in the place where its protocol has the limit."""

from __future__ import annotations

import io
import json
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, urlencode

from tests.aws.world.words import Call

# EC2 refuses a limit together with a list of ids, and answers those in one page.
_WHOLE = ("InstanceId.", "ImageId.", "LaunchTemplateVersion.")


@cache
def _key(service: str, operation: str) -> tuple[str, bool] | None:
    """The name of the limit on the wire, and whether it stands in the query; None for what has no pages."""
    import botocore.exceptions
    from botocore.session import get_session

    session = get_session()
    try:
        name = session.get_paginator_model(service).get_paginator(operation).get("limit_key")
    except (ValueError, botocore.exceptions.UnknownServiceError, botocore.exceptions.DataNotFoundError):
        return None
    if name is None:
        return None
    shape = session.get_service_model(service).operation_model(operation).input_shape.members[name]
    on_wire = shape.serialization.get("name", name)
    if service == "ec2":  # whose protocol writes the names of its parameters with a capital
        on_wire = on_wire[0].upper() + on_wire[1:]
    return on_wire, shape.serialization.get("location") == "querystring"


def limited(environ: dict[str, Any], body: bytes, call: Call, size: int) -> None:
    """Let the request in `environ` ask for at most `size`; what has no pages is left as it is."""
    key = _key(call.service, call.operation)
    if key is None:
        return
    name, in_query = key
    if in_query:
        environ["QUERY_STRING"] = _lowered(environ.get("QUERY_STRING", ""), name, size)
        return
    if environ.get("CONTENT_TYPE", "").startswith("application/x-www-form-urlencoded"):
        if any(param.startswith(_WHOLE) for param, _ in parse_qsl(body.decode())):
            return
        text = _lowered(body.decode(), name, size)
    else:
        asked = json.loads(body or b"{}")
        text = json.dumps({**asked, name: min(size, asked.get(name, size))})
    environ["wsgi.input"] = io.BytesIO(text.encode())
    environ["CONTENT_LENGTH"] = str(len(text.encode()))


def _lowered(query: str, name: str, size: int) -> str:
    asked = [(key, value) for key, value in parse_qsl(query, keep_blank_values=True) if key != name]
    was = dict(parse_qsl(query)).get(name, str(size))
    return urlencode([*asked, (name, str(min(size, int(was))))])
