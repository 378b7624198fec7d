"""The environment of a fleet member's process: it excludes variables of this process that would select another
account."""

from __future__ import annotations

from pathlib import Path

import botocore.session
import pytest

from kubectl_eksdoc.aws.sessions import credential_source
from kubectl_eksdoc.host.fleet import CREDENTIALS, member_environment
from kubectl_eksdoc.model.cluster import FleetMember

OURS = {name: f"ours of {name}" for name in CREDENTIALS}
OTHERS = {"PATH": "/bin", "AWS_CONFIG_FILE": "/c", "AWS_CA_BUNDLE": "/ca", "AWS_REGION": "us-east-1", "HOME": "/root"}


def test_without_a_profile_of_its_own_it_is_as_here() -> None:
    assert member_environment(FleetMember("a", "a"), OURS | OTHERS) == OURS | OTHERS


def test_a_profile_of_its_own_stands_for_itself() -> None:
    assert member_environment(FleetMember("a", "a", profile="prod"), OURS | OTHERS) == OTHERS | {"AWS_PROFILE": "prod"}


def test_so_does_a_region() -> None:
    found = member_environment(FleetMember("a", "a", region="eu-west-1"), OURS | OTHERS)
    assert found == OURS | OTHERS | {"AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "eu-west-1"}


@pytest.mark.parametrize(
    ("source", "kept"),
    [
        ("Environment", {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"}),
        ("EcsContainer", {name for name in CREDENTIALS if "CONTAINER" in name}),
        ("Ec2InstanceMetadata", set()),
    ],
)
def test_what_a_profile_says_that_it_takes_is_left(source: str, kept: set[str]) -> None:
    found = member_environment(FleetMember("a", "a", profile="prod"), OURS, source)
    assert set(found) == kept | {"AWS_PROFILE"} and found["AWS_PROFILE"] == "prod"


CONFIG = """\
[profile plain]
aws_access_key_id = AKIAPLAIN
aws_secret_access_key = secret
[profile base]
role_arn = arn:aws:iam::111122223333:role/base
credential_source = Environment
[profile chained]
role_arn = arn:aws:iam::444455556666:role/other
source_profile = base
[profile round]
source_profile = about
[profile about]
source_profile = round
[profile self]
source_profile = self
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "config"
    path.write_text(CONFIG)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(path))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    return path


def test_where_a_profile_takes_its_credentials_from(config: Path) -> None:
    names = ("plain", "base", "chained", "round", "self", "nowhere")
    assert [credential_source(name) for name in names] == ["", "Environment", "Environment", "", "", ""]
    config.write_text("[no")
    assert credential_source("base") == ""


def test_keys_here_would_win_over_the_profile_of_a_member(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """botocore and awscli decide like that, which is why the keys are not passed on."""
    ours = {"AWS_ACCESS_KEY_ID": "AKIAOURS", "AWS_SECRET_ACCESS_KEY": "secret"}

    def key_with(environ: dict[str, str]) -> str:
        for name in CREDENTIALS:
            monkeypatch.delenv(name, raising=False)
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        found = botocore.session.Session().get_credentials()
        return str(found.access_key)

    assert key_with(ours | {"AWS_PROFILE": "plain"}) == "AKIAOURS"
    assert key_with(member_environment(FleetMember("a", "a", profile="plain"), ours)) == "AKIAPLAIN"
