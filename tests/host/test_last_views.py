"""Saved views of clusters on this machine's disk: whole, few, readable only by their owner; other files are ignored."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.host.cache import MAX_VIEW_BYTES as LARGEST
from kubectl_eksdoc.host.cache import MAX_VIEWS as MOST
from kubectl_eksdoc.host.cache import ViewCache, cache_folder, decode_view
from kubectl_eksdoc.host.cache import encode_view as content_of
from kubectl_eksdoc.model.snapshots import LastView, last_view_of
from tests.builders import NOW, a_cluster, a_node, a_pod

KEY, OTHER = "0123456789abcdef", "fedcba9876543210"

NODES = (
    a_node("old-0", annotations={"weave.works/kured-reboot-in-progress": "secret"}, labels={"team": "secret"}),
    a_node("old-1", unschedulable=True, ready="Unknown", created_at=None, version="weird"),
)
CLUSTER = a_cluster(nodes=NODES, pods=[a_pod("a", node="old-0"), a_pod("b", node="old-0"), a_pod("c", node="gone")])
VIEW = last_view_of(CLUSTER)


def test_what_was_kept_is_what_is_found(tmp_path: Path) -> None:
    views = ViewCache(tmp_path / "cache" / "eksdoc")
    assert views.read(KEY) is None
    views.write(KEY, VIEW)
    assert views.read(KEY) == VIEW
    assert views.read(OTHER) is None, "another cluster's is another one"


def test_nothing_that_may_be_secret_is_kept() -> None:
    text = content_of(VIEW).decode()
    assert "secret" not in text and "kured" not in text and "team" not in text
    assert not VIEW.identity.account and not VIEW.identity.uid


@pytest.mark.skipif(os.name == "nt", reason="Windows has other rights")
def test_it_is_for_its_owner_alone_whatever_the_folder_was(tmp_path: Path) -> None:
    folder = tmp_path / "eksdoc"
    folder.mkdir(mode=0o755)
    ViewCache(folder).write(KEY, VIEW)
    (file,) = folder.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_so_many_are_kept_and_the_oldest_go(tmp_path: Path) -> None:
    views = ViewCache(tmp_path)
    for at in range(MOST + 3):
        views.write(f"{at:020x}", VIEW)
        os.utime(tmp_path / f"{at:020x}.view", (at, at))
    views.write(KEY, VIEW)
    left = {path.name for path in tmp_path.iterdir()}
    assert len(left) == MOST and f"{KEY}.view" in left and f"{0:020x}.view" not in left


def test_what_is_too_large_is_neither_kept_nor_read(tmp_path: Path) -> None:
    views = ViewCache(tmp_path)
    many = tuple(replace(NODES[0], name=f"n{at}-{'x' * 4000}") for at in range(LARGEST // 4000))
    views.write(KEY, LastView(VIEW.identity, NOW, many))
    assert not list(tmp_path.iterdir())
    (tmp_path / f"{KEY}.view").write_bytes(content_of(VIEW) + b" " * LARGEST)
    assert views.read(KEY) is None


def test_a_folder_that_cannot_be_written_to_is_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    views = ViewCache(tmp_path / "file" / "eksdoc")
    views.write(KEY, VIEW)
    assert views.read(KEY) is None


@pytest.mark.parametrize("key", ["", "../../etc/passwd", KEY.upper()])
def test_a_key_is_no_path(key: str, tmp_path: Path) -> None:
    views = ViewCache(tmp_path)
    views.write(key, VIEW)
    assert views.read(key) is None and not list(tmp_path.rglob("*.view"))


_CONTENT = content_of(VIEW)


def test_where_they_are_kept() -> None:
    assert cache_folder({"XDG_CACHE_HOME": "/c"}, "/h") == Path("/c/eksdoc")
    assert cache_folder({"XDG_CACHE_HOME": "relative"}, "/h") == Path("/h/.cache/eksdoc")
    assert cache_folder({}, "/h") == Path("/h/.cache/eksdoc")
    assert cache_folder({}, "~") is None


@given(st.integers(0, len(_CONTENT) - 1), st.integers(0, len(_CONTENT)), st.binary(max_size=8))
def test_a_damaged_view_is_a_view_or_nothing(begin: int, end: int, bytes_between: bytes) -> None:
    assert decode_view(b"[" * 200_000) is decode_view(_CONTENT.replace(b'"version":1', b'"version":2')) is None
    view = decode_view(_CONTENT[:begin] + bytes_between + _CONTENT[max(begin, end) :])
    assert view is None or isinstance(view, LastView)
