"""A fact that needs an opt-in that is not granted is unknown, and names it; with ``--without`` it is out of scope."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kubectl_eksdoc.model.kinds import SECRETS
from tests.aws.test_live import prod
from tests.cli.running import Ran
from tests.permissions.command.answers import findings
from tests.permissions.command.granted_users import printed
from tests.permissions.command.served_users import desk
from tests.permissions.command.sites import of_version

if TYPE_CHECKING:
    from tests.aws.world.server import World

__all__ = ["prod"]
HELM = "check --only api-in-helm,kubelet-skew -o json"


def options(ran: Ran) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ran.out)["metadata"]["options"]
    return found


def test_releases_of_helm_are_unknown_or_out_of_the_scope(
    aws: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with of_version("1.29")(aws).served() as site:
        ann = desk(site, aws, tmp_path, monkeypatch)
        role = printed("check")
        unknown, _ = ann.run(HELM, role)
        left_out, who = ann.run(f"{HELM} --without helm-releases", role)
    (found,) = (each for each in findings(unknown) if each["code"] == "api-in-helm")
    remedy = " ".join(each["text"] for each in found["remedy"])
    assert unknown.code == 5 and found["status"] == "unknown" and found["missing"] == "list secrets"
    assert "kubectl eksdoc permissions COMMAND --with helm-releases" in remedy and "--without helm-releases" in remedy
    assert "reads every Secret" in remedy
    assert left_out.code == 0 and "api-in-helm" not in {each["code"] for each in findings(left_out)}
    assert options(left_out)["without"] == ["helm-releases"]
    assert [each for each in who.asked if each.resource == SECRETS.plural] == []


@pytest.mark.long
def test_a_snapshot_names_what_it_lacks_for_want_of_an_opt_in(
    aws: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with of_version("1.29")(aws).served() as site:
        ann = desk(site, aws, tmp_path, monkeypatch)
        lacks, _ = ann.run("snapshot FILE --overwrite -o json", printed("snapshot"))
        left_out, _ = ann.run("snapshot FILE --overwrite --without helm-releases -o json", printed("snapshot"))
    (why,) = (each["why"] for each in json.loads(lacks.out)["lacking"] if each["what"] == "list secrets")
    assert lacks.code == 5 and "--with helm-releases" in why and "--without helm-releases" in why
    assert options(left_out)["without"] == ["helm-releases"]
    assert "list secrets" not in left_out.out
