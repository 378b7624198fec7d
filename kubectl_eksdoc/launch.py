"""The entry point: reports in one line that this Python is too old, or starts the command line.

Any Python 3 must be able to parse this file, so it uses no syntax younger than 3.0 and imports nothing of the package
before it has checked the version.
"""

import sys

OLDEST = (3, 10)


def version_error(version: "tuple[int | str, ...]", executable: str) -> str:
    """The error message for a Python older than `OLDEST`, or "" for a supported one."""
    if version[:2] >= OLDEST:
        return ""
    return (
        "error: kubectl eksdoc needs Python %d.%d or newer; this is %s (%s). "
        "Install one: brew install python@3.13 (macOS), apt install python3 (Debian 12, Ubuntu 22.04 or newer), "
        "dnf install python3.11 (Amazon Linux, RHEL); then install kubectl-eksdoc with that Python."
    ) % (OLDEST[0], OLDEST[1], ".".join(str(part) for part in version[:3]), executable)


def is_completion(argv: "list[str]") -> bool:
    """Whether a shell asks for completions; `argv` with the program."""
    name = argv[0].replace("\\", "/").split("/")[-1]
    return name.startswith("kubectl_complete-") or argv[1:2] == ["__complete"]


def main() -> None:
    """Run the command line of this process and end the process with its exit code."""
    error_message = version_error(sys.version_info, sys.executable)
    if error_message and is_completion(sys.argv):
        sys.exit(1)  # a message would appear in the command line that the user types
    if error_message:
        if sys.stderr is not None:  # closed
            sys.stderr.write(error_message + "\n")
        sys.exit(2)
    try:
        from kubectl_eksdoc.cli.main import main as command_line

        sys.exit(command_line())
    except KeyboardInterrupt:  # before or after the command line's own boundary
        sys.exit(130)
