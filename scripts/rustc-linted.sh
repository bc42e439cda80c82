#!/usr/bin/env bash
# Wraps rustc for the crates of this workspace, so one build produces programs,
# lints and documentation: clippy-driver compiles like rustc, and rustdoc reads
# the compiled dependencies. Warnings are errors.
#
# `cargo clippy` and `cargo doc` report the same, but each processes all
# dependencies again. cargo uses the wrapper if configured:
#
#   build.rustc-workspace-wrapper = "/.../scripts/rustc-linted.sh"
set -euo pipefail

bin=
[[ $1 != */* ]] || bin=${1%/*}/
"${bin}clippy-driver" "$@" -D warnings

doc_args=()
kind='' out_dir=''
shift
while (($#)); do
  case $1 in
    --test) exit ;;
    --crate-name)
      [[ $2 != build_script_* ]] || exit 0
      doc_args+=("$1" "$2")
      shift
      ;;
    --crate-type)
      kind=$2
      doc_args+=("$1" "$2")
      shift
      ;;
    --out-dir)
      out_dir=$2
      shift
      ;;
    --extern | --cfg | --check-cfg | -L)
      doc_args+=("$1" "$2")
      shift
      ;;
    --edition=* | --error-format=* | --json=* | *.rs) doc_args+=("$1") ;;
  esac
  shift
done
# Queries about the compiler name no crate; examples have no documentation.
[[ $out_dir == */deps ]] || exit 0
[[ $kind != bin ]] || doc_args+=(--document-private-items)
exec "${bin}rustdoc" "${doc_args[@]}" -D warnings --out-dir "${out_dir%/*/*}/doc"
