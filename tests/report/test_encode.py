"""JSON and YAML: the same bytes on every machine, and libraries loaded only by the format that needs them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.drain.report.formats import DrainReport
from kubectl_eksdoc.report.encode import plain_value, to_json, to_yaml
from kubectl_eksdoc.report.events import NUMBER
from kubectl_eksdoc.report.text import Appearance
from tests.drain.report.plans import a_view
from tests.yaml_reader import yaml_of

render = DrainReport.render

ROOT = Path(__file__).parents[2]


def test_yaml_is_the_same_without_libyaml() -> None:
    """A PyYAML built without libyaml has only the emitter in Python."""
    text = render(a_view(), "yaml", Appearance())
    slow = yaml.dump(
        yaml_of(text),
        Dumper=yaml.SafeDumper,
        sort_keys=False,
        allow_unicode=True,
        width=1 << 30,
        default_flow_style=False,
    )
    assert slow == text


def test_words_that_yaml_would_read_as_something_else_stay_words() -> None:
    odd = ["no", "on", "1.30", "0x10", "1e3", "null", "~", "2026-11-20", "- a", "a: b", "a #b", "", " x ", "1_000", "="]
    assert yaml_of(to_yaml([*odd])) == odd


NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)


@settings(max_examples=50)
@given(st.dictionaries(st.text(), VALUES))
@pytest.mark.long
def test_yaml_is_what_pyyaml_dumps(document: dict[str, Any]) -> None:
    """The longer way, by nodes, gives the same bytes; `ignore_aliases` because equal lists may be one object."""

    quick: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

    class Plain(quick):  # type: ignore[misc]
        def ignore_aliases(self, data: object) -> bool:
            return True

    # Texts for PyYAML that readers of YAML 1.2 parse as numbers.
    number = re.compile(rf"(?:{NUMBER.pattern})\Z")
    Plain.add_implicit_resolver("tag:yaml.org,2002:float", number, list("-+.0123456789"))
    want = yaml.dump(document, Dumper=Plain, sort_keys=False, width=1 << 30, default_flow_style=False)
    assert to_yaml(document, ascii_only=True) == want


def test_a_list_that_stands_twice_is_written_twice() -> None:
    shared: Any = ["a"]
    assert to_yaml({"b": shared, "c": shared}) == "b:\n- a\nc:\n- a\n"


def test_keys_keep_their_order() -> None:
    assert list(yaml_of(to_yaml({"b": 1, "a": 2}))) == ["b", "a"]
    assert to_json({"b": 1, "a": [True, None]}) == '{\n  "b": 1,\n  "a": [\n    true,\n    null\n  ]\n}\n'


def test_signs_stay_readable_and_are_escaped_only_where_asked() -> None:
    assert "Zürich …" in to_json("Zürich …") and "Zürich …" in to_yaml(["Zürich …"])
    assert to_json("Zürich …", ascii_only=True) == '"Z\\u00fcrich \\u2026"\n'


def test_nothing_that_json_does_not_have() -> None:
    assert plain_value({"a": (1, 2.5, None)}) == {"a": [1, 2.5, None]}
    with pytest.raises(TypeError, match="bytes has no JSON form"):
        plain_value({"a": b"x"})
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_json(float("nan"))


LOADED = """
import sys
from kubectl_eksdoc.report.text import Appearance
from kubectl_eksdoc.drain.report.formats import DrainReport
from tests.drain.report.plans import a_view
for format in sys.argv[1:]:
    a_view().render(format, Appearance())
    print(format, *sorted({"tabulate", "yaml"} & set(sys.modules)))
"""


def test_a_format_loads_only_its_own_library() -> None:
    formats = ("json", "name", "markdown", "html", "yaml", "table")
    command = [sys.executable, "-c", LOADED, *formats]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.splitlines() == [*formats[:4], "yaml yaml", "table tabulate yaml"]
