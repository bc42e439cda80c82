# What is needed to debug a program, and where it is.
# Arguments: the kind of program or auto, the program, the folder, other files.
say() { printf '%s=%s\0' "$1" "$2"; }
kind=$1 program=$2 folder=$3
shift 3
cd "$folder" 2>/dev/null || { say missing "$folder"; exit 0; }
say real "$(pwd -P)"
for file in "$program" "$@"; do
  [ -z "$file" ] || [ -f "$file" ] || say missing "$file"
done
if [ "$kind" = auto ]; then
  case $program in
    '' | *.py | *.pyw) kind=python ;;
    *.js | *.mjs | *.cjs | *.ts | *.mts | *.cts) kind=node ;;
    *)
      first=$(head -c 200 -- "$program" 2>/dev/null | tr -d '\000' | head -n 1)
      case $first in
        '#!'*python*) kind=python ;;
        '#!'*node*) kind=node ;;
        '#!'*) kind=script ;;
        *ELF*) kind=native ;;
        *) [ -x "$program" ] && kind=native || kind=unknown ;;
      esac ;;
  esac
fi
say kind "$kind"
up() { # folders from a folder to the root
  at=$1
  while :; do
    printf '%s\n' "$at"
    [ "$at" = / ] && return
    at=$(dirname -- "$at")
  done
}
python() {
  for home in "$VIRTUAL_ENV" "$CONDA_PREFIX"; do
    [ -n "$home" ] && [ -x "$home/bin/python" ] && { say tool "$home/bin/python"; return; }
  done
  near=$folder
  [ -n "$program" ] && near=$(dirname -- "$program")
  { up "$near"; up "$folder"; } | while IFS= read -r at; do
    for name in .venv venv; do
      [ -x "$at/$name/bin/python" ] && { say tool "$at/$name/bin/python"; exit 7; }
    done
  done
  [ $? = 7 ] && return
  found=$(command -v python3 || command -v python) && say tool "$found"
}
case $kind in
  python)
    python
    up "$folder" | while IFS= read -r at; do
      [ -e "$at/uv.lock" ] && { say lock uv; break; }
      [ -e "$at/poetry.lock" ] && { say lock poetry; break; }
    done ;;
  node) found=$(command -v node) && say tool "$found" ;;
  native)
    [ -x "$program" ] || say plain "$program"
    for name in lldb-dap lldb-vscode; do
      for version in '' -22 -21 -20 -19 -18 -17 -16 -15 -14; do
        found=$(command -v "$name$version") && { say lldb "$found"; break 2; }
      done
    done
    found=$(command -v gdb) && say gdb "$found" && say version "$(gdb --version | head -n 1)" ;;
esac
exit 0
