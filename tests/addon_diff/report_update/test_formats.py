"""Reports of updates before and after they are carried out; in every format: `tests.drain.report.test_formats`."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path

from kubectl_eksdoc.addon_diff.guards import Guard, changing_fields, findings_to_acknowledge
from kubectl_eksdoc.addon_diff.judging import field_name
from kubectl_eksdoc.addon_diff.outcome import AddonRollback, AddonUpdateResult, ServiceHealth, Verdict
from kubectl_eksdoc.addon_diff.report.outcome import SentUpdate, UpdateReport, follow_commands, rollback_text
from kubectl_eksdoc.amazon.group_updates import UpdateStage
from kubectl_eksdoc.model.addons import HealthIssue
from kubectl_eksdoc.model.connection import CommandTarget
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.report.text import Appearance
from tests.addon.stand_in import hands
from tests.addon.test_updating import incident
from tests.addon.updating import Case
from tests.builders import a_cluster, a_node
from tests.report.golden import AnswerFormats


def view(case: Case) -> UpdateReport:
    ready = case.ready()
    facts, asked = ready.plan.facts, ready.update_to_send.request
    keeps = tuple(field_name(change.field) for change in ready.update_to_send.keeps)
    sent = SentUpdate("vpc-cni", facts.addon.version, facts.target.version, asked.mode.value, asked.values, keeps)
    return UpdateReport(
        sent,
        a_cluster(nodes=[a_node()]),
        ready.plan,
        len(changing_fields(ready.plan)),
        ready.guards,
        findings_to_acknowledge(ready.plan),
        rollback_text(ready.rollback, "shop", "eu-west-1", "/home/ann/back.json", CommandTarget(("--context", "shop"))),
        options={"addon": "vpc-cni", "apply": True},
        run="20261120-093000-4f2a",
        recognised="by its endpoint",
        tool_version="0.0.0",
    )


@cache
def before() -> UpdateReport:
    return view(incident())


@cache
def after() -> UpdateReport:
    """The state after the update, with OVERWRITE as requested; another client sets one of the fields again
    meanwhile."""
    case = incident("OVERWRITE", as_asked=True)
    shown = view(case)
    case.time.then.append((30, lambda: hands.sets_env(case.service.objects, "ENABLE_POD_ENI", "true")))
    case.eks.takes_s = 20
    case.objects.stands = 1
    case.time.then.append((50, lambda: setattr(case.objects, "stands", None)))
    ended = replace(case.done(), health=(ServiceHealth("shop/payment", 3, 1, 3, 3),))
    return replace(shown, ended=ended, journal="/home/ann/.local/state/eksdoc/addon-updates/x.jsonl")


@cache
def failed() -> UpdateReport:
    case = incident()
    shown = view(case)
    case.eks.before_it_begins = lambda: hands.sets_env(case.service.objects, "WARM_ENI_TARGET", "9")
    return replace(shown, ended=case.done())


@cache
def others() -> dict[str, UpdateReport]:
    done = after().ended
    assert done is not None
    doubtful = tuple(replace(check, verdict=Verdict.NOT_READ, found=None, why="denied") for check in done.checks)
    never: AddonUpdateResult = replace(
        done,
        stage=UpdateStage.UNKNOWN,
        left="it was stopped",
        errors=(HealthIssue("ConfigurationConflict", "one\ntwo", ("aws-node",)),),
        not_ready=("aws-node-x: CrashLoopBackOff",),
        health=(
            ServiceHealth("shop/pay", 0, 0, 0, 0, unread="denied"),
            ServiceHealth("shop/web", 3, 1, 1, 3, ("10.0.0.1:80 ill",)),
        ),
        checks=doubtful,
        unread=((done.checks[0].field.of, "denied"),),
        unwatched="which target groups are affected is not known",
    )
    back = rollback_text(Unknown("the values of today are not known"), "shop", "", "f", CommandTarget())
    guarded = replace(before(), guards=(Guard("it would fail", "Do something else.\nOr nothing."),), rollback=back)
    return {"never": replace(after(), ended=never), "guarded": guarded, "unplanned": replace(guarded, plan=None)}


_FREE = ("outcome.fields.*.before", "outcome.fields.*.now", "outcome.fields.*.foretold.value")
ANSWERS = AnswerFormats(
    Path(__file__).parent / "golden",
    {
        "after": after,
        "before": before,
        "failed": failed,
        **{name: (lambda name=name: others()[name]) for name in ("never", "guarded", "unplanned")},
    },
    {
        "before-100.txt": ("table", Appearance(100), "before"),
        "after-120.txt": ("table", Appearance(120)),
        "after-80.txt": ("table", Appearance(80)),
        "after-ascii.txt": ("table", Appearance(100, ascii=True)),
        "after-colour.txt": ("table", Appearance(120, colour=True)),
        "after-wide.txt": ("wide", Appearance(80)),
        "failed-100.txt": ("table", Appearance(100), "failed"),
        "before.json": ("json", Appearance(), "before"),
        "after.json": ("json", Appearance()),
        "after.yaml": ("yaml", Appearance()),
    },
    {f"no {each}" for each in _FREE},
    ("values", *_FREE),
    whole=("kubectl eksdoc", "aws eks", "Journal: ", "{"),
    widths=(80, 120),
)


def test_who_was_interrupted_is_told_how_to_look_again() -> None:
    ours, theirs = follow_commands(
        "vpc-cni", "run-1", "8d1a", "shop", "eu-west-1", CommandTarget(("--context", "shop"))
    )
    assert ours == "kubectl eksdoc addon-diff vpc-cni --apply --resume run-1 --context shop"
    words = "aws eks describe-update --name shop --addon-name vpc-cni --update-id 8d1a --region eu-west-1"
    assert theirs == words


def test_a_rollback_before_anything_is_sent_writes_its_values_first(tmp_path: Path) -> None:
    values = {"env": {"A": "it's $HOME"}, "corefile": "a\n  b\n"}
    back = rollback_text(AddonRollback("coredns", "v1.11.4-eksbuild.2", values), "shop", "", "", CommandTarget())
    assert not isinstance(back, str)
    writes, _, ours = back.commands[0].partition(" && ")
    subprocess.run(["sh", "-c", writes], cwd=tmp_path, check=True)
    assert json.loads((tmp_path / "values-of-before.json").read_text()) == values
    assert "--configuration-values values-of-before.json" in ours


def test_a_rollback_prints_no_secret_and_says_when_its_values_are_written() -> None:
    back = rollback_text(AddonRollback("x", "v1", {"env": {"DB_PASSWORD": "hunter2"}}), "shop", "", "", CommandTarget())
    assert not isinstance(back, str) and "hunter2" not in " ".join(back.commands)
    assert back.commands[0].startswith("# values-of-before.json is written by --apply")
