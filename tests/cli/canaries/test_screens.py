"""The screens over a cluster with planted secrets: no page shows one, and no copied text has one."""

from __future__ import annotations

import base64
import gzip
import io
import json
import tarfile
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from textual.pilot import Pilot

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.session.sources import SourceChoice, open_reader
from kubectl_eksdoc.tui.opening import Progress
from kubectl_eksdoc.tui.screen import PlanScreen
from tests.cli.canaries import places
from tests.cli.canaries.canaries import Canaries, canaries_below, canaries_in
from tests.tui.pilots import a_demo, drive

KEYS = ("space", "enter", "c", "y", "C", "1", "2", "enter", "y", "3", "4", "y", "o", "escape", "exclamation_mark")


@pytest.mark.long
def test_no_screen_shows_one(tmp_path: Path) -> None:
    source = SourceChoice(snapshot=places.dump(tmp_path / "dump.tar.gz", places.documents("small-traps")))

    def read(progress: Progress) -> Cluster:
        return open_reader(source, Connection(), progress).read(kinds.ALL)

    shown: list[str] = []

    async def look(pilot: Pilot[Any], screen: PlanScreen) -> None:
        for key in KEYS:
            await pilot.press(key)
            await pilot.pause()
            shown.extend((pilot.app.export_screenshot(), pilot.app._clipboard))

    drive(look, a_demo(read))
    assert len({*shown}) > len(KEYS) // 2, "each key shows something else"
    assert canaries_in("\n".join(shown).encode()) == set()


SECRET = Canaries("Pod default/web").any()
NAME = "canary7q-pod-default-web-1"


def archived(data: bytes) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        info = tarfile.TarInfo("lists/pods.json")
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return file.getvalue()


@pytest.mark.parametrize(
    "text",
    [
        SECRET,
        SECRET.upper(),
        quote(SECRET, safe=""),
        quote_plus(SECRET),
        json.dumps({"a": json.dumps({"b": SECRET})}),
        SECRET[:-2],
    ],
)
def test_a_plain_one_is_named(text: str) -> None:
    assert canaries_in(f"the server https://{text} is away".encode()) == {NAME}


@pytest.mark.parametrize("before", ["", "a", "ab", "ann:"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_one_in_base64_is_named_whatever_stands_before_it(before: str, encode: type) -> None:
    text = encode(f"{before}{SECRET}?".encode())  # type: ignore[call-arg]
    assert canaries_in(b"Authorization: Basic " + text) == {f"{NAME} (base64)"}


def test_one_that_is_packed_is_named() -> None:
    for packed in (gzip.compress(SECRET.encode()), archived(SECRET.encode())):
        assert canaries_in(packed) == {NAME}
        assert canaries_in(b'{"data": "' + base64.b64encode(packed) + b'"}') == {NAME}


def test_other_text_has_none() -> None:
    assert canaries_in(b"canary, canary7, Canary 7q; " + base64.b64encode(b"canary7, canary8q" * 50)) == set()


def test_a_file_is_named_with_it(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "1.jsonl").write_text(f"x {SECRET}")
    assert canaries_below(tmp_path) == {f"{NAME} in runs/1.jsonl"}


def test_what_has_no_mark_is_looked_for_as_it_is() -> None:
    key = "AKIADOCS111122223333"
    for text in (key.encode(), base64.b64encode(key.encode())):
        assert canaries_in(b"a " + text, {key: "the access key"}) == {"the access key"}
