umask 077
script_dir=$(mktemp -d "${TMPDIR:-/tmp}/hermes-XXXXXX") || exit 1
python_path=
if [ "$2" = project ]; then
for env_dir in "$VIRTUAL_ENV" "$PWD/.venv" "$PWD/venv" "$CONDA_PREFIX"; do
[ -n "$env_dir" ] && [ -x "$env_dir/bin/python" ] && python_path=$env_dir/bin/python && break
done
fi
[ -n "$python_path" ] || python_path=$(command -v python3 || command -v python) || { rmdir "$script_dir"; echo "python3 is not installed" >&2; exit 127; }
exec "$python_path" -c "$1" "$script_dir" "$python_path"
