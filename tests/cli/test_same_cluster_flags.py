"""The flags that select the same cluster again: as given, pinned to the context, without secrets."""

from __future__ import annotations

import io
from datetime import datetime, timezone

from kubectl_eksdoc.cli.answers import ObservedCluster, command_target, target_flags
from kubectl_eksdoc.cli.context import CommandContext
from kubectl_eksdoc.cli.flags import GlobalOptions
from kubectl_eksdoc.model.cluster import Cluster, Identity, Source
from kubectl_eksdoc.model.connection import IN_CLUSTER, CommandTarget, Connection
from kubectl_eksdoc.session.sources import SourceChoice

LIVE = SourceChoice()


def _called(source: SourceChoice, options: GlobalOptions) -> CommandContext:
    return CommandContext(io.StringIO(), io.StringIO(), options=options, source=source)


def _reach(source: SourceChoice, options: GlobalOptions, context: str) -> CommandTarget:
    read = ObservedCluster(Cluster(Identity(context), Source.LIVE, datetime(2026, 11, 20, tzinfo=timezone.utc)))
    return command_target(_called(source, options), read)


def live(connection: Connection, context: str = "prod-eu") -> tuple[str, ...]:
    return target_flags(_called(LIVE, GlobalOptions(connection=connection)), context)


def test_the_context_that_was_read_is_named() -> None:
    assert live(Connection()) == ("--context", "prod-eu")
    assert live(Connection(), "") == ()
    assert live(Connection(), IN_CLUSTER) == (), "no flag leads there from anywhere else"
    assert live(Connection(context="other")) == ("--context", "other")
    assert live(Connection(server="https://a:1")) == ("--server", "https://a:1")


def test_flags_are_given_as_they_were_and_a_token_never() -> None:
    given = Connection(
        kubeconfig="my config",
        token="secret",
        impersonate_groups=("a", "b"),
        insecure_skip_tls_verify=True,
        request_timeout=30.0,
    )
    said = live(given)
    assert said[:4] == ("--context", "prod-eu", "--kubeconfig", "my config")
    assert said[4:] == ("--as-group", "a", "--as-group", "b", "--request-timeout", "30", "--insecure-skip-tls-verify")


def test_a_dump_and_the_demo_need_no_cluster() -> None:
    assert target_flags(_called(SourceChoice(snapshot="d.tar.gz"), GlobalOptions()), "c") == ("--snapshot", "d.tar.gz")
    assert target_flags(_called(SourceChoice(demo=True), GlobalOptions()), "c") == ("--demo",)


def test_awscli_is_given_the_profile_that_was_given() -> None:
    options = GlobalOptions(profile="my prod", region="eu-west-1")
    found = _reach(LIVE, options, "prod-eu")
    assert found.add_to("aws eks list-addons") == "aws --profile 'my prod' eks list-addons"
    both = 'query=$(aws logs start-query) && aws logs get-query-results --query-id "$query"'
    assert found.add_to(both).count("aws --profile 'my prod' logs") == 2
    ours = "kubectl eksdoc interruption --print stack > a.yaml && aws cloudformation create-stack --stack-name a"
    first, then = found.add_to(ours).split(" && ")
    assert first.startswith("kubectl eksdoc interruption --print stack --context prod-eu --region eu-west-1 --profile")
    assert then == "aws --profile 'my prod' cloudformation create-stack --stack-name a"
    assert found.add_to("aws eks list-addons --profile x") == "aws eks list-addons --profile x"
    assert _reach(LIVE, GlobalOptions(), "prod-eu").add_to("aws eks list-addons") == "aws eks list-addons"
    assert _reach(SourceChoice(demo=True), options, "demo").add_to("aws eks list-addons") == "aws eks list-addons"
