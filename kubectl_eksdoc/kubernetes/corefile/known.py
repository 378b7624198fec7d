"""Which plugins and options CoreDNS has had, in which versions, and what they take: a table that is read, not code.

Sources: coredns, core/dnsserver/zdirectives.go and plugin/*/setup.go of each tag from v1.1.3 to v1.14.2; for options
that those do not name in one form, coredns/corefile-migration, migration/versions.go (commit 1dc6c9e).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.quantities import Version, parse

OLDEST, NEWEST = Version(1, 1, 3), Version(1, 14, 2)
"""Outside of these versions nothing is claimed."""

_TABLE = """
root word
metadata word* @1.2.0
geoip ? @1.8.5
cancel duration? @1.5.0
proxyproto ? @1.14.2
quic @1.12.2
    max_streams positive
    worker_pool_size positive
grpc_server ? @1.14.0
https ? @1.14.0
https3 ? @1.14.0
timeouts @1.10.1
    read duration
    write duration
    idle duration
multisocket positive? @1.12.0
reload !
nsid word*
bufsize positive? @1.6.6
bind interface+
    except interface+ @1.8.4
debug word*
trace ?
ready ! @1.5.0
health !
pprof ?
prometheus once address?
errors once stdout?
    consolidate duration regex warning|error|info|debug? @1.2.6
    stacktrace @1.9.3
log scope* unknown=
    class denial|error|success|all+
dnstap ?
local @1.8.3
dns64 prefix? @1.7.0
    prefix prefix
    translate_all
    allow_ipv4 @1.8.7
any word* @1.5.1
chaos word*
loadbalance balance
    reload duration @1.10.1
    prefer network+ @1.12.4
tsig ? @1.9.4
federation ? @..1.6.9
reverse ? @..1.1.4
rewrite rule
autopath search
acl word* @1.6.4
    allow acl
    block acl
    filter acl @1.8.5
    drop acl @1.11.0
cache once positive? zone* unknown=
    success integer positive? natural?
    denial integer positive? natural?
    prefetch natural duration? percentage?
    serve_stale duration? immediate|verify? @1.6.6
    servfail duration @1.9.4
    disable success|denial zone* @1.9.4
    keepttl @1.10.1
header @1.8.5
    query set|clear aa|ra|rd+ @1.12.1
    response set|clear aa|ra|rd+ @1.10.0
dnssec ?
tls ?
minimal @1.8.4
template IN|ANY type zone*
    match regex+
    answer template+
    additional template+
    authority template+
    rcode NOERROR|FORMERR|SERVFAIL|NXDOMAIN|NOTIMP|REFUSED
    ederror natural word? @1.10.1
    fallthrough zone*
    upstream word*
transfer zone* @1.6.5
    to peer+ required
hosts once word* inline
    fallthrough zone*
    no_reverse
    ttl positive
    reload duration
route53 ?
azure ? @1.6.2
clouddns ? @1.6.3
k8s_external zone* @1.3.0 unknown=unknown property '{}'
    ttl ttl
    apex word
    headless @1.9.4
    fallthrough zone* @1.11.0
kubernetes once zone* unknown=unknown property '{}'
    endpoint word+
    endpoint_pod_names
    fallthrough zone*
    ignore empty_service
    kubeconfig word word? @1.2.3
    labels ?
    namespace_labels ? @1.5.0
    multicluster zone* @1.12.2
    startup_timeout duration @1.12.3
    apiserver_qps ? @1.14.0
    apiserver_burst natural @1.14.0
    apiserver_max_inflight natural @1.14.0
    namespaces word+
    noendpoints
    pods disabled|insecure|verified
    resyncperiod word* @..1.6.9
    tls word word word
    transfer to word+ @..1.7.1
    ttl ttl
    upstream word* @..1.6.9
file word zone*
    fallthrough zone* @1.12.2
    reload duration @1.2.3
    upstream word*
    transfer to word+ @..1.7.1
    no_reload @..1.4.0
