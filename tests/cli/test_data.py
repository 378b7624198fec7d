"""Tables of the command line agree with each other: flags, exit codes, rights, formats, plugins.yaml."""

from __future__ import annotations

import inspect
from dataclasses import fields

from kubectl_eksdoc import errors
from kubectl_eksdoc.check.report.formats import CheckReport
from kubectl_eksdoc.cli import rights, streams
from kubectl_eksdoc.cli.flags import OUTPUTS, REFUSED_FLAGS, SUPPORTED_FLAGS, GlobalOptions
from kubectl_eksdoc.cli.main import command_parser
from kubectl_eksdoc.drain.read import PLAN_KINDS
from kubectl_eksdoc.drain.report.formats import DrainReport
from kubectl_eksdoc.model import permissions
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.permissions import opt_in_for

# `kubectl options` of kubectl 1.33, without its logging and profiling flags.
KUBECTL = """
--as --as-group --as-uid --as-user-extra --cache-dir --certificate-authority --client-certificate
--client-key --cluster --context --disable-compression --insecure-skip-tls-verify --kubeconfig --kuberc
--log-flush-frequency --match-server-version --namespace --password --profile --profile-output --request-timeout
--server --tls-server-name --token --user --username --v --vmodule --warnings-as-errors
"""


def _names() -> list[str]:
    return [*(name for flag in SUPPORTED_FLAGS for name in flag.names), *" ".join(REFUSED_FLAGS).split()]


def test_every_global_flag_of_kubectl_is_honoured_or_refused_by_name() -> None:
    assert [name for name in KUBECTL.split() if name not in _names()] == []


def test_no_flag_is_there_twice() -> None:
    assert len(_names()) == len(set(_names()))


def test_every_flag_fills_a_field_and_every_field_of_a_connection_has_its_flag() -> None:
    connection = {f.name for f in fields(Connection)}
    assert {flag.dest for flag in SUPPORTED_FLAGS} <= connection | {f.name for f in fields(GlobalOptions)}
    assert connection - {flag.dest for flag in SUPPORTED_FLAGS} == {"page_size"}  # --chunk-size of each command


def test_the_formats_of_o_are_those_of_the_renderers() -> None:
    assert set(OUTPUTS) == set(DrainReport.formats) | set(CheckReport.formats)


def test_every_error_has_an_exit_code_that_is_explained() -> None:
    raised = {c.exit_code for _, c in inspect.getmembers(errors, inspect.isclass) if issubclass(c, errors.EksdocError)}
    assert raised <= set(streams.MEANINGS)


def test_rights_are_what_the_flow_reads() -> None:
    assert [(right.verb, right.resource) for right in rights.DRAIN_PLAN] == [
        ("list", resource) for resource in PLAN_KINDS
    ]


def test_a_right_knows_what_is_unknown_without_it() -> None:
    by_name = {str(right): right for right in rights.DRAIN_PLAN}
    assert {name for name, right in by_name.items() if right.required} == {"list nodes", "list pods"}
    assert "budget-never-allows" in by_name["list poddisruptionbudgets.policy"].unknown_without
    assert by_name["list daemonsets.apps"].unknown_without == ("pod-daemonset", "pod-daemonset-missing")


def test_every_right_of_a_run_is_needed_or_says_what_is_lost() -> None:
    for command, held in rights.BY_COMMAND.items():
        named = [r.identity for r in held if not (r.journal or r.probe)]
        assert len(named) == len(set(named)), command
        assert [str(r) for r in held if not (r.required or r.unknown_without or r.lost)] == []


def test_what_a_run_may_do_only_when_asked_is_not_required() -> None:
    by_name = {str(right): right for right in rights.BY_COMMAND["drain run"]}
    for name, flag in (("patch deployments.apps", "--surge-singles"), ("delete pods", "--delete-past-budget")):
        assert not by_name[name].required and flag in by_name[name].lost and by_name[name].flag == flag
        assert by_name[name].unknown_without == ()
    assert by_name["patch nodes"].required and "volumes" in by_name["list volumeattachments.storage.k8s.io"].lost


def test_what_allows_more_than_commands_do_with_it_is_an_opt_in() -> None:
    """By the right itself or, if nothing else needs the right, by the flag."""
    every = [right for held in rights.BY_COMMAND.values() for right in held]
    assert [str(each) for each in every if opt_in_for(str(each)) not in (None, each.opt_in)] == []
    assert [str(each) for each in every if each.opt_in and not (opt_in_for(str(each)) or each.flag)] == []
    assert {name for each in permissions.OPT_INS for name in each.rights} <= set(map(str, every))


def test_every_command_has_its_rights() -> None:
    of_this_machine = {"plugins", "changes"}
    assert set(command_parser().commands()) - of_this_machine == {name.split()[0] for name in rights.BY_COMMAND}
