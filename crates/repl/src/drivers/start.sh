exec 3<&0 4>&1 5>&2
# A driver may give itself a little more, to tell that there is no more.
[ "$2" -gt 0 ] && { ulimit -S -d "$2" && ulimit -H -d $(($2 + 65536)); } 2>/dev/null
case $1 in
python | sql)
  p=
  for c in "$VIRTUAL_ENV" "$PWD/.venv" "$PWD/venv" "$CONDA_PREFIX"; do
    [ -n "$c" ] && [ -x "$c/bin/python" ] && "$c/bin/python" -c 'import ast' </dev/null >/dev/null 2>&1 || continue
    p=$c/bin/python
    case :$PATH: in *":$c/bin:"*) ;; *) PATH=$c/bin:$PATH ;; esac
    export PATH
    [ -f "$c/pyvenv.cfg" ] && export VIRTUAL_ENV="$c"
    break
  done
  [ -n "$p" ] || p=$(command -v python3 || command -v python) || { echo "no python3 there" >&2; exit 127; }
  exec "$p" -c "$3" </dev/null
  ;;
node)
  p=$(command -v node || command -v nodejs) || { echo "no node there" >&2; exit 127; }
  exec "$p" --no-warnings $4 -e "$3" </dev/null
  ;;
bash)
  p=$(command -v bash) || { echo "no bash there" >&2; exit 127; }
  exec "$p" --noprofile --norc --noediting -i 3<&-
  ;;
esac
