"""Logs of containers, as stored for each; other containers have one line for their start.

Source: kubelet v1.36, pkg/kubelet/kubelet_pods.go (validateContainerLogStatus) and pkg/kubelet/kuberuntime/logs
(ReadLogs: the last lines are selected first, then their bytes are limited), core/v1 PodLogOptions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from kubectl_eksdoc.kubernetes.api.resources import bad_request
from kubectl_eksdoc.kubernetes.api.workload_validation import FieldProblem
from kubectl_eksdoc.model.api_objects import Doc, nested_field
from kubectl_eksdoc.model.kinds import Resource

from .bodies import validation_refusal
from .requests import Reply, ServedRequest

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_OPTIONS = Resource("PodLogOptions", "")
_STATUSES = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
_NO_IMAGE = {
    "ErrImagePull": "image can't be pulled",
    "ImagePullBackOff": "trying and failing to pull image",
}


LogSource = Callable[[Doc, str], str | None]
"""Returns the log of a pod's container by name; None if unknown."""


AgedLogSource = Callable[[Doc, str], "Sequence[tuple[float, str]] | None"]
"""The same by line, each with its age in seconds, the oldest first."""


def no_log(pod: Doc, container: str) -> str | None:
    """The default: no log."""
    return None


def first_known(*sources: LogSource) -> LogSource:
    """Return a function with the first known log of these."""

    def first_log(pod: Doc, container: str) -> str | None:
        return next((text for each in sources if (text := each(pod, container)) is not None), None)

    return first_log


def no_aged_log(pod: Doc, container: str) -> Sequence[tuple[float, str]] | None:
    """The default: no log with ages."""
    return None


class PodLogs:
    """Mutable: the creator of the cluster stores logs of containers, or passes `printing` to compute them, or `aged` if
    ages matter; all other lines have the current time."""

    def __init__(self, printing: LogSource = no_log, aged: AgedLogSource = no_aged_log) -> None:
        self._stored: dict[tuple[str, str, str, bool], str] = {}
        self._printing = printing
        self._aged = aged

    def store(self, namespace: str, pod: str, container: str, text: str, previous: bool = False) -> None:
        """Store all that the container has printed; `previous`: the log of the terminated container before it."""
        self._stored[namespace, pod, container, previous] = text

    def answer(self, pod: Doc, container: str, request: ServedRequest) -> Reply:
        """Answer a log request.

        Raises:
            ApiRefusal: 400, there is no log; 422, an option is invalid.
        """
        tail, limit = _number_option(request, "tailLines", 0), _number_option(request, "limitBytes", 1)
        since = _number_option(request, "sinceSeconds", 1)
        if not nested_field(pod, "spec", "nodeName"):
            return Reply(204, content_type="")
        meta, previous = pod["metadata"], request.flag("previous")
        is_terminated = _is_terminated_log(pod, container, previous)
        pod_key = str(meta.get("namespace") or ""), str(meta["name"]), container
        text = self._stored.get((*pod_key, is_terminated))
        aged = self._aged(pod, container) if text is None and not is_terminated else None
        if aged is not None:
            text = "".join(line for age, line in aged if since is None or age <= since)
        if text is None:
            text = self._printing(pod, container)
        if text is None:
            text = f"{nested_field(pod, 'status', 'startTime') or ''} {container} started\n"
        lines = _LINE.findall(text)
        selected = lines if tail is None else lines[len(lines) - min(tail, len(lines)) :]
        return Reply(200, "".join(selected).encode()[:limit], "text/plain")


def _number_option(request: ServedRequest, name: str, minimum: int) -> int | None:
    option_text = request.parameter(name)
    if not option_text:
        return None
    try:
        number = int(option_text)
    except ValueError as error:
        raise bad_request(f'strconv.ParseInt: parsing "{option_text}": invalid syntax') from error
    if number < minimum:
        reason = f"must be greater than or equal to {minimum}" if not minimum else f"must be greater than {minimum - 1}"
        raise validation_refusal(_OPTIONS, "", [FieldProblem(name, number, reason)])
    return number


def _is_terminated_log(pod: Doc, container: str, previous: bool) -> bool:
    """Whether the log of a terminated container is returned: as requested, or because the next one waits for its start.

    Raises:
        ApiRefusal: 400, there is none.
    """
    status, name = _status(pod, container), pod["metadata"]["name"]
    ended = bool(nested_field(status, "lastState", "terminated"))
    waiting = nested_field(status, "state", "waiting")
    if previous and not ended:
        raise bad_request(f'previous terminated container "{container}" in pod "{name}" not found')
    if isinstance(waiting, Mapping) and not ended:
        reason = str(waiting.get("reason") or "")
        message = _NO_IMAGE.get(reason, reason)
        raise bad_request(f'container "{container}" in pod "{name}" is waiting to start: {message}')
    return previous or (isinstance(waiting, Mapping) and ended)


def _status(pod: Doc, container: str) -> Doc:
    for kind in _STATUSES:
        for each in nested_field(pod, "status", kind) or ():
            if each.get("name") == container:
                return dict(each)
    return {}
