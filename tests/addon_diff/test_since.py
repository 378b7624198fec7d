"""Since which version a schema has a path: found by few questions, and honest about what lies between."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as some

from kubectl_eksdoc.addon_diff.plan import since
from kubectl_eksdoc.addon_diff.prediction import AddonUpdateRequest, Mode
from kubectl_eksdoc.addon_diff.schema.paths import SchemaPaths, paths
from kubectl_eksdoc.model.kinds import Unknown
from tests.addon_diff.incident import EARLY_DEMUX
from tests.addon_diff.test_plan import facts, planned

CHANGES = [c for c in planned(facts(), AddonUpdateRequest(Mode.OVERWRITE)).changes if c.config == EARLY_DEMUX]
HAS = paths({"properties": {"init": {"properties": {"env": {"properties": {EARLY_DEMUX[2]: {"type": "string"}}}}}}})
LACKS = paths({"properties": {"env": {"type": "object"}}, "additionalProperties": False})


@given(some.integers(1, 40), some.data())
def test_it_is_the_first_one_and_few_are_asked(count: int, data: some.DataObject) -> None:
    first = data.draw(some.integers(0, count - 1))
    versions = [f"v1.{n}.0" for n in range(count)]
    asked: list[str] = []

    def schema_of(version: str) -> SchemaPaths:
        asked.append(version)
        return HAS if versions.index(version) >= first else LACKS

    (found,) = since(CHANGES, versions, schema_of)
    assert (found.has, found.exact) == (versions[first], True)
    assert found.lacks == (versions[first - 1] if first else "")
    assert len(asked) == len(set(asked)) <= 2 + math.ceil(math.log2(count + 1))


@given(some.integers(2, 20), some.data())
def test_what_is_not_known_is_never_guessed(count: int, data: some.DataObject) -> None:
    first = data.draw(some.integers(0, count - 1))
    unknown = data.draw(some.sets(some.integers(0, count - 2)))
    versions = [f"v1.{n}.0" for n in range(count)]

    def schema_of(version: str) -> SchemaPaths | Unknown:
        at = versions.index(version)
        return Unknown("none is published") if at in unknown else HAS if at >= first else LACKS

    (found,) = since(CHANGES, versions, schema_of)
    known = [at for at in range(count) if at not in unknown]
    assert found.has == versions[min(at for at in known if at >= first)]
    below = [at for at in known if at < first]
    assert found.lacks == (versions[max(below)] if below else "")
    assert found.exact == (versions.index(found.has) == (versions.index(found.lacks) if found.lacks else -1) + 1)


def test_a_target_without_the_path_has_none() -> None:
    assert since(CHANGES, ["v1", "v2"], lambda _: LACKS) == () == since(CHANGES, [], lambda _: HAS)
