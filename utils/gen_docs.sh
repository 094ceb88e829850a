#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Writes the reference of dialects and passes from TableGen to docs/generated.
# `--check` writes nothing and fails when what is there differs.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

check=0
if [[ ${1:-} == --check ]]; then
  check=1
elif (($#)); then
  echo "usage: utils/gen_docs.sh [--check]" >&2
  exit 2
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
include=(-I include -I "$(llvm-config-22 --includedir)")

# A dialect is an umbrella file Dialect/X/IR/X.td.
for folder in include/neoflow/Dialect/*/; do
  name=$(basename "$folder")
  mlir-tblgen-22 -gen-dialect-doc -dialect="${name,,}" "${include[@]}" \
    "$folder/IR/$name.td" -o "$work/${name}Dialect.md"
done
while IFS= read -r file; do
  # Dialect/X/Transforms/Passes.td gives XTransformsPasses.md.
  name=${file#include/neoflow/}
  name=${name#Dialect/}
  name=${name%/Passes.td}
  mlir-tblgen-22 -gen-pass-doc "${include[@]}" "$file" -o "$work/${name//\//}Passes.md"
done < <(find include/neoflow -name Passes.td | sort)

if ((check)); then
  if ! diff -ru docs/generated "$work"; then
    echo "error: docs/generated is not what TableGen gives; run utils/gen_docs.sh and commit the result" >&2
    exit 1
  fi
  echo "generated docs: $(find "$work" -type f | wc -l) files are up to date"
else
  mkdir -p docs/generated
  # Pages of files that are gone go too.
  find docs/generated -maxdepth 1 -name '*.md' -delete
  cp "$work"/*.md docs/generated/
  ls docs/generated/*.md
fi
