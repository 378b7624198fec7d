"""Where a profile takes the credentials from with which it assumes its role.

Source: the AWS SDKs' reference, "Assume role credential provider": `source_profile` names another profile,
`credential_source` what is outside of all profiles (Environment, Ec2InstanceMetadata, EcsContainer).
"""

from __future__ import annotations

import botocore.session
from botocore.exceptions import BotoCoreError


def source_of(profile: str) -> str:
    """The `credential_source` at the end of its chain of profiles, "" where it has none, or none can be read."""
    try:
        profiles = botocore.session.Session().full_config.get("profiles", {})
    except BotoCoreError:  # said where the profile is used
        return ""
    seen: set[str] = set()
    while profile not in seen:
        seen.add(profile)
        settings = profiles.get(profile, {})
        if settings.get("credential_source"):
            return str(settings["credential_source"])
        profile = settings.get("source_profile", profile)
    return ""
