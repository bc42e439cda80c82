# Waits until the program that started it is gone, and ends what that had
# running: its standard input ends with the program, its standard output is the
# list of jobs, a process and a stamp in each line. Where only the stamp is left,
# the first process of the job has ended.
trap '' HUP INT QUIT TERM

read -r _

groups= stamps=' '
while read -r pid stamp; do
    case $pid in
        # The first would mean everybody.
        1 | 0 | '' | *[!0-9]*) ;;
        *) groups="$groups -$pid" ;;
    esac
    [ "${stamp:-0}" = 0 ] || stamps="$stamps$stamp "
done <&1

# Whether something of the groups still runs.
lasts() {
    for group in $groups; do
        kill -0 "$group" && return
    done
    return 1
}

if lasts; then
    kill -TERM $groups
    # One that is stopped hears nothing before it goes on.
    kill -CONT $groups
    for _ in 1 2 3 4 5; do
        lasts && sleep 0.3
    done
    kill -KILL $groups
fi

# What has left its group still bears the stamp of its job, or of the job that
# this one ran in.
bears() {
    case $1 in
        '' | *[!0-9]*) return 1 ;;
    esac
    case $stamps in
        *" $(($1 & 0xffffffffffff)) "*) return 0 ;;
    esac
    return 1
}

sweep() {
    found=1
    for process in /proc/[0-9]*; do
        [ "${process#/proc/}" != $$ ] || continue
        while read -r _ _ kind current most _; do
            [ "$kind" = locks ] || continue
            if bears "$current" || bears "$most"; then
                kill -KILL "${process#/proc/}" && found=0
            fi
            break
        done <"$process/limits"
    done
    return $found
}

[ "$stamps" != ' ' ] || exit 0
for _ in 1 2 3 4 5 6 7 8; do
    sweep || break
done
