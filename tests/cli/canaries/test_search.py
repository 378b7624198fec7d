"""The search for canaries finds them in every form that a leak takes."""

from __future__ import annotations

import base64
import gzip
import io
import json
import tarfile
from urllib.parse import quote, quote_plus

import pytest

from tests.cli.canaries.canaries import Canaries, canaries_in

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
