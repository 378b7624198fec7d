"""The AWS account of the demo's cluster: recorded answers to the questions of this tool. It cannot be changed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from kubectl_eksdoc.embedded.demo.reader import account, held, read

Json = dict[str, Any]
Params = Mapping[str, Any]


class AwsErrorResponse(Exception):
    """AWS refused a question; `code` and `message` are those of the error response."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


def ask(scene: str, service: str, operation: str, params: Params) -> Json:
    """The answer in botocore's response shape, all pages in one, without ResponseMetadata.

    The caller owns it: each call decodes it. Raises `AwsErrorResponse` as the service would.
    """
    question = f"{service} {operation}"
    how = account()["questions"].get(question)
    if how is None:
        raise AwsErrorResponse("InvalidAction", f"The action {operation} is not valid for this web service.")
    answers = held("aws", scene).get(question, {})
    if "list" in how:
        return {**how.get("beside", {}), how["list"]: _listed(how["by"], answers, params)}
    key = key_of(how["by"], params)
    if key in answers:
        return _decoded(answers[key])
    code, message = how["refused"]
    raise AwsErrorResponse(code, message.format_map(params))


def key_of(by: Iterable[str], params: Params) -> str:
    """Of an answer, by the parameters that decide it."""
    return "/".join(str(params.get(name, "")) for name in by)


def _listed(by: str, answers: Mapping[str, bytes], params: Params) -> list[Json]:
    """The items of a list that the request names: their keys begin with the name. Metrics without values are kept."""
    if by == "MetricDataQueries":
        return [_metric(each, answers) for each in params[by]]
    if by == "Filters":
        (named,) = (each["Values"] for each in params[by])
    elif by == "filter":
        named = params[by].get("kubernetesVersions", ())
    else:
        named = params[by]
    return [_decoded(raw) for key, raw in answers.items() if key.partition("/")[0] in named]


def _metric(query: Json, answers: Mapping[str, bytes]) -> Json:
    metric = query["MetricStat"]["Metric"]
    counted = {each["Name"]: each["Value"] for each in metric.get("Dimensions", ())}.get("Class", "")
    values = _decoded(answers.get(counted, b'{"Timestamps": [], "Values": []}'))
    return {"Id": query["Id"], "Label": metric["MetricName"], "StatusCode": "Complete", **values}


def _decoded(raw: bytes) -> Json:
    found: Json = json.loads(raw, object_hook=_meant)
    return found


def _meant(found: Json) -> Any:
    """Times, which JSON does not have, and documents that have their own file."""
    if "$time" in found:
        return datetime.fromisoformat(found["$time"])
    return read(found["$file"]).decode() if "$file" in found else found
