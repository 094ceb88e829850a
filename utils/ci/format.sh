#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Fails when a C or C++ file is not formatted as .clang-format says. `--fix`
# formats them.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

mode=(--dry-run -Werror)
if [[ ${1:-} == --fix ]]; then
  mode=(-i)
elif (($#)); then
  echo "usage: utils/ci/format.sh [--fix]" >&2
  exit 2
fi

# Tracked and new files, but not those that are deleted and still tracked.
mapfile -d '' listed < <(git ls-files -z --cached --others --exclude-standard -- '*.h' '*.hpp' '*.c' '*.cpp')
files=()
for file in "${listed[@]}"; do
  [[ ! -e $file ]] || files+=("$file")
done
if ((${#files[@]} == 0)); then
  echo "error: found no C or C++ file" >&2
  exit 1
fi
status=0
output=$(printf '%s\0' "${files[@]}" | xargs -0 -n 16 -P "$(nproc)" clang-format-22 "${mode[@]}" 2>&1) || status=$?
if ((status)); then
  # The names, not every place; what names no place is something else.
  grep -vE '^( |$)|: error: code should be' <<<"$output" || true
  sed -nE 's/^([^ :]+):[0-9]+:.*: error: code should be.*/error: \1: not formatted/p' <<<"$output" | sort -u
  echo "error: run utils/ci/format.sh --fix" >&2
  exit 1
fi
echo "format: ${#files[@]} files"
