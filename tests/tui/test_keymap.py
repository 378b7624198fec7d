"""The user's key map: bindings that apply, bindings that are rejected and why, and their display on the screen."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.keys import _character_to_key

from kubectl_eksdoc.tui import keymap
from kubectl_eksdoc.tui.keymap import PLAN_KEYS
from kubectl_eksdoc.tui.run.screen import RUN_KEYS

DOCS = Path(__file__).parents[2] / "docs" / "screens.md"


def owners(keys: tuple[object, ...]) -> list[str]:
    return [each for key in keys for each in key.keys.split(",")]  # type: ignore[attr-defined]


def test_as_it_comes_no_two_actions_are_on_one_key_and_none_moves_the_cursor() -> None:
    every = owners(PLAN_KEYS)
    assert len(every) == len(set(every)) and not set(every) & keymap.CURSOR_KEYS
    assert len({key.id for key in PLAN_KEYS}) == len(PLAN_KEYS)


@pytest.mark.parametrize("char", [chr(code) for code in range(33, 127)])
def test_every_sign_is_called_as_textual_calls_it(char: str) -> None:
    assert keymap.textual_key_name(char) == _character_to_key(char)
    assert keymap.textual_key_name(f"ctrl+{char}") == f"ctrl+{_character_to_key(char)}"


@pytest.mark.parametrize("text", ["", "f25", "ctrl+", "spce", "\x1b", "ctrl+ctrl"])
def test_no_names_of_keys(text: str) -> None:
    assert keymap.textual_key_name(text) == ""


def test_an_action_gets_its_key_and_shows_it() -> None:
    found = keymap.apply_user_keys({"mark": "v", "undo": "e,ctrl+x", "parallel-down": "["})
    by_id = {key.id: key for key in found.keys}
    assert (by_id["mark"].keys, by_id["mark"].shown) == ("v", "v")
    assert (by_id["undo"].keys, by_id["undo"].shown) == ("e,ctrl+x", "e ctrl+x")
    assert found.problems == (
        "keys.json: '[' would be the key of 'parallel-down' and 'visited-before', so 'parallel-down' stays on {",
    )
    assert by_id["parallel-down"].keys == "left_curly_bracket"


def test_two_may_change_places() -> None:
    found = keymap.apply_user_keys({"undo": "Z", "redo": "z"})
    by_id = {key.id: key.keys for key in found.keys}
    assert not found.problems and (by_id["undo"], by_id["redo"]) == ("Z", "z")


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"marc": "v"}, "there is no action 'marc' (did you mean mark"),
        ({"mark": "spce"}, "'spce' is no key, so 'mark' stays on space"),
        ({"mark": "j"}, "'j' moves the cursor, so 'mark' stays on space"),
        ({"mark": "v", "undo": "v"}, "'v' would be the key of 'mark' and 'undo', so 'mark' stays on space and 'undo'"),
        ({"mark": ""}, "'' is no key"),
    ],
)
def test_what_cannot_be_followed_is_said_in_one_sentence_and_stays(wanted: dict[str, str], said: str) -> None:
    found = keymap.apply_user_keys(wanted)
    assert len(found.problems) == 1 and said in found.problems[0]
    assert found.keys == PLAN_KEYS


@given(
    st.dictionaries(
        st.sampled_from([key.id for key in PLAN_KEYS]),
        st.sampled_from([*(key.shown.split()[0] for key in PLAN_KEYS), "v", "V", "f5", "j", "nokey", "v,z"]),
        max_size=12,
    )
)
def test_whatever_is_wanted_no_two_actions_share_a_key(wanted: dict[str, str]) -> None:
    found = keymap.apply_user_keys(wanted)
    every = owners(found.keys)
    assert len(every) == len(set(every))
    by_id = {key.id: key for key in PLAN_KEYS}
    for key in found.keys:
        assert key == by_id[key.id] or key.id in wanted


def test_the_names_of_all_actions_are_documented() -> None:
    text = " ".join(DOCS.read_text(encoding="utf-8").split())
    plans, runs = (", ".join(f"`{key.id}`" for key in keys) for keys in (PLAN_KEYS, RUN_KEYS))
    assert text.split("The names: ")[1].split(". Keys of the replay")[0] == f"{plans}; of a run {runs}"
