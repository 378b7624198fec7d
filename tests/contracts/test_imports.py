"""The import contracts of setup.cfg hold, and each of them detects a planted violation."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.contracts.source import PACKAGE, ROOT, contracts, lint_imports

CYCLE = ("report/text.py", "kubectl_eksdoc.report.report")

# Violations to plant: a file of the package, an import in it, and the start of the name of the contract that it breaks.
PLANTED = (
    ("errors.py", "kubectl_eksdoc.model.nodes", "Imports go down only"),
    ("report/text.py", "kubectl_eksdoc.kube.config", "Only command, read and apply of a feature"),
    ("session/sources.py", "kubectl_eksdoc.cli.main", "Imports go down only"),
    ("drain/nodes.py", "kubectl_eksdoc.drain.rounds", "A drain plan is judged"),
    ("drain/placement.py", "kubectl_eksdoc.drain.result", "A drain plan is judged"),
    ("drain/plan.py", "kubectl_eksdoc.drain.plan_changes", "A drain plan is judged"),
    ("model/versions.py", "time", "A feature is pure"),
    ("kubernetes/budgets.py", "random", "A feature is pure"),
    ("model/nodes.py", "os", "A feature is pure"),
    ("interruption/spot.py", "kubectl_eksdoc.cli.main", "Only command, read and apply of a feature"),
    ("check/report/verdict.py", "kubectl_eksdoc.kube.config", "Only command, read and apply of a feature"),
    ("report/text.py", "subprocess", "Changes and reports touch no"),
    ("changes/engine.py", "kubectl_eksdoc.kube.kubeconfig", "Only command, read and apply of a feature"),
    ("ports.py", "socket", "A feature is pure"),
    ("host/dialling.py", "kubernetes", "Only kube speaks to a cluster"),
    ("session/sources.py", "urllib3", "Only kube speaks to a cluster"),
    ("host/decoding.py", "msgspec", "Only objects decodes"),
    ("drain/command/plan.py", "tabulate", "Only report draws tables"),
    ("aws/ec2.py", "yaml", "Only report writes YAML"),
    ("aws/eks.py", "fastjsonschema", "Only aws holds values"),
    ("addon_diff/remedies.py", "fastjsonschema", "A feature is pure"),
    ("kube/flags.py", "argparse", "Only cli parses arguments"),
    ("session/sources.py", "boto3", "Only aws speaks to AWS"),
    ("cli/main.py", "textual", "Only tui draws screens"),
    ("tui/words.py", "kubectl_eksdoc.kube.config", "Screens are given what they show"),
    ("dns_load/questions.py", "kubectl_eksdoc.errors", "Imports go down only"),
    ("session/sources.py", "kubectl_eksdoc.dns_load.exchanges", "The DNS load generator runs elsewhere"),
    ("kube/deciding.py", "kubectl_eksdoc.drain.result", "Imports go down only"),
    ("amazon/versions.py", "kubectl_eksdoc.knowledge.planted", "Only model.knowledge reads"),
    ("kube/asking_names.py", "dns", "Only the DNS load generator speaks DNS"),
    ("imds_probe/report/nodes.py", "kubectl_eksdoc.imds_probe.read", "A pure file imports no"),
    ("addon_diff/report/diff.py", "kubectl_eksdoc.drain.command.live_run", "A pure file imports no"),
    ("check/checks/sockets.py", "kubectl_eksdoc.addon_diff.read", "A pure file imports no"),
    ("interruption/spot.py", "kubectl_eksdoc.probes.command", "A pure file imports no"),
    ("changes/engine.py", "kubectl_eksdoc.addon_diff.apply", "A pure file imports no"),
    ("changes/report.py", "time", "Changes and reports touch no"),
    ("snapshot/report.py", "os", "Changes and reports touch no"),
    ("session/session.py", "rich", "Only tui draws screens"),
    ("snapshot/recording.py", "textual", "Only tui draws screens"),
    ("rehearse/rehearsal.py", "kubectl_eksdoc.dns_load.exchanges", "The DNS load generator runs elsewhere"),
    ("ports.py", "kubectl_eksdoc.dns_load.exchanges", "The DNS load generator runs elsewhere"),
    (*CYCLE, "No cycles anywhere"),
)
UNLISTED = (
    ("unlisted.py", "kubectl_eksdoc.errors", "Imports go down only"),
    ("drain/unlisted.py", "kubectl_eksdoc.errors", "A drain plan is judged"),
)
"""Packages without a layer."""
SHARED = {"aws", "cli", "dns_load", "embedded", "host", "knowledge", "kube", "objects", "session", "tui", "wiring"}
"""Folders of edges and screens."""
IMPURE = {"report", "changes", "snapshot"}
"""These do not import an edge either, but are not as pure as a feature."""
FACTS = {"model", "amazon", "kubernetes", "simulator", "ports"}
"""Pure packages that are no features: no part of them may import an edge."""


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The report of the contracts for a copy of the package with every violation planted."""
    folder = tmp_path_factory.mktemp("planted")
    shutil.copytree(PACKAGE, folder / PACKAGE.name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "setup.cfg", folder)
    for where, module, _ in PLANTED + UNLISTED:
        _plant(folder, where, module)
    code, text = lint_imports(folder)
    assert code == 1, text
    return text


