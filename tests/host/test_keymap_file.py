"""The user's key map file: its location, and errors in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubectl_eksdoc.host.user_files import keymap_path, read_keymap


def written(folder: Path, text: str) -> dict[str, str]:
    """The environment variables that point to the file."""
    file = folder / "eksdoc" / "keys.json"
    file.parent.mkdir(parents=True)
    file.write_text(text, encoding="utf-8")
    return {"XDG_CONFIG_HOME": str(folder), "HOME": "/nowhere"}


def test_it_is_where_configurations_are() -> None:
    assert keymap_path({"XDG_CONFIG_HOME": "/c", "HOME": "/h"}) == Path("/c/eksdoc/keys.json")
    assert keymap_path({"XDG_CONFIG_HOME": "relative", "HOME": "/h"}) == Path("/h/.config/eksdoc/keys.json")
    assert keymap_path({"HOME": "/h"}) == Path("/h/.config/eksdoc/keys.json") and keymap_path({}) is None


def test_without_it_nothing_is_wrong(tmp_path: Path) -> None:
    assert read_keymap({"HOME": str(tmp_path)}) == ({}, ()) == read_keymap({})


def test_keys_by_the_names_of_actions(tmp_path: Path) -> None:
    assert read_keymap(written(tmp_path, '{"mark": "x", "undo": "ㅁ"}')) == ({"mark": "x", "undo": "ㅁ"}, ())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "cannot be read, so all keys are as they come"),
        ("[" * 100_000, "cannot be read, so all keys are as they come"),
        ('["x"]', "is no object, so all keys are as they come"),
        ('{"mark": 1}', "the key of 'mark' is no text"),
    ],
)
def test_what_is_wrong_with_it_is_said(tmp_path: Path, text: str, said: str) -> None:
    keys, wrong = read_keymap(written(tmp_path, text))
    assert keys == {} and len(wrong) == 1 and said in wrong[0] and str(tmp_path) in wrong[0]


def test_a_folder_in_its_place_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "eksdoc" / "keys.json").mkdir(parents=True)
    assert read_keymap({"XDG_CONFIG_HOME": str(tmp_path)}) == ({}, ())
