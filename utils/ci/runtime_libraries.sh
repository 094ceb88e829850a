#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Fails when the runtime's library or a tool of the runtime loads LLVM or MLIR,
# or contains them. Takes the build folder.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${1:-build}

failed=0
for file in lib/libNeoFlowRuntime.so bin/neoflow-run bin/neoflow-bundle; do
  if [[ ! -e $build/$file ]]; then
    echo "error: $build/$file was not built" >&2
    failed=1
    continue
  fi
  libraries=$(ldd "$build/$file")
  if grep -iE 'llvm|mlir|lld|clang|not found' <<<"$libraries"; then
    echo "error: $build/$file needs the libraries above" >&2
    failed=1
  fi
  # Linked statically they would not show in the list of libraries.
  symbols=$(nm -C "$build/$file")
  if grep -m 5 -E '(^|[^A-Za-z_:])(llvm|mlir|lld)::' <<<"$symbols"; then
    echo "error: $build/$file contains symbols such as those above" >&2
    failed=1
  fi
done
((failed == 0)) && echo "runtime libraries: no LLVM, no MLIR"
exit "$failed"
