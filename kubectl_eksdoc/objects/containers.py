"""Decoder of the containers of one pod. Source of the shapes: core/v1 Container, ContainerStatus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from kubectl_eksdoc.model.knowledge import knowledge_file
from kubectl_eksdoc.model.nodes import Container, ContainerRunState

from .single import InvalidObjectKind
from .structs import NO_RAW, LeanStruct

_READ_VARIABLES = frozenset(knowledge_file("kept_keys")["told"])
"""The only variables whose values are read: any other may be a secret. For others it is only checked whether they are
empty."""


class _Variable(LeanStruct):
    name: str | None = None
    value: msgspec.Raw = NO_RAW
    value_from: msgspec.Raw = NO_RAW


class ContainerSpec(LeanStruct):
    name: str | None = None
    image: str | None = None
    command: list[str] | None = None
    args: list[str] | None = None
    env: list[_Variable] | None = None
    env_from: list[msgspec.Raw] | None = None


class _State(LeanStruct):
    running: dict[str, Any] | None = None
    waiting: dict[str, Any] | None = None
    terminated: dict[str, Any] | None = None


class PodContainerStatus(LeanStruct):
    name: str | None = None
    ready: bool | None = None
    restart_count: int | None = None
    state: _State | None = None
    last_state: _State | None = None


class Spec(LeanStruct):
    containers: list[ContainerSpec] | None = None
    init_containers: list[ContainerSpec] | None = None


class _Status(LeanStruct):
    container_statuses: list[PodContainerStatus] | None = None
    init_container_statuses: list[PodContainerStatus] | None = None


class _PodDocument(LeanStruct):
    spec: Spec | None = None
    status: _Status | None = None


_decode = msgspec.json.Decoder(_PodDocument).decode


def decode_containers(raw: bytes) -> tuple[Container, ...]:
    """In the order of the spec, init containers last.

    Raises:
        InvalidObjectKind: it is not a pod; the message says where it differs.
    """
    try:
        pod = _decode(raw)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise InvalidObjectKind(str(error)) from error
    spec, status = pod.spec or Spec(), pod.status or _Status()
    status_by_name = {
        each.name: each for each in (*(status.container_statuses or ()), *(status.init_container_statuses or ()))
    }
    main_containers = [
        _build_container(each, status_by_name.get(each.name) or PodContainerStatus(), False)
        for each in spec.containers or ()
    ]
    return (
        *main_containers,
        *(
            _build_container(each, status_by_name.get(each.name) or PodContainerStatus(), True)
            for each in spec.init_containers or ()
        ),
    )


def _build_container(spec: ContainerSpec, status: PodContainerStatus, init: bool) -> Container:
    return Container(
        spec.name or "",
        spec.image or "",
        (*(spec.command or ()), *(spec.args or ())),
        tuple(each.name for each in spec.env or () if each.name),
        bool(spec.env_from),
        _run_state(status.state or _State()),
        status.ready is True,
        status.last_state is not None and status.last_state.terminated is not None,
        _termination_reason(status),
        status.restart_count or 0,
        init,
        tuple(_read_values(spec.env or ())),
        any(b'"secretRef"' in bytes(each) for each in spec.env_from or ()),
    )


def _read_values(variables: Iterable[_Variable]) -> Iterator[tuple[str, str]]:
    """Values of the variables that may be read, and of empty ones; variables with valueFrom are not included."""
    for each in variables:
        if each.name and not bytes(each.value_from):
            value = msgspec.json.decode(each.value) if bytes(each.value) else ""
            value = value if isinstance(value, str) else ""
            if each.name in _READ_VARIABLES or not value:
                yield each.name, value


def _termination_reason(status: PodContainerStatus) -> str:
    """The current termination is later than that of the last state."""
    ends = (state.terminated for state in (status.state, status.last_state) if state is not None)
    return next((str(end.get("reason") or "") for end in ends if end is not None), "")


def _run_state(state: _State) -> ContainerRunState:
    by_state = {
        ContainerRunState.RUNNING: state.running,
        ContainerRunState.WAITING: state.waiting,
        ContainerRunState.ENDED: state.terminated,
    }
    return next((runs for runs, detail in by_state.items() if detail is not None), ContainerRunState.UNKNOWN)
