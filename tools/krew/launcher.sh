#!/bin/sh
''':'
# The shell reads as far as exec and Python takes that for a text: so a machine without python3 is told in a sentence,
# and one that has only a python3.12 goes on with that.
for python in python3 python3.15 python3.14 python3.13 python3.12 python3.11 python3.10; do
    command -v "$python" >/dev/null 2>&1 && exec "$python" "$0" "$@"
done
case "${0##*/} $1" in
kubectl_complete-* | *" __complete") exit 1 ;; # what is said now would land in the line that is typed
esac
why="error: kubectl eksdoc needs CPython 3.10 to 3.15 as python3, and there is none on PATH."
how="Install one: brew install python@3.13 (macOS), apt install python3 (Debian 12, Ubuntu 22.04 or newer),"
echo "$why $how dnf install python3.11 (Amazon Linux, RHEL)." >&2
exit 2
# '''
