exec 3<&0 4>&1 5>&2
# A driver may raise its soft limit to the hard one, to report that memory is used up.
[ "$2" -gt 0 ] && { ulimit -S -d "$2" && ulimit -H -d $(($2 + 65536)); } 2>/dev/null
case $1 in
python | sql)
  python_path=
  for env_dir in "$VIRTUAL_ENV" "$PWD/.venv" "$PWD/venv" "$CONDA_PREFIX"; do
    [ -n "$env_dir" ] && [ -x "$env_dir/bin/python" ] && "$env_dir/bin/python" -c 'import ast' </dev/null >/dev/null 2>&1 || continue
    python_path=$env_dir/bin/python
    case :$PATH: in *":$env_dir/bin:"*) ;; *) PATH=$env_dir/bin:$PATH ;; esac
    export PATH
    [ -f "$env_dir/pyvenv.cfg" ] && export VIRTUAL_ENV="$env_dir"
    break
  done
  [ -n "$python_path" ] || python_path=$(command -v python3 || command -v python) || { echo "python3 is not installed" >&2; exit 127; }
  exec "$python_path" -c "$3" </dev/null
  ;;
node)
  node_path=$(command -v node || command -v nodejs) || { echo "node is not installed" >&2; exit 127; }
  exec "$node_path" --no-warnings $4 -e "$3" </dev/null
  ;;
bash)
  bash_path=$(command -v bash) || { echo "bash is not installed" >&2; exit 127; }
  exec "$bash_path" --noprofile --norc --noediting -i 3<&-
  ;;
esac
