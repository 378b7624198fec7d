"""What shells run to complete ``kubectl-eksdoc`` as a command of its own. They ask it with ``__complete``.

None of them evaluates what was typed, and none needs anything that is not in the shell itself.
"""

from __future__ import annotations

BASH = r"""# bash completion for kubectl-eksdoc. Here and now: source <(kubectl-eksdoc completion bash)
_kubectl_eksdoc() {
    local line=${COMP_LINE:0:COMP_POINT} words=() word i
    # bash splits words at : and =, too: what no space is between is one word.
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((i == 0)) || [[ $line == [[:space:]]* ]]; then
            line=${line#"${line%%[![:space:]]*}"}
            words+=("")
        fi
        [[ $line == "$word"* ]] || word=$line
        words[${#words[@]} - 1]+=$word
        line=${line#"$word"}
    done
    # Words stand as they were typed: what quotes and backslashes mean is all that is taken from them.
    for i in "${!words[@]}"; do
        word=${words[i]}
        [[ $word == '~/'* ]] && word=${HOME-}${word#'~'}
        case $word in
            \'*) word=${word:1} word=${word%\'} ;;
            \"*) word=${word:1} word=${word%\"} ;;
            *) word=${word//\\/} ;;
        esac
        words[i]=$word
    done
    local typed=${words[${#words[@]} - 1]} piece=${COMP_WORDS[COMP_CWORD]} offers=() offer directive=0 quoted=""
    [[ $piece == [\'\"]* ]] && quoted=${piece:0:1} piece=${piece:1}
    piece=${piece//\\/}
    while IFS= read -r offer; do
        offers+=("${offer%%$'\t'*}")
    done < <("${words[0]}" __complete "${words[@]:1}" 2>/dev/null)
    ((${#offers[@]})) || return 0
    directive=${offers[${#offers[@]} - 1]#:}
    unset "offers[${#offers[@]} - 1]"
    # Offers are of the value behind --flag=, and only what stands behind the last : or = is replaced.
    [[ $typed == -*=* ]] && typed=${typed#*=}
    [[ $piece == [:=] || $typed == "" ]] && piece=""
    local before=${typed%"$piece"}
    COMPREPLY=()
    for offer in ${offers[@]+"${offers[@]}"}; do
        offer=${offer#"$before"}
        case $quoted in
            \') offer=${offer//\'/\'\\\'\'} ;;
            \") for i in '\' '$' '`' '"'; do offer=${offer//"$i"/"\\$i"}; done ;;
            *) [[ $offer == *[!A-Za-z0-9_.,:/=@%+-]* ]] && printf -v offer %q "$offer" ;;
        esac
        COMPREPLY+=("$offer")
    done
    ((directive & 2)) && compopt -o nospace 2>/dev/null
    ((directive & 4 || ${#COMPREPLY[@]})) || compopt -o default 2>/dev/null
    return 0
}
complete -F _kubectl_eksdoc kubectl-eksdoc
"""

ZSH = r"""#compdef kubectl-eksdoc
# zsh completion for kubectl-eksdoc. Here and now: source <(kubectl-eksdoc completion zsh)
_kubectl_eksdoc() {
    local -a answer offers space
    local each value directive
    # Words stand as they were typed, the one at the cursor without what opens a quote.
    local -a typed=("${(@Q)words[1,CURRENT-1]}")
    typed=("${(@)typed/#\~\//$HOME/}")
    answer=("${(@f)$("$typed[1]" __complete "${(@)typed[2,-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    directive=${answer[-1]#:}
    [[ $directive == <-> ]] || return 1
    for each in "${(@)answer[1,-2]}"; do
        value=${each%%$'\t'*}
        value=${value//:/\\:}
        [[ $each == *$'\t'* ]] && value="$value:${each#*$'\t'}"
        offers+=("$value")
    done
    compset -P '-*='
    ((directive & 2)) && space=(-S '')
    if (($#offers)); then
        _describe -t eksdoc 'kubectl eksdoc' offers "${space[@]}"
    elif ((!(directive & 4))); then
        _files
    fi
}
if [[ $funcstack[1] == _kubectl_eksdoc ]]; then
    _kubectl_eksdoc "$@"
else
    compdef _kubectl_eksdoc kubectl-eksdoc
fi
"""

FISH = r"""# fish completion for kubectl-eksdoc. Here and now: kubectl-eksdoc completion fish | source
function __kubectl_eksdoc_complete
    # Words stand as they were typed, the one at the cursor with its quotes and backslashes.
    set -l words (commandline -opc | string replace -r -- '^~/' "$HOME/")
    set -l typed (commandline -ct | string replace -r -- '^(|-.*?=)["\']' '$1' | string replace -ar -- '\\\\(.)' '$1')
    set -l answer ($words[1] __complete $words[2..-1] "$typed" 2>/dev/null)
    test (count $answer) -gt 0; or return
    set -l directive (string replace -r '^:' '' -- $answer[-1])
    set -l before (string match -r -- '^-.*?=' "$typed")
    if test (count $answer) -gt 1
        for each in $answer[1..-2]
            printf '%s%s\n' "$before" "$each"
        end
    else if test "$directive" = 0
        for each in (__fish_complete_path (string replace -r -- '^-.*?=' '' "$typed"))
            printf '%s%s\n' "$before" "$each"
        end
    end
end
complete -c kubectl-eksdoc -f -a '(__kubectl_eksdoc_complete)'
"""

BY_SHELL = {"bash": BASH, "zsh": ZSH, "fish": FISH}
