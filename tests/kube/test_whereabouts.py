"""Which cluster the kubeconfig leads to: a key of its own for everything by which two may differ."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kubectl_eksdoc.errors import ConfigError
from kubectl_eksdoc.kube.contexts import contexts, whereabouts
from kubectl_eksdoc.kube.target import CredentialContext
from kubectl_eksdoc.model.connection import Connection
from tests.fakes import kubeconfigs

AROUND = CredentialContext()


@pytest.fixture
def config(tmp_path: Path) -> Connection:
    (tmp_path / "ca.crt").write_text("one authority")
    path = kubeconfigs.many(
        tmp_path / "config",
        {
            "a": {"server": "https://a", "certificate-authority-data": kubeconfigs.b64(b"-----BEGIN one")},
            "a2": {"server": "https://a", "certificate-authority-data": kubeconfigs.b64(b"-----BEGIN two")},
            "f": {"server": "https://f", "certificate-authority": "ca.crt"},
        },
        {"u": {"token": "one"}, "v": {"token": "two"}},
        {
            "blue": ("a", "u"),
            "again": ("a", "u"),
            "made-anew": ("a2", "u"),
            "other-user": ("a", "v"),
            "file": ("f", "u"),
        },
        "blue",
    )
    return Connection(kubeconfig=path)


def test_no_two_contexts_share_a_key(config: Connection) -> None:
    keys = {name: whereabouts(replace(config, context=name), AROUND).key for name in contexts(config, AROUND)}
    assert len(keys) == 5 and len(set(keys.values())) == 5
    assert whereabouts(config, AROUND) == whereabouts(replace(config, context="blue"), AROUND)
    assert whereabouts(config, AROUND).server == "https://a" and whereabouts(config, AROUND).context == "blue"
    assert whereabouts(replace(config, impersonate_user="jane"), AROUND).key not in keys.values()
    assert whereabouts(replace(config, server="https://tunnel"), AROUND).key not in keys.values()


def test_an_authority_in_a_file_counts_by_what_is_in_it(config: Connection, tmp_path: Path) -> None:
    file = replace(config, context="file")
    before = whereabouts(file, AROUND).key
    (tmp_path / "ca.crt").write_text("another authority")
    assert whereabouts(file, AROUND).key != before
    (tmp_path / "ca.crt").unlink()
    assert whereabouts(file, AROUND).key != before


def test_no_secret_is_in_the_key_by_itself(config: Connection, tmp_path: Path) -> None:
    before = whereabouts(config, AROUND).key
    assert whereabouts(replace(config, token="another"), AROUND).key == before
    url, login = ("https://a", "https://admin:hunter2@a")
    plain, with_user = (whereabouts(replace(config, server=each), AROUND) for each in (url, login))
    assert plain.key == with_user.key and with_user.server == url


def test_contexts_of_a_kubeconfig_that_cannot_be_used_are_none(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("[")
    assert contexts(Connection(kubeconfig=str(tmp_path / "config")), AROUND) == ()
    with pytest.raises(ConfigError, match="is not YAML"):
        whereabouts(Connection(kubeconfig=str(tmp_path / "config")), AROUND)
