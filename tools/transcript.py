"""What plans and rehearsals of the built-in cluster print, for the README and docs/: run, not written."""

from __future__ import annotations

import io
import re
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from kubectl_eksdoc.cli.main import run
from kubectl_eksdoc.cli.surroundings import Surroundings
from kubectl_eksdoc.model.baseline import Baseline
from kubectl_eksdoc.session.sources import read_baseline
from tools import terraform_example

COMMAND = ("drain", "plan", "--demo")
WHAT_IF = ("--delete-emptydir-data", "--assume-budget", "shop/checkout=2", "--assume-budget", "data/postgres=2")
SAVED = "before.json"
WIDTH = "100"

ALL_GROUPS = ("--nodegroup", "blue", "--nodegroup", "green")
SOFTLY = "soft-budget does: . of 2"
ORDER_FILE = "order.txt"
ORDER = "# from the runbook\nblue-4\nblue-2\nblue-3\n"


def excerpt() -> str:
    """The verdict, the nodes and the blockers, as a code block; ``[…]`` marks what is left out."""
    text, notes = _ran(*COMMAND)
    shown: list[str] = []
    for paragraph in text.rstrip("\n").split("\n\n"):
        if not shown or paragraph.startswith(("TARGETS", "BLOCKERS")):
            shown.append(paragraph)
        elif shown[-1] != "[…]":
            shown.append("[…]")
    return _console(f"$ kubectl eksdoc {' '.join(COMMAND)}", notes + "\n\n".join(shown))


def comparison() -> str:
    """A plan, saved, and what a what-if changes of it: the verdict and the comparison."""
    saved, _ = _ran(*COMMAND, "-o", "json")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, SAVED)
        path.write_text(saved, encoding="utf-8")
        baseline = replace(read_baseline(str(path)), file=SAVED)
    text, _ = _ran(*COMMAND, *WHAT_IF, "--since", SAVED, read=lambda _: baseline)
    before = f"$ kubectl eksdoc {' '.join(COMMAND)} -o json > {SAVED}"
    command = f"$ kubectl eksdoc {' '.join((*COMMAND, *WHAT_IF))} --since {SAVED}"
    return _console(f"{before}\n{command}", text[: text.index("TARGETS, in")].rstrip("\n") + "\n\n[…]")


def waves() -> str:
    return _course("--max-unavailable", "2")


def generations() -> str:
    return _course(*ALL_GROUPS, "--surge", "1")


def soft_budget() -> str:
    flags = ("--soft-budget", "50", "-o", "wide")
    text, _ = _ran(*COMMAND, *flags)
    said = [line for line in text.splitlines() if re.search(SOFTLY, line)]
    return _console(f"$ kubectl eksdoc {' '.join((*COMMAND, *flags))} | grep '{SOFTLY}'", "\n".join(said))


def order() -> str:
    return _course("--order", "zone")


def order_file() -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, ORDER_FILE)
        path.write_text(ORDER, encoding="utf-8")
        text, _ = _ran(*COMMAND, "--order-file", str(path))
    command = f"$ kubectl eksdoc {' '.join((*COMMAND, '--order-file', ORDER_FILE))}"
    return _console(f"$ cat {ORDER_FILE}\n{ORDER}{command}", _summary_and_targets(text))


def pin() -> str:
    return _course("--pin", "blue-1=2")


def faults() -> str:
    """A rehearsal in which things go wrong: the verdict, the nodes, what befell, and what differs."""
    flags = ("--fault", "node-not-ready=blue-2@5s", "--fault", "slow-pods=2m@20%")
    text, _ = _ran("rehearse", "--demo", *flags)
    kept = ("NODES", "NOT EMPTIED", "FAULTS", "DIFFERENCES")
    paragraphs = text.rstrip("\n").split("\n\n")
    shown = [paragraph for paragraph in paragraphs[1:] if paragraph.startswith(kept)]
    verdict = paragraphs[0].split("\nThe plan:")[0]
    said = "\n\n".join([verdict, "[…]", *shown, "[…]"])
    return _console(f"$ kubectl eksdoc {' '.join(('rehearse', '--demo', *flags))}", said)


def addon_diff() -> str:
    """What an update with OVERWRITE would take back."""
    command = ("addon-diff", "vpc-cni", "--demo", "--to", "v1.20.4-eksbuild.2", "--resolve-conflicts", "OVERWRITE")
    text, _ = _ran(*command)
    return _console(f"$ kubectl eksdoc {' '.join(command)}", text.rstrip("\n"))


