# Finds the debugger for a program, and prints name=value pairs.
# Arguments: the kind of program or auto, the program, the directory, other files.
report() { printf '%s=%s\0' "$1" "$2"; }
kind=$1 program=$2 directory=$3
shift 3
cd "$directory" 2>/dev/null || { report missing "$directory"; exit 0; }
report real "$(pwd -P)"
for file in "$program" "$@"; do
  [ -z "$file" ] || [ -f "$file" ] || report missing "$file"
done
if [ "$kind" = auto ]; then
  case $program in
    '' | *.py | *.pyw) kind=python ;;
    *.js | *.mjs | *.cjs | *.ts | *.mts | *.cts) kind=node ;;
    *)
      first_line=$(head -c 200 -- "$program" 2>/dev/null | tr -d '\000' | head -n 1)
      case $first_line in
        '#!'*python*) kind=python ;;
        '#!'*node*) kind=node ;;
        '#!'*) kind=script ;;
        *ELF*) kind=native ;;
        *) [ -x "$program" ] && kind=native || kind=unknown ;;
      esac ;;
  esac
fi
report kind "$kind"
ancestors() { # prints a directory and its parents up to the root
  path=$1
  while :; do
    printf '%s\n' "$path"
    [ "$path" = / ] && return
    path=$(dirname -- "$path")
  done
}
find_python() {
  for env_dir in "$VIRTUAL_ENV" "$CONDA_PREFIX"; do
    [ -n "$env_dir" ] && [ -x "$env_dir/bin/python" ] && { report tool "$env_dir/bin/python"; return; }
  done
  start=$directory
  [ -n "$program" ] && start=$(dirname -- "$program")
  { ancestors "$start"; ancestors "$directory"; } | while IFS= read -r path; do
    for name in .venv venv; do
      [ -x "$path/$name/bin/python" ] && { report tool "$path/$name/bin/python"; exit 7; }
    done
  done
  [ $? = 7 ] && return
  found=$(command -v python3 || command -v python) && report tool "$found"
}
case $kind in
  python)
    find_python
    ancestors "$directory" | while IFS= read -r path; do
      [ -e "$path/uv.lock" ] && { report lock uv; break; }
      [ -e "$path/poetry.lock" ] && { report lock poetry; break; }
    done ;;
  node) found=$(command -v node) && report tool "$found" ;;
  native)
    [ -x "$program" ] || report plain "$program"
    for name in lldb-dap lldb-vscode; do
      for version in '' -22 -21 -20 -19 -18 -17 -16 -15 -14; do
        found=$(command -v "$name$version") && { report lldb "$found"; break 2; }
      done
    done
    found=$(command -v gdb) && report gdb "$found" && report version "$(gdb --version | head -n 1)" ;;
esac
exit 0
