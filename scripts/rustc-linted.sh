#!/usr/bin/env bash
# Stands in for rustc on the crates of this workspace, so that one build gives
# programs, lints and documentation: clippy compiles as rustc does, and rustdoc
# reads what has just been compiled. Warnings are errors.
#
# `cargo clippy` and `cargo doc` find the same, but each goes through all the
# dependencies once more for it. cargo calls this where a setting says so:
#
#   build.rustc-workspace-wrapper = "/.../scripts/rustc-linted.sh"
set -euo pipefail

folder=
[[ $1 != */* ]] || folder=${1%/*}/
"${folder}clippy-driver" "$@" -D warnings

words=()
kind='' place=''
shift
while (($#)); do
  case $1 in
    --test) exit ;;
    --crate-name)
      [[ $2 != build_script_* ]] || exit 0
      words+=("$1" "$2")
      shift
      ;;
    --crate-type)
      kind=$2
      words+=("$1" "$2")
      shift
      ;;
    --out-dir)
      place=$2
      shift
      ;;
    --extern | --cfg | --check-cfg | -L)
      words+=("$1" "$2")
      shift
      ;;
    --edition=* | --error-format=* | --json=* | *.rs) words+=("$1") ;;
  esac
  shift
done
# What is asked about the compiler has no crate; examples have no documentation.
[[ $place == */deps ]] || exit 0
[[ $kind != bin ]] || words+=(--document-private-items)
exec "${folder}rustdoc" "${words[@]}" -D warnings --out-dir "${place%/*/*}/doc"
