#!/bin/sh
# The gates of action.yml, for any pipeline: each that has its variable set is run, its answer goes to stdout and, where
# there is one, to the summary of the job. The exit code is that of the first gate that fails; a 5 (unknown) counts only
# where none fails, and not with ALLOW_UNKNOWN=true. No gate at all is a mistake: 2.
set -u
eksdoc=${EKSDOC:-kubectl-eksdoc}
summary=${GITHUB_STEP_SUMMARY:-/dev/null}
worst=0
ran=no

gate() {
    ran=yes
    title=$1
    shift
    code=0
    answer=$("$eksdoc" "$@" --no-color) || code=$?
    printf '%s\n' "$answer"
    printf '### %s\n\n```text\n%s\n```\n\n' "$title" "$answer" >>"$summary"
    case $code in
    0) return ;;
    1) echo "::error title=$title::something fails; the answer names it" ;;
    5) echo "::warning title=$title::not all of it could be judged; a person must look" ;;
    *) echo "::error title=$title::nothing was judged (exit code $code)" ;;
    esac
    [ "$code" -eq 5 ] && [ "${ALLOW_UNKNOWN:-false}" = true ] && return
    case $worst in 0 | 5) worst=$code ;; esac
}

[ -z "${TERRAFORM_PLAN:-}" ] ||
    gate "Terraform plan" addon-diff --tf-plan "$TERRAFORM_PLAN" ${SNAPSHOT:+--snapshot "$SNAPSHOT"}
if [ -n "${MANIFESTS:-}" ] && { [ -z "${FROM:-}" ] || [ -z "${TARGET:-}" ]; }; then
    # The program would ask the cluster of the kubeconfig.
    echo "::error title=Manifests::nothing was judged: manifests needs from and target"
    ran=yes worst=2
elif [ -n "${MANIFESTS:-}" ]; then
    gate "Manifests" check -f "$MANIFESTS" --from "$FROM" --target "$TARGET" --only api-in-manifest
fi
[ -z "${COREFILE:-}" ] ||
    gate "Corefile" coredns-lameduck -f "$COREFILE" ${COREDNS_VERSION:+--coredns-version "$COREDNS_VERSION"}
if [ "$ran" = no ]; then
    echo "::error::no gate: set terraform-plan, manifests or corefile"
    worst=2
fi
[ -z "${GITHUB_OUTPUT:-}" ] || echo "exit-code=$worst" >>"$GITHUB_OUTPUT"
exit "$worst"
