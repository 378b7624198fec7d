"""Identify the caller: the account of an access key, and the ARN in GetCallerIdentity and in refusals.

Of moto's internals: a request's account is its header x-moto-account-id, or that of a role's temporary key; STSBackend
names the caller, for unknown keys by an ARN that AWS does not have (sts::…:user/moto), which is corrected here.
"""

from __future__ import annotations

import re
from typing import Any

ACCOUNT = "111122223333"
_KEY = re.compile(r"AKIADOCS(\d{12})$")


def access_key(account: str = ACCOUNT) -> str:
    """The id of the access key of this account's user."""
    return f"AKIADOCS{account}"


def account_of(key: str) -> str | None:
    """The account of a key made by `access_key`; None for any other, whose account moto knows."""
    match = _KEY.match(key)
    return match.group(1) if match else None


def arn_of(key: str, region: str) -> tuple[str, str]:
    """The caller's account and ARN."""
    from moto.iam.models import get_account_id_from
    from moto.sts.models import sts_backends
    from moto.utilities.utils import get_partition

    account = account_of(key) or get_account_id_from(key)
    return account, sts_backends[account][get_partition(region)].get_caller_identity(key, region)[1]


def mend() -> None:
    """Patch moto, once per process."""
    from moto.sts.models import STSBackend

    original = STSBackend.get_caller_identity

    def get_caller_identity(backend: Any, key: str, region: str) -> tuple[str, str, str]:
        user, arn, account = original(backend, key, region)
        if arn.endswith(":user/moto"):
            user, arn = "AIDAEXAMPLEEXAMPLE001", f"arn:{backend.partition}:iam::{account}:user/on-call"
        return user, arn, account

    STSBackend.get_caller_identity = get_caller_identity
