"""An update whose answer was lost is found again by what was asked for, or it is not known."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from kubectl_eksdoc.addon_diff.outcome import asked_for
from kubectl_eksdoc.model.addons import EksAddonUpdate
from kubectl_eksdoc.model.kinds import Unknown

AT = datetime(2026, 11, 22, 9, tzinfo=timezone.utc)


def an_update(ident: str = "u-1", version: str = "v2", mode: str = "NONE", **more: Any) -> EksAddonUpdate:
    given = {"type": "AddonUpdate", "begun": AT + timedelta(seconds=2), **more}
    parameters = (("AddonVersion", version), ("ResolveConflicts", mode))
    return EksAddonUpdate(ident, status="InProgress", parameters=parameters, **given)


def test_the_one_that_was_asked_for() -> None:
    before = an_update("u-0", begun=AT - timedelta(hours=1))
    others = (
        before,
        an_update("u-2", "v3"),
        an_update("u-3", mode="OVERWRITE"),
        an_update("u-4", type="VersionUpdate"),
    )
    assert asked_for((*others, Unknown("denied"), an_update()), "v2", "NONE", AT) == an_update()


@pytest.mark.parametrize(
    "listed", [(), (an_update("u-1"), an_update("u-2")), (an_update(begun=None),), (Unknown("denied"),)]
)
def test_several_or_none_are_unknown(listed: tuple[Any, ...]) -> None:
    assert isinstance(asked_for(listed, "v2", "NONE", AT), Unknown)
