umask 077
script_dir=$(mktemp -d "${TMPDIR:-/tmp}/hermes-XXXXXX") || exit 1
node_path=$(command -v node) || { rmdir "$script_dir"; echo "node is not installed" >&2; exit 127; }
exec "$node_path" -e "$1" "$script_dir" "$node_path"
