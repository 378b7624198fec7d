"""Decoder of the containers of one pod. Source of the shapes: core/v1 Container, ContainerStatus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from kubectl_eksdoc.model.knowledge import file
from kubectl_eksdoc.model.nodes import Container, ContainerRunState

from .single import NoSuchObject
from .structs import NO_RAW, Lean

_TOLD_VARIABLES = frozenset(file("kept_keys")["told"])
"""The only variables whose values are read: any other may be a secret. For others it is only checked whether they are
empty."""


class _Variable(Lean):
    name: str | None = None
    value: msgspec.Raw = NO_RAW
    value_from: msgspec.Raw = NO_RAW


class Described(Lean):
    name: str | None = None
    image: str | None = None
    command: list[str] | None = None
    args: list[str] | None = None
    env: list[_Variable] | None = None
    env_from: list[msgspec.Raw] | None = None


class _State(Lean):
    running: dict[str, Any] | None = None
    waiting: dict[str, Any] | None = None
    terminated: dict[str, Any] | None = None


class Fares(Lean):
    name: str | None = None
    ready: bool | None = None
    restart_count: int | None = None
    state: _State | None = None
    last_state: _State | None = None


class Spec(Lean):
    containers: list[Described] | None = None
    init_containers: list[Described] | None = None


class _Status(Lean):
    container_statuses: list[Fares] | None = None
    init_container_statuses: list[Fares] | None = None


class _Inside(Lean):
    spec: Spec | None = None
    status: _Status | None = None


_decode = msgspec.json.Decoder(_Inside).decode


def containers_of(raw: bytes) -> tuple[Container, ...]:
    """In the order of the spec, init containers last.

    Raises:
        InvalidObjectKind: it is not a pod; the message says where it differs.
    """
    try:
        pod = _decode(raw)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise NoSuchObject(str(error)) from error
    spec, status = pod.spec or Spec(), pod.status or _Status()
    fares = {each.name: each for each in (*(status.container_statuses or ()), *(status.init_container_statuses or ()))}
    running = [_container(each, fares.get(each.name) or Fares(), False) for each in spec.containers or ()]
    return (*running, *(_container(each, fares.get(each.name) or Fares(), True) for each in spec.init_containers or ()))


def _container(given: Described, fares: Fares, init: bool) -> Container:
    return Container(
        given.name or "",
        given.image or "",
        (*(given.command or ()), *(given.args or ())),
        tuple(each.name for each in given.env or () if each.name),
        bool(given.env_from),
        _runs(fares.state or _State()),
        fares.ready is True,
        fares.last_state is not None and fares.last_state.terminated is not None,
        _ended_as(fares),
        fares.restart_count or 0,
        init,
        tuple(_values(given.env or ())),
        any(b'"secretRef"' in bytes(each) for each in given.env_from or ()),
    )


def _values(variables: Iterable[_Variable]) -> Iterator[tuple[str, str]]:
    """Values of the variables that may be read, and of empty ones; variables with valueFrom are not included."""
    for each in variables:
        if each.name and not bytes(each.value_from):
            value = msgspec.json.decode(each.value) if bytes(each.value) else ""
            value = value if isinstance(value, str) else ""
            if each.name in _TOLD_VARIABLES or not value:
                yield each.name, value


def _ended_as(fares: Fares) -> str:
    """The current termination is later than that of the last state."""
    ends = (state.terminated for state in (fares.state, fares.last_state) if state is not None)
    return next((str(end.get("reason") or "") for end in ends if end is not None), "")


def _runs(state: _State) -> ContainerRunState:
    told = {
        ContainerRunState.RUNNING: state.running,
        ContainerRunState.WAITING: state.waiting,
        ContainerRunState.ENDED: state.terminated,
    }
    return next((runs for runs, of in told.items() if of is not None), ContainerRunState.UNTOLD)