def addon_terraform() -> str:
    """What a pipeline is told, without the part that is as above."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "plan.json")
        path.write_text(terraform_example.plan(), encoding="utf-8")
        text, _ = _ran("addon-diff", "--tf-plan", str(path), "--demo")
    said = text.rstrip("\n").replace(str(path), path.name).split("\n\n")
    kept = [part for part in said if not part.startswith(("FIELDS", "CONFIGURATION"))]
    return _console(f"$ kubectl eksdoc addon-diff --tf-plan {path.name} --demo", "\n\n".join(kept))


def addon_after() -> str:
    """What the last update took."""
    command = ("addon-diff", "vpc-cni", "--demo", "--after")
    text, _ = _ran(*command)
    return _console(f"$ kubectl eksdoc {' '.join(command)}", text.rstrip("\n"))


def addon_apply() -> str:
    """What would be sent, and the way back: without the forecast above it."""
    command = ("addon-diff", "vpc-cni", "--demo", "--to", "v1.20.4-eksbuild.2", "--apply", "--dry-run")
    text, _ = _ran(*command, expected=0)
    sent = text[text.index("WHAT IS SENT") :]
    return _console(f"$ kubectl eksdoc {' '.join(command)}", f"[…]\n\n{sent.rstrip()}")


def coredns_lameduck() -> str:
    """The page on the incident of the demo."""
    text, _ = _ran("coredns-lameduck", "--demo", expected=1)
    return _console("$ kubectl eksdoc coredns-lameduck --demo", text.rstrip("\n"))


def imds_probe() -> str:
    """One line and one sentence for each cause."""
    text, _ = _ran("imds-probe", "--demo", expected=1)
    return _console("$ kubectl eksdoc imds-probe --demo", text.rstrip("\n"))


def imds_probe_pod() -> str:
    """One sentence for one pod."""
    command = ("imds-probe", "pod/aws-load-balancer-controller-7ln5fdhcp4-2bc2j", "-n", "kube-system", "--demo")
    text, _ = _ran(*command, expected=1)
    return _console(f"$ kubectl eksdoc {' '.join(command)}", text.rstrip("\n"))


def imds_fix() -> str:
    """A fix that would be carried out, and the way back."""
    command = ("imds-probe", "--demo", "--nodegroup", "payments", "--apply", "--fix", "template-version", "--dry-run")
    text, _ = _ran(*command, expected=0)
    return _console(f"$ kubectl eksdoc {' '.join(command)}", text.rstrip("\n"))


def coredns_change() -> str:
    """What would be sent, without the lines that are as long as a Corefile."""
    command = ("coredns-lameduck", "--demo", "--set", "lameduck=20s")
    text, _ = _ran(*command, expected=0)
    return _console(f"$ kubectl eksdoc {' '.join(command)}", text[: text.index("WHAT IS SENT")].rstrip() + "\n\n[…]")


def coredns_change_refused() -> str:
    """The arithmetic."""
    command = ("coredns-lameduck", "--demo", "--set", "lameduck=30s")
    text, _ = _ran(*command, expected=1)
    return _console(f"$ kubectl eksdoc {' '.join(command)}", text.rstrip("\n"))


def check() -> str:
    """One page: what stands against the end of the upgrade."""
    text, _ = _ran("check", "--demo", "--target", "1.33", expected=1)
    return _console("$ kubectl eksdoc check --demo --target 1.33", text.rstrip("\n"))


def interruption() -> str:
    """One page: what is broken, and what the next interruption takes."""
    text, _ = _ran("interruption", "--demo", expected=1)
    return _console("$ kubectl eksdoc interruption --demo", text.rstrip("\n"))


def interruption_stack() -> str:
    """What is missing, without the rules that are alike."""
    command = ("interruption", "--demo", "--print", "stack")
    text, _ = _ran(*command, expected=0)
    start, end = text.index("  RebalanceRule:"), text.index("  InterruptionRights:")
    shown = f"{text[:start]}  […]\n{text[end:]}"
    return _console(f"$ kubectl eksdoc {' '.join(command)}", shown.rstrip("\n"))


def imds_probe_script() -> str:
    """What the pods of a probe run."""
    from kubectl_eksdoc.imds_probe.probing.pods import SCRIPT

    return f"```sh\n{SCRIPT}```\n"


def _course(*flags: str) -> str:
    """The first paragraph and the nodes that are drained."""
    text, _ = _ran(*COMMAND, *flags)
    return _console(f"$ kubectl eksdoc {' '.join((*COMMAND, *flags))}", _summary_and_targets(text))


def _summary_and_targets(text: str) -> str:
    paragraphs = text.rstrip("\n").split("\n\n")
    targets = next(paragraph for paragraph in paragraphs if paragraph.startswith("TARGETS, "))
    return f"{paragraphs[0]}\n\n[…]\n\n{targets}\n\n[…]"


def _ran(*argv: str, read: Callable[[str], Baseline] = read_baseline, expected: int = 1) -> tuple[str, str]:
    """Its answer and its notes; the demo has blockers."""
    out, err = io.StringIO(), io.StringIO()
    code = run(argv, out, err, around=Surroundings(out, err, {"COLUMNS": WIDTH}, read_baseline=read))
    if code != expected:
        raise SystemExit(f"the demo must exit with {expected}, as it has blockers, not {code}: {err.getvalue()}")
    return out.getvalue(), err.getvalue()


def _console(commands: str, said: str) -> str:
    lines = ["```console", commands, said, "```"]
    return "\n".join(line.rstrip() for line in "\n".join(lines).splitlines()) + "\n"


def snapshot() -> str:
    """What a snapshot of the demo holds."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "demo.eksdoc"))
        text, _ = _ran("snapshot", path, "--demo", expected=0)
    shown = text.replace(path, "demo.eksdoc").rstrip("\n")
    return _console("$ kubectl eksdoc snapshot demo.eksdoc --demo", shown)