auto zone*
    directory word
    reload duration @1.2.3
    upstream word*
    transfer to word+ @1.5.0..1.7.1
    no_reload @..1.4.0
secondary zone*
    transfer from peer+ required
    upstream word* @..1.7.1
etcd zone*
    stubzones
    fallthrough zone*
    debug
    path word
    endpoint word+
    upstream word*
    credentials word word @1.4.0
    min-lease-ttl lease @1.12.4
    max-lease-ttl lease @1.12.4
loop ! @1.2.1
proxy ? @..1.4.0
forward zone upstream+ unknown=unknown property '{}'
    except zone+
    max_fails natural
    max_connect_attempts natural @1.13.2
    health_check duration health
    force_tcp
    prefer_udp @1.2.0
    tls
    tls_servername word
    expire duration
    policy random|round_robin|sequential
    max_concurrent natural @1.6.9
    max_idle_conns natural @1.14.1
    next rcode+ @1.11.4
    failfast_all_unhealthy_upstreams @1.12.1
    failover rcode+ @1.13.0
grpc once zone upstream+ @1.5.0
    except zone+
    tls
    tls_servername word
    policy random|round_robin|sequential
    fallthrough zone* @1.12.3
erratic word*
    drop natural?
    delay natural? duration?
    truncate natural?
    large @1.2.5
whoami
on ?
sign ? @1.6.3
view ? @1.10.0
nomad ? @1.13.0
"""
"""A plugin a line, in the order in which CoreDNS sets them up; indented its options. After the name come its
arguments, each a kind (`grammar._KINDS`) or ``words|to|choose``, with ``?``, ``*`` or ``+`` for how many. ``?`` alone:
it is not judged; ``!``: code of its own judges it (`plugins`). ``once``: only one in a block. ``required``: without
this option it is refused. ``inline``: other options are entries. ``@from..to``: versions, all of them where it is left
out. ``unknown=``: what CoreDNS says to an option it does not know; ``=`` alone: that the arguments are wrong."""


@frozen
class KnownPlugin:
    """A plugin or an option of one. `arguments` None: not judged. `unknown`: CoreDNS' words for an unknown option, None
    where they are not claimed."""

    name: str
    arguments: tuple[str, ...] | None
    since: Version = OLDEST
    until: Version = NEWEST
    options: tuple[KnownPlugin, ...] = ()
    once: bool = False
    required: bool = False
    inline: bool = False
    unknown: str | None = None

    @property
    def by_code(self) -> bool:
        return self.arguments == ("!",)

    def known_to(self, version: Version) -> bool:
        return not version.older_than(self.since) and not self.until.older_than(version)


@cache
def plugins() -> dict[str, KnownPlugin]:
    """By name, in their order."""
    found: list[tuple[str, list[str]]] = []
    for line in _TABLE.strip().splitlines():
        if line.startswith(" "):
            found[-1][1].append(line.strip())
        else:
            found.append((line, []))
    return {each.name: each for each in (_plugin(line, options) for line, options in found)}


def _plugin(line: str, options: list[str]) -> KnownPlugin:
    line, told, unknown = line.partition(" unknown=")
    return replace(_takes(line), options=tuple(map(_takes, options)), unknown=unknown if told else None)


def _takes(line: str) -> KnownPlugin:
    name, *words = line.split()
    since, until = OLDEST, NEWEST
    for each in words:
        if each.startswith("@"):
            begins, _, ends = each[1:].partition("..")
            since, until = _version(begins, OLDEST), _version(ends, NEWEST)
    arguments = tuple(each for each in words if not each.startswith("@") and each not in _MARKS)
    once, required, inline = (each in words for each in _MARKS)
    return KnownPlugin(name, None if arguments == ("?",) else arguments, since, until, (), once, required, inline)


_MARKS = ("once", "required", "inline")


def _version(text: str, other: Version) -> Version:
    return parse(text) or other
