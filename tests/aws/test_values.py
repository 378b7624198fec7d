"""Configuration values: JSON and YAML are read, and any other text is refused with a message."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.aws.eks import MAX_DEPTH, MAX_LENGTH, parse_schema, parse_values
from kubectl_eksdoc.errors import ValuesError
from kubectl_eksdoc.model.kinds import Unknown

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
documents = st.dictionaries(st.text(), json_values, max_size=4)


@given(documents)
def test_every_json_object_is_read_as_it_is(document: dict[str, object]) -> None:
    assert parse_values(json.dumps(document)) == document
    assert parse_schema(json.dumps(document)) == document


keys = st.from_regex(r"[a-zA-Z_.]{1,8}", fullmatch=True)
scalars = st.text(st.characters(codec="ascii")) | st.booleans() | st.integers(0, 99)


@given(st.dictionaries(keys, scalars))
def test_yaml_is_read_as_its_json(document: dict[str, object]) -> None:
    assert parse_values(yaml.safe_dump({"a": document})) == {"a": document}


@given(st.text() | st.text("{}[]:,-&*!|>'\" \n?<=%@a1."))
def test_any_text_is_an_object_or_refused_in_words(text: str) -> None:
    try:
        assert isinstance(parse_values(text), dict)
    except ValuesError as error:
        assert error.message.startswith("these configuration values cannot be read: ") and error.hint
    found = parse_schema(text)
    assert isinstance(found, (dict, Unknown))


def test_yaml_as_people_write_it() -> None:
    text = "env:\n  ENABLE_POD_ENI: 'true'\n  WARM: 1\n  day: 2024-01-01\ninit: {env: {A: ~}}\n1: yes\ntrue: no\n"
    assert parse_values(text) == {
        "env": {"ENABLE_POD_ENI": "true", "WARM": 1, "day": "2024-01-01"},
        "init": {"env": {"A": None}},
        "1": True,
        "true": False,
    }
    assert parse_values("{}") == {}


LAUGHS = "a: &a [x, x, x, x]\nb: &b [*a, *a, *a, *a]\nc: [*b, *b, *b, *b]\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no object but nothing"),
        ("[]", "no object but a list"),
        ('"{}"', "no object but a text"),
        ('{"a": 1, "a": 1}', "the key 'a' is in one object twice"),
        ("x:\n  a: 1\n  a: 2\n", "the key 'a' is in one object twice"),
        ("1: a\n'1': b\n", "the key '1' is in one object twice"),
        ('{"a": NaN}', "JSON has no number nan"),
        (LAUGHS, "aliases"),
        ("a: !!python/object/apply:os.system [id]", "neither JSON nor YAML"),
        ("a: !!binary aGk=", "a bytes is not read here"),
        ("? [a]\n: b", "a key is no text"),
        ("a: 1\n---\nb: 2\n", "neither JSON nor YAML"),
        ("{", "neither JSON nor YAML"),
        ('{"a":' * (MAX_DEPTH + 1) + "1" + "}" * (MAX_DEPTH + 1), "deeper than"),
        ("[" * 100_000, "cannot be read"),
        ("{a: " * 5_000, "cannot be read"),
        ('{"a": ' + "9" * 5_000 + "}", "cannot be read"),
        (" " * (MAX_LENGTH + 1), "longer than"),
    ],
)  # fmt: skip
def test_what_is_refused_says_why(text: str, why: str) -> None:
    with pytest.raises(ValuesError, match="cannot be read") as caught:
        parse_values(text)
    assert why in caught.value.message


@pytest.mark.parametrize("text", ["", "no", "[]", "a: b", '{"a": 1, "a": 2}'])
def test_what_is_no_schema_is_unknown(text: str) -> None:
    found = parse_schema(text)
    assert isinstance(found, Unknown) and found.why.startswith("the configuration schema cannot be read")


@pytest.mark.parametrize(
    "text",
    [
        "env: {TOKEN: hunter2hunter2\n",
        'env:\n  TOKEN: "hunter2hunter2\n',
        "a: b\n  c: hunter2hunter2: x\n",
        "TOKEN: !!float hunter2hunter2",
        "TOKEN: !!int hunter2hunter2",
    ],
)
def test_what_cannot_be_read_is_not_repeated(text: str) -> None:
    with pytest.raises(ValuesError) as caught:
        parse_values(text)
    assert "hunter2" not in str(caught.value), caught.value
