PS1= PS2=
set +H +o history
shopt -s expand_aliases
__hermes_word=$HERMES_REPL_WORD
unset HERMES_REPL_WORD HERMES_REPL_MOST HISTFILE
__hermes_tell() { printf '\036%se%04x%s' "$__hermes_word" "${#1}" "$1" >&4; printf '\036%se0000' "$__hermes_word" >&5; }
# One that asks to exit need not say so as well.
exit() { builtin exit "${@:-$?}" 2>/dev/null; }
__hermes_begin() { local s=$?; __hermes_id=$1; return "$s"; }
__hermes_end() { local s=$?; [ "$__hermes_id" = "$1" ] && __hermes_tell "{\"done\":$1,\"status\":$s}"; __hermes_id=; return "$s"; }
__hermes_tell "{\"ready\":\"$BASH_VERSION\",\"program\":\"bash\"}"
