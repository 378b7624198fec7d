"""Names of AWS profiles, of both files."""

from __future__ import annotations

from pathlib import Path

from kubectl_eksdoc.host.aws_profiles import profiles


def test_profiles_of_both_files(tmp_path: Path) -> None:
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "config").write_text(
        "[default]\nregion = x\n[profile  prod]\nsso_session = s\n[sso-session s]\n[services t]\n# [profile no]\n"
        "[profile 'with space']\n  [profile indented]\n"
    )
    (tmp_path / ".aws" / "credentials").write_text("[legacy]\naws_access_key_id = x\n[ prod ]\n")
    assert profiles({}, str(tmp_path)) == ("default", "legacy", "prod", "with space")


def test_files_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "c").write_text("[profile a]\n")
    (tmp_path / "d").write_bytes(b"[b\xff]\n[c]\n")
    found = profiles({"AWS_CONFIG_FILE": "~/c", "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "d")}, str(tmp_path))
    assert {"a", "c"} <= set(found)


def test_no_file(tmp_path: Path) -> None:
    assert profiles({"AWS_CONFIG_FILE": str(tmp_path)}, str(tmp_path)) == ()
