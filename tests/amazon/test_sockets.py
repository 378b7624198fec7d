"""Runtime sockets that a hostPath reaches: by name, below a folder, by a link; those that dds reports are among
them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.amazon.sockets import (
    CONTAINERD,
    CRI_DOCKERD,
    DOCKER,
    DOCKERSHIM,
    PodAfterUpgrade,
    Socket,
    SocketAccess,
    reachable_sockets,
    sockets_named_in,
)
from tests.kubectl_dds import flagged_by_dds


def sockets(path: str, kind: str = "", sub_path: str = "") -> tuple[Socket, ...]:
    return tuple(each.socket for each in reachable_sockets(path, kind, sub_path))


@pytest.mark.parametrize(
    "path",
    [
        "/var/run/docker.sock",
        "//var/./run//docker.sock/",
        "/run/x/y/../../docker.sock",
    ],
)
def test_the_socket_itself(path: str) -> None:
    (found,) = reachable_sockets(path)
    assert (found.socket, found.how, found.at) == (DOCKER, SocketAccess.ITSELF, "/run/docker.sock")


@pytest.mark.parametrize("path", ["/", "/run", "/var/run", "/var/run/", "/run/."])
def test_folders_above_reach_them_all(path: str) -> None:
    assert sockets(path) == (DOCKER, DOCKERSHIM, CRI_DOCKERD, CONTAINERD)
    assert {each.how for each in reachable_sockets(path)} == {SocketAccess.FOLDER}


@pytest.mark.parametrize("path", ["/var", "/var/runner", "/run/secrets", "/run/containerd-old"])
def test_other_folders_reach_none(path: str) -> None:
    """/var reaches none: /var/run is a link in it, which leads outside of the mounted folder."""
    assert sockets(path) == ()


def test_containerd_alone() -> None:
    for path in ("/run/containerd", "/var/run/containerd/containerd.sock"):
        assert sockets(path) == (CONTAINERD,)
        assert [each.then for each in reachable_sockets(path)] == [PodAfterUpgrade.UNCHANGED]


@pytest.mark.parametrize(
    ("kind", "then"),
    [
        ("", PodAfterUpgrade.EMPTY),
        ("FileOrCreate", PodAfterUpgrade.EMPTY),
        ("DirectoryOrCreate", PodAfterUpgrade.EMPTY),
        ("Socket", PodAfterUpgrade.WILL_NOT_START),
        ("File", PodAfterUpgrade.WILL_NOT_START),
    ],
)
def test_what_becomes_of_the_pod_by_type(kind: str, then: PodAfterUpgrade) -> None:
    assert [each.then for each in reachable_sockets("/var/run/docker.sock", kind)] == [then]


def test_below_a_folder_the_socket_is_missing() -> None:
    by = {each.socket.runtime: each.then for each in reachable_sockets("/run", "Directory")}
    assert by == {
        "docker": PodAfterUpgrade.MISSING,
        "dockershim": PodAfterUpgrade.UNKNOWN,
        "cri-dockerd": PodAfterUpgrade.UNKNOWN,
        "containerd": PodAfterUpgrade.UNCHANGED,
    }


@pytest.mark.parametrize(
    "kind",
    [
        "File",
        "FileOrCreate",
    ],
)
def test_a_folder_is_no_file(kind: str) -> None:
    assert sockets("/run", kind) == ()


def test_a_sub_path_narrows_it() -> None:
    assert sockets("/run", "Directory", "docker.sock") == (DOCKER,)
    assert sockets("/var", "", "run") == ()  # a link out of the volume, which the kubelet refuses
    assert sockets("/", "", "var/run") == (DOCKER, DOCKERSHIM, CRI_DOCKERD, CONTAINERD)
    assert sockets("/run", "", "containerd") == (CONTAINERD,)
    assert sockets("/run", "", "secrets") == ()
    (found,) = reachable_sockets("/run", "Directory", "docker.sock")
    assert (found.how, found.then) == (SocketAccess.ITSELF, PodAfterUpgrade.EMPTY)


def test_what_is_only_named_like_it_is_not_known() -> None:
    (found,) = reachable_sockets("/opt/docker.sock")
    assert (found.socket, found.how, found.then) == (DOCKER, SocketAccess.LOOKS_LIKE, PodAfterUpgrade.UNKNOWN)
    assert [each.how for each in reachable_sockets("/run/docker.sock", "Directory")] == [SocketAccess.LOOKS_LIKE]


_PARTS = st.lists(
    st.sampled_from(["var", "run", "docker.sock", "dockershim.sock", "containerd", "..", ".", "", "my-docker.sock.d"]),
    max_size=6,
)
_KINDS = st.sampled_from(
    ["", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket", "CharDevice", "BlockDevice"]
)


@given(_PARTS, _KINDS)
def test_what_dds_reports_is_reported(parts: list[str], kind: str) -> None:
    path = "/" + "/".join(parts)
    if flagged_by_dds(path):
        assert reachable_sockets(path, kind)


@pytest.mark.parametrize(
    ("word", "socket"),
    [
        ("--docker-endpoint=unix:///run/docker.sock", DOCKER),
        ("/run/containerd/containerd.sock", CONTAINERD),
        ("curl --unix-socket /var/run/docker.sock http://x/_ping", DOCKER),
        ("--cri=/run/cri-dockerd.sock", CRI_DOCKERD),
    ],
)
def test_arguments_and_variables_that_name_one(word: str, socket: Socket) -> None:
    assert [each.socket for each in sockets_named_in(["--verbose", word])] == [socket]


@pytest.mark.parametrize(
    "word", ["tcp://localhost:2375", "docker.sock", "/run/docker.sock.bak", "/var/run/docker.socket", ""]
)
def test_others_name_none(word: str) -> None:
    assert sockets_named_in([word]) == ()
