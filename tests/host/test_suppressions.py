"""The file of suppressed findings: an entry without a reason and an end date is rejected."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.host.check_files import read_suppressions
from kubectl_eksdoc.model.findings import Suppression

CODES = ("kubelet-skew", "dns-on-spot")

YAML = """\
- code: kubelet-skew
  kind: Nodegroup
  name: blue-*
  reason: the vendor's nodes go in March
  until: 2027-03-31
- code: dns-on-spot
  reason: a test cluster
  until: "2027-01-31"
"""


def read(tmp_path: Path, text: str) -> tuple[Suppression, ...]:
    path = tmp_path / "accepted.yaml"
    path.write_text(text)
    return read_suppressions(str(path), CODES)


def refused(tmp_path: Path, text: str) -> str:
    with pytest.raises(UsageError) as error:
        read(tmp_path, text)
    return error.value.message


def test_entries_are_read_in_their_order(tmp_path: Path) -> None:
    first, second = read(tmp_path, YAML)
    assert first == Suppression(
        "kubelet-skew",
        "the vendor's nodes go in March",
        date(2027, 3, 31),
        "Nodegroup",
        "*",
        "blue-*",
        f"{tmp_path}/accepted.yaml, entry 1",
    )
    assert (second.until, second.kind) == (date(2027, 1, 31), "*")


def test_json_is_read_too_and_so_is_a_list_under_its_name(tmp_path: Path) -> None:
    entry = {"code": "dns-on-spot", "reason": "a test", "until": "2027-01-31"}
    assert len(read(tmp_path, json.dumps([entry], indent="\t"))) == 1
    assert len(read(tmp_path, json.dumps({"suppressions": [entry]}))) == 1
    assert read(tmp_path, "# nothing yet\n") == ()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("- code: dns-on-spot\n  until: 2027-01-31", "entry 1 has no reason"),
        ("- code: dns-on-spot\n  reason: x", "entry 1 has no until"),
        ("- code: dns-on-spot\n  reason: x\n  until: soon", "no day such as"),
        ("- code: dns-on-spott\n  reason: x\n  until: 2027-01-31", "did you mean dns-on-spot?"),
        ("- code: dns-on-spot\n  names: x\n  reason: x\n  until: 2027-01-31", "did you mean name or namespace?"),
        ("- code: dns-on-spot\n  name: [a]\n  reason: x\n  until: 2027-01-31", "name that is no text"),
        ("- just text", "entry 1 is no object"),
        ("code: dns-on-spot", "holds no list of entries"),
    ],
)
def test_what_is_wrong_is_named_with_its_entry(tmp_path: Path, text: str, says: str) -> None:
    message = refused(tmp_path, text)
    assert "--suppressions" in message
    assert "accepted.yaml" in message
    assert says in message


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_suppressions(str(tmp_path / "none.yaml"), CODES)
    with pytest.raises(UsageError, match="not standard input"):
        read_suppressions("-", CODES)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(("code", "reason", "until", "kind", "x")) | st.text(max_size=4), inner, max_size=5
        )
    ),
    max_leaves=12,
)


@given(st.one_of(JSON.map(json.dumps), st.text(max_size=80)))
def test_whatever_is_in_the_file_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "accepted.yaml"
    path.write_text(text, encoding="utf-8", errors="replace")
    try:
        read_suppressions(str(path), CODES)
    except UsageError as error:
        assert "--suppressions" in error.message
