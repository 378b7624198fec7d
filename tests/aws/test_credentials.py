"""The credentials that the tool uses: profiles, assumed roles, MFA devices, and no credentials at all."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kubectl_eksdoc.aws.asking import get_caller
from kubectl_eksdoc.aws.refusals import LiveAws
from kubectl_eksdoc.errors import AwsLogin
from kubectl_eksdoc.model.eks import AwsAccess
from tests.aws.test_live import ACCOUNT, NO_FILES, OTHER, ROLE, access, live, prod

if TYPE_CHECKING:
    from tests.aws.world.server import World

__all__ = ["prod"]


def test_a_profile_that_does_not_exist(prod: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
    with pytest.raises(AwsLogin, match="no AWS profile 'nobody'"):
        get_caller(live(prod, profile="nobody", settings=()))


def test_the_files_that_the_plugin_of_the_context_reads_are_read(prod: World, tmp_path: Path) -> None:
    """The session token as well, which belongs to its keys."""
    (tmp_path / "config").write_text("[profile ops]\nregion = us-east-1\n")
    keys = prod.environ(OTHER)
    lines = f"aws_access_key_id = {keys['AWS_ACCESS_KEY_ID']}\naws_secret_access_key = x\n"
    (tmp_path / "credentials").write_text(f"[ops]\n{lines}")
    files = ("AWS_CONFIG_FILE", "config"), ("AWS_SHARED_CREDENTIALS_FILE", "credentials")
    settings = tuple((name, str(tmp_path / file)) for name, file in files)
    assert get_caller(live(prod, profile="ops", settings=settings)).account == OTHER


def a_profile_with_a_device(world: World, folder: Path) -> AwsAccess:
    """A profile whose role needs the code of an MFA device."""
    keys = world.environ(OTHER)
    (folder / "config").write_text(
        f"[profile ops]\nrole_arn = {ROLE.format(ACCOUNT)}\nmfa_serial = arn:aws:iam::{OTHER}:mfa/ann\n"
        "source_profile = own\n[profile own]\n"
        f"aws_access_key_id = {keys['AWS_ACCESS_KEY_ID']}\naws_secret_access_key = x\n"
    )
    settings = (("AWS_CONFIG_FILE", str(folder / "config")), *NO_FILES[1:])
    return access(world, profile="ops", settings=settings)


def test_who_has_a_device_is_asked_for_its_code_or_told_that_nobody_can_be(
    prod: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", prod.endpoint)
    monkeypatch.setenv("HOME", str(tmp_path))
    whose, asked = a_profile_with_a_device(prod, tmp_path), []

    def person(prompt: str) -> str:
        asked.append(prompt)
        return "123456"

    with pytest.raises(
        AwsLogin, match="a person would have to answer 'Enter MFA code for arn:aws:iam::9.*not possible"
    ):
        get_caller(LiveAws(whose, prod.endpoint, 1))
    assert get_caller(LiveAws(whose, prod.endpoint, 1, person)).account == ACCOUNT
    assert asked == [f"Enter MFA code for arn:aws:iam::{OTHER}:mfa/ann: "]


def test_a_role_that_awscli_has_assumed_is_not_assumed_again(
    prod: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """awscli and the tool compute the same cache key for a profile: the digest of the parameters for STS."""
    whose = a_profile_with_a_device(prod, tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    cache = tmp_path / ".aws" / "cli" / "cache"
    cache.mkdir(parents=True)
    role = {"RoleArn": ROLE.format(ACCOUNT), "SerialNumber": f"arn:aws:iam::{OTHER}:mfa/ann"}
    name = hashlib.sha1(json.dumps(role, sort_keys=True).encode()).hexdigest()
    keys = prod.environ(ACCOUNT)
    kept = {
        "AccessKeyId": keys["AWS_ACCESS_KEY_ID"],
        "SecretAccessKey": keys["AWS_SECRET_ACCESS_KEY"],
        "SessionToken": "token",
        "Expiration": "2100-01-01T00:00:00Z",
    }
    (cache / f"{name}.json").write_text(json.dumps({"Credentials": kept}))
    before = sorted(cache.iterdir())
    assert get_caller(LiveAws(whose, prod.endpoint, 1)).account == ACCOUNT
    assert sorted(cache.iterdir()) == before, "and nothing is written there"


def test_a_program_that_should_give_credentials_and_is_not_there(
    prod: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "config").write_text("[profile ops]\ncredential_process = /nowhere/at-all\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    with pytest.raises(AwsLogin, match="credentials of profile 'ops' cannot be had"):
        get_caller(live(prod, profile="ops", settings=()))


def test_without_any_credentials(prod: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(AwsLogin, match="no AWS credentials"):
        get_caller(live(prod, settings=()))
