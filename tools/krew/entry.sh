#!/bin/sh
# One command of kubectl eksdoc as a plugin of its own for krew: it hands over to the plugin eksdoc, which has the program.
name=${0##*/}
rest=${name#*-eksdoc_}
command=
while case $rest in *_*) ;; *) false ;; esac; do
    command=$command${rest%%_*}-
    rest=${rest#*_}
done
command=$command$rest
complete=
case $name in kubectl_complete-*) complete=__complete ;; esac
if [ "${1-}" = __complete ]; then
    complete=__complete
    shift
fi
case $0 in */*) main=${0%/*}/kubectl-eksdoc ;; *) main= ;; esac
if [ ! -x "$main" ]; then
    main=$(command -v kubectl-eksdoc) || main=
fi
if [ -n "$main" ]; then
    exec "$main" ${complete:+"$complete"} "$command" "$@"
fi
[ -z "$complete" ] || exit 1 # a message would appear in the line that is being typed
echo "error: kubectl eksdoc-$command needs the plugin eksdoc, which is not installed: kubectl krew install eksdoc/eksdoc" >&2
exit 2