def _plant(folder: Path, where: str, module: str) -> None:
    """Add the import of `module` to the file `where` of the package; create missing files."""
    importer = folder / PACKAGE.name / where
    old = importer.read_text(encoding="utf-8") if importer.exists() else '"""Planted."""\n'
    importer.write_text(f"{old}\nimport {module}  # noqa\n", encoding="utf-8")
    imported = folder.joinpath(*module.split(".")).with_suffix(".py")
    if module.startswith(PACKAGE.name) and not imported.exists():
        imported.write_text('"""Planted."""\n', encoding="utf-8")


@pytest.mark.long
def test_the_import_contracts_hold() -> None:
    """`make check` reports a violation earlier."""
    code, text = lint_imports(ROOT)
    assert code == 0, text.partition("Broken contracts")[2] or text


def test_planted_imports_break_their_contracts(planted: str) -> None:
    broken = planted.partition("Broken contracts")[2]
    unseen = [
        (where, module, contract)
        for where, module, contract in PLANTED
        if (where, module) != CYCLE
        if f"{_name(where)} -> {module}" not in _section(broken, contract)
    ]
    assert unseen == [], f"these contracts did not see them:\n{planted}"


def test_a_planted_module_without_a_layer_is_seen(planted: str) -> None:
    broken = planted.partition("Broken contracts")[2]
    seen = [_section(broken, contract).partition("not listed as layers:")[2] for _, _, contract in UNLISTED]
    assert [f"- {_name(where)} " in text for (where, _, _), text in zip(UNLISTED, seen, strict=True)] == [True, True]


def test_a_planted_cycle_is_seen(planted: str) -> None:
    """No other planted import leads from one module of report to another."""
    cycles = _section(planted.partition("Broken contracts")[2], "No cycles anywhere")
    assert "No cycles are allowed in kubectl_eksdoc.report." in cycles


def test_every_contract_has_a_planted_violation() -> None:
    assert [name for name in _names() if not any(name.startswith(contract) for _, _, contract in PLANTED)] == []


def test_each_folder_is_shared_or_named_in_the_contracts_on_features() -> None:
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    pure, edges = (
        {module.removeprefix("kubectl_eksdoc.") for module in contracts()[name]["source_modules"].split()}
        for name in ("pure", "edges")
    )
    assert pure & folders == folders - SHARED - IMPURE, "a folder is a feature or in one of these lists"
    assert edges == (pure - FACTS) | IMPURE


def _names() -> list[str]:
    return [contract["name"] for contract in contracts().values()]


def _name(where: str) -> str:
    return f"{PACKAGE.name}.{where.removesuffix('.py').replace('/', '.')}"


def _section(text: str, contract: str) -> str:
    """The report of the contract whose name starts with the given text."""
    full = next(name for name in _names() if name.startswith(contract))
    after = text.partition(full)[2]
    ends = [after.find(name) for name in _names() if name in after]
    return after[: min(ends, default=len(after))]
