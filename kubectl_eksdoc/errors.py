"""Every error a user can meet, and the exit code each one means.

::

    EksdocError                     70  a bug of ours if nothing narrower fits
    ├── UsageError                   2  the command line, a selector, a target that does not exist
    │   ├── SnapshotError            2  a dump that cannot be read, or is not what it should be
    │   ├── BaselineError            2  a saved plan that cannot be read, or that cannot be compared with
    │   ├── TerraformError           2  a Terraform plan that cannot be read, or is none in JSON
    │   └── ValuesError              2  configuration values of an add-on that are neither a JSON nor a YAML object
    ├── ClusterError                 3  the cluster refused us or cannot be reached
    │   ├── ConfigError              3  the kubeconfig cannot be used
    │   ├── Unreachable              3  no answer, or no complete one
    │   │   └── Untrusted            3  one by somebody whose certificate is not believed: nothing was asked
    │   ├── Unauthorized             3  the credentials are not accepted
    │   ├── Forbidden                3  a right is missing; `missing` names it
    │   ├── ClusterRefused           3  the API server does not take a change: nothing was changed
    │   └── Locked                   3  somebody else drains this cluster; `holder` names them
    ├── AwsError                     4  AWS refused us or cannot be reached
    │   ├── AwsDenied                4  IAM does not allow it; `missing` names the action
    │   ├── AwsMissing               4  there is no such thing there
    │   │   └── AwsNoSuchName        2  by the name that was given; AWS lists the others
    │   ├── AwsThrottled             4  AWS was asked too often, and waiting did not help
    │   ├── AwsRefused               4  AWS does not answer this question, for a reason of its own
    │   ├── AwsLogin                 4  no credentials, or none that are accepted (any more)
    │   └── AwsOtherCluster          4  what AWS describes is not the cluster that kubectl talks to
    ├── Stopped                      6  a run does nothing more: resume it, or roll it back
    │   ├── JournalError             6  what is intended cannot be written down, or what was cannot be read
    │   │   ├── JournalGone          6  somebody removed the run's journal from the cluster: nobody can go on with it
    │   │   └── LocalJournalError    6  this machine's copy cannot be read or written; another machine's may
    │   └── LockLost                 6  somebody else leads; `holder` names them where that is known
    │       └── LockInDoubt          6  or may by now, as nobody could ask in time: it may be ours again
    └── Drifted                      7  the world is not what the plan expects

An error says what was attempted, on what, and what to try next. Errors of libraries are
chained with ``raise ... from``, never shown by themselves.
"""

from __future__ import annotations

from collections.abc import Iterable


def cause_of(error: Exception) -> str:
    """What the operating system says, or the error itself."""
    return str(getattr(error, "strerror", "") or error)


class EksdocError(Exception):
    """What was attempted on what (`message`), and what to try (`hint`). `answer`: for stdout, what was done before."""

    exit_code = 70
    answer = ""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n{self.hint}" if self.hint else self.message


class UsageError(EksdocError):
    exit_code = 2


class SnapshotError(UsageError):
    pass


class BaselineError(UsageError):
    pass


class TerraformError(UsageError):
    pass


class ValuesError(UsageError):
    pass


class ClusterError(EksdocError):
    exit_code = 3


class ConfigError(ClusterError):
    pass


class Unreachable(ClusterError):
    pass


class Untrusted(Unreachable):
    pass


class Unauthorized(ClusterError):
    pass


class Forbidden(ClusterError):
    """`missing` is the right as RBAC writes it, e.g. ``list pods``."""

    def __init__(self, message: str, hint: str = "", missing: str = "") -> None:
        super().__init__(message, hint)
        self.missing = missing


class ClusterRefused(ClusterError):
    pass


class Locked(ClusterError):
    def __init__(self, message: str, hint: str = "", holder: str = "") -> None:
        super().__init__(message, hint)
        self.holder = holder


class AwsError(EksdocError):
    exit_code = 4


class AwsDenied(AwsError):
    """`missing` is the action as IAM policies write it, e.g. ``eks:DescribeAddon``."""

    def __init__(self, message: str, hint: str = "", missing: str = "") -> None:
        super().__init__(message, hint)
        self.missing = missing


class AwsMissing(AwsError):
    """`code` as AWS names it, e.g. ``ResourceNotFoundException``."""

    def __init__(self, message: str, hint: str = "", code: str = "") -> None:
        super().__init__(message, hint)
        self.code = code


class AwsNoSuchName(AwsMissing):
    exit_code = 2


class AwsThrottled(AwsError):
    pass


class AwsRefused(AwsError):
    """`code` as AWS names it, e.g. ``ResourceInUseException``."""

    def __init__(self, message: str, hint: str = "", code: str = "") -> None:
        super().__init__(message, hint)
        self.code = code


class AwsLogin(AwsError):
    pass


class AwsOtherCluster(AwsError):
    pass


class Stopped(EksdocError):
    exit_code = 6


class JournalError(Stopped):
    pass


class JournalGone(JournalError):
    pass


class LocalJournalError(JournalError):
    pass


class LockLost(Stopped):
    def __init__(self, message: str, hint: str = "", holder: str = "") -> None:
        super().__init__(message, hint)
        self.holder = holder


class LockInDoubt(LockLost):
    """`failed`: what became of the last try to renew it, a clause; "" if this machine itself stood still."""

    def __init__(self, message: str, hint: str = "", failed: str = "") -> None:
        super().__init__(message, hint)
        self.failed = failed


class Drifted(EksdocError):
    exit_code = 7


def as_bug(error: Exception) -> str:
    """What is said of an error that nobody expects, a clause."""
    return f"this is a bug in kubectl eksdoc, please report it: {error!r}"


# Did you mean …: names close to one that is not known.


def matches(word: str, known: Iterable[str]) -> list[str]:
    """Up to three of `known` that look like `word`, the closest first."""
    import difflib

    names = sorted(known)
    begins = [name for name in names if len(word) > 2 and name.startswith(word)]
    close = difflib.get_close_matches(word, names, n=3, cutoff=0.6)
    return list(dict.fromkeys([*close, *begins]))[:3]


def maybe(word: str, known: Iterable[str]) -> str:
    """`` (did you mean a or b?)`` for the end of a clause, or "" when nothing is close."""
    found = matches(word, known)
    return f" (did you mean {' or '.join(found)}?)" if found else ""
