"""Container runtime sockets that pods can reach on their node, and which of them end with dockershim (1.24).

A pod reaches a socket by a hostPath of the socket itself, or of any folder above it. Sources: EKS user guide,
dockershim-deprecation; awslabs/amazon-eks-ami (containerd.service.d/10-compat-symlink.conf makes /run/dockershim.sock a
link to containerd's socket); kubernetes pkg/volume/hostpath/host_path.go (types), containerd pkg/cri (a missing path is
created as a folder); aws-containers/kubectl-detector-for-docker-socket main.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import Enum

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.knowledge import KnowledgeSource, records


class SocketAfterUpgrade(str, Enum):
    """What happens to a socket on nodes of 1.24 or newer."""

    GONE = "gone"
    STAYS = "stays"
    UNKNOWN = "unknown"


@frozen
class Socket:
    """`path`: on the node, below /run, because /var/run is a link to it."""

    path: str
    runtime: str
    ends: SocketAfterUpgrade
    why: str
    source: KnowledgeSource


SOCKETS = records(Socket, "runtime_sockets")
DOCKER, DOCKERSHIM, CRI_DOCKERD, CONTAINERD = map(
    SOCKETS.by("runtime").__getitem__, ("docker", "dockershim", "cri-dockerd", "containerd")
)


class SocketAccess(str, Enum):
    """How a mount reaches a socket, the most certain first."""

    ITSELF = "itself"
    FOLDER = "folder"
    LOOKS_LIKE = "looks-like"  # elsewhere on the node: it is not known what is there


class PodAfterUpgrade(str, Enum):
    """What happens to the pod on a node without the socket."""

    WILL_NOT_START = "will-not-start"
    """The type of its hostPath requires the missing path."""
    EMPTY = "empty"
    """It finds an empty folder or file in place of the socket."""
    MISSING = "missing"
    UNCHANGED = "unchanged"
    UNKNOWN = "unknown"


@frozen
class MountedSocket:
    """`at`: the mounted path on the node, normalized. `then`: from 1.24 on."""

    socket: Socket
    how: SocketAccess
    at: str
    then: PodAfterUpgrade


_CREATING_TYPES = frozenset(("", "DirectoryOrCreate", "FileOrCreate"))
"""Types of a hostPath that do not require the path: an empty file or folder is created."""
_FOLDER_TYPES = frozenset(("", "Directory", "DirectoryOrCreate"))
_NON_SOCKET_TYPES = frozenset(("Directory", "CharDevice", "BlockDevice"))
"""A mount of the socket itself fails with these types."""


def reachable_sockets(path: str, path_type: str = "", sub_path: str = "") -> tuple[MountedSocket, ...]:
    """The sockets behind one mount of a hostPath. `path_type`: its type, "" for none; `sub_path`: of the mount, which
    narrows it ("" also where a volume is not mounted, and where a subPathExpr is not known).

    A read-only mount is no protection: connecting to a socket is not a write to the file system.
    """
    volume_path, mounted_path = _normalize_path(path), _normalize_path(f"{path}/{sub_path}")
    if not _is_within(mounted_path, volume_path):
        return ()  # the kubelet rejects a subPath that leads out of its volume
    mounted_sockets = [
        each
        for socket in SOCKETS
        if (each := _mounted_socket(socket, mounted_path, path_type, bool(sub_path))) is not None
    ]
    return tuple(mounted_sockets) or tuple(_similar_sockets(f"{path}/{sub_path}", mounted_path))


@frozen
class NamedSocket:
    """An argument or a variable's value that names a socket: evidence that the container uses it, but no proof."""

    socket: Socket
    word: str


def sockets_named_in(words: Iterable[str]) -> tuple[NamedSocket, ...]:
    """The sockets in arguments and in values of variables: ``unix:///var/run/docker.sock``, ``--cri-socket=/run/…``."""
    return tuple(NamedSocket(socket, word) for word in words for socket in SOCKETS if _names_socket(word, socket))


def _mounted_socket(socket: Socket, mounted_path: str, path_type: str, has_sub_path: bool) -> MountedSocket | None:
    if mounted_path == socket.path:
        if path_type in _NON_SOCKET_TYPES and not has_sub_path:
            return None
        return MountedSocket(
            socket,
            SocketAccess.ITSELF,
            mounted_path,
            _pod_after_upgrade(socket, SocketAccess.ITSELF, path_type, has_sub_path),
        )
    if _is_within(socket.path, mounted_path) and (has_sub_path or path_type in _FOLDER_TYPES):
        return MountedSocket(
            socket,
            SocketAccess.FOLDER,
            mounted_path,
            _pod_after_upgrade(socket, SocketAccess.FOLDER, path_type, has_sub_path),
        )
    return None


def _pod_after_upgrade(socket: Socket, how: SocketAccess, path_type: str, has_sub_path: bool) -> PodAfterUpgrade:
    if socket.ends is not SocketAfterUpgrade.GONE:
        return PodAfterUpgrade.UNCHANGED if socket.ends is SocketAfterUpgrade.STAYS else PodAfterUpgrade.UNKNOWN
    if how is SocketAccess.FOLDER:
        return PodAfterUpgrade.MISSING
    return PodAfterUpgrade.EMPTY if has_sub_path or path_type in _CREATING_TYPES else PodAfterUpgrade.WILL_NOT_START


def _is_within(path: str, folder: str) -> bool:
    """Both normalized; a folder is within itself."""
    return path == folder or path.startswith("/" if folder == "/" else f"{folder}/")


def _similar_sockets(path: str, mounted_path: str) -> Iterator[MountedSocket]:
    for name, socket in (("docker.sock", DOCKER), ("dockershim.sock", DOCKERSHIM)):
        if name in path:
            yield MountedSocket(socket, SocketAccess.LOOKS_LIKE, mounted_path, PodAfterUpgrade.UNKNOWN)


def _normalize_path(path: str) -> str:
    """The path without double slashes, dots and the link /var/run. ``..`` is resolved; the API server rejects it."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
        if parts == ["var", "run"]:
            parts = ["run"]
    return "/" + "/".join(parts)


_SOCKET_PATTERNS = {socket.path: re.compile(rf"{re.escape(socket.path)}(?![A-Za-z0-9_.-])") for socket in SOCKETS}
"""Matches below any mount path: ``/host/var/run/docker.sock``."""


def _names_socket(word: str, socket: Socket) -> bool:
    return _SOCKET_PATTERNS[socket.path].search(word) is not None
