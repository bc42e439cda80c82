# Waits until the process that started it exits, then kills the jobs of that
# process. Standard input reaches its end when the process exits. Standard
# output is the job list: a pid and a tag per line. The pid is 0 after the first
# process of the job has exited.
trap '' HUP INT QUIT TERM

read -r _

groups= tags=' '
while read -r pid tag; do
    case $pid in
        # `kill -- -1` would signal every process.
        1 | 0 | '' | *[!0-9]*) ;;
        *) groups="$groups -$pid" ;;
    esac
    [ "${tag:-0}" = 0 ] || tags="$tags$tag "
done <&1

# Whether a process of any group is running.
any_running() {
    for group in $groups; do
        kill -0 "$group" && return
    done
    return 1
}

if any_running; then
    kill -TERM $groups
    # A stopped process handles signals only after SIGCONT.
    kill -CONT $groups
    for _ in 1 2 3 4 5; do
        any_running && sleep 0.3
    done
    kill -KILL $groups
fi

# Whether a limit value contains a tag. A process that has left its group still
# has the tag of its job, or of the job that contains it.
has_tag() {
    case $1 in
        '' | *[!0-9]*) return 1 ;;
    esac
    case $tags in
        *" $(($1 & 0xffffffffffff)) "*) return 0 ;;
    esac
    return 1
}

kill_tagged() {
    status=1
    for process in /proc/[0-9]*; do
        [ "${process#/proc/}" != $$ ] || continue
        while read -r _ _ kind soft hard _; do
            [ "$kind" = locks ] || continue
            if has_tag "$soft" || has_tag "$hard"; then
                kill -KILL "${process#/proc/}" && status=0
            fi
            break
        done <"$process/limits"
    done
    return $status
}

[ "$tags" != ' ' ] || exit 0
for _ in 1 2 3 4 5 6 7 8; do
    kill_tagged || break
done
