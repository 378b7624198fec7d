"""The script that the probe's pods run. It needs a POSIX shell and curl; busybox's wget cannot send a PUT.

It asks for the id of the instance and nothing else: no credentials, and the token is not printed. The request without a
token counts in CloudWatch as MetadataNoToken, or as MetadataNoTokenRejected.
"""

from __future__ import annotations

CONNECT_S, ANSWER_S = 2, 3
"""So long a connection, and a whole request, is waited for. The service answers in milliseconds, where it does."""

LONGEST_S = 2 * 3 * ANSWER_S
"""So long the script takes at most, besides what it waits at first."""

SETTLE_S = 5
"""So long a pod waits before it asks: network policies of the VPC CNI hold for a new pod only after a moment (EKS user
guide, "Limit Pod traffic with Kubernetes network policies", standard mode)."""

SCRIPT = f"""\
# Who answers at the instance metadata service? One line for each request:
# FAMILY REQUEST CURL-EXIT-CODE HTTP-CODE SECONDS-TO-CONNECT SECONDS
newline='
'
ask() {{
    name="$1 $2"; shift 2
    told=$(curl -sg --noproxy '*' --connect-timeout {CONNECT_S} --max-time {ANSWER_S} \\
        -w '\\n%{{http_code}} %{{time_connect}} %{{time_total}}' "$@" 2>/dev/null)
    echo "$name $? ${{told##*"$newline"}}"
    body=${{told%"$newline"*}}
    code=${{told##*"$newline"}}; code=${{code%% *}}
}}

echo 'imds-probe 1'
command -v curl >/dev/null || {{ echo 'no curl'; exit 0; }}
sleep "${{SETTLE_S:-0}}"
for family in v4 v6; do
    case $family in
        v4) service=http://169.254.169.254/latest ;;
        v6) service=http://[fd00:ec2::254]/latest ;;
    esac
    ask $family v1 "$service/meta-data/instance-id"
    id=$body
    ask $family token -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' "$service/api/token"
    if [ "$code" = 200 ]; then
        ask $family v2 -H "X-aws-ec2-metadata-token: $body" "$service/meta-data/instance-id"
        id=$body
    fi
    case $id in
        i-*[!0-9a-f]*) ;;
        i-*) echo "$family id $id" ;;
    esac
done
echo end
"""
