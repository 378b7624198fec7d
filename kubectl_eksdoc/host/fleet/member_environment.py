"""What the process that judges one cluster finds in its environment: never the credentials of another account.

Sources: botocore, credentials.py (`create_credential_resolver`: keys in the environment come before the profile that
AWS_PROFILE names, and only a profile that is named otherwise comes before them); the AWS SDKs' reference, "Environment
variables support".
"""

from __future__ import annotations

from collections.abc import Mapping

from kubectl_eksdoc.core.model.fleet import Member

CREDENTIALS = (
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_SECURITY_TOKEN",
    "AWS_CREDENTIAL_EXPIRATION",
    "AWS_PROFILE",
    "AWS_DEFAULT_PROFILE",
    "AWS_ROLE_ARN",
    "AWS_ROLE_SESSION_NAME",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
)
"""Whose they are is somebody else's account, for a member that names a profile of its own."""

SOURCES: Mapping[str, tuple[str, ...]] = {
    "Environment": ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
    "EcsContainer": tuple(name for name in CREDENTIALS if name.startswith("AWS_CONTAINER_")),
}
"""What a profile says itself that it takes (``credential_source``) to assume its role with."""

_PROFILE = "AWS_PROFILE"
_REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")


def environment_of(member: Member, environ: Mapping[str, str], source: str = "") -> dict[str, str]:
    """That of this process, but that the profile and the region of the member are the only ones where it has them. A
    credential plugin is given it, too: the flags that we are given it never sees. `source`: one of `SOURCES`, or ""."""
    found = dict(environ)
    if member.profile:
        for name in CREDENTIALS:
            if name not in SOURCES.get(source, ()):
                found.pop(name, None)
        found[_PROFILE] = member.profile
    if member.region:
        found.update(dict.fromkeys(_REGIONS, member.region))
    return found
