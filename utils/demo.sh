#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installs what is needed, builds the tools, compiles a capsule network from its
# expressions and trains it on Fashion-MNIST. A second run starts training at once.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

model=docs/models/capsnet.mlir
folder=build/demo
bundle=$folder/capsnet.nfb
compiler=build/bin/neoflow-compile

say() { printf 'demo: %s\n' "$*"; }
die() {
  printf 'demo: error: %s\n' "$*" >&2
  exit 1
}
if (($#)); then
  echo "usage: utils/demo.sh" >&2
  exit 2
fi

utils/setup.sh
mkdir -p "$folder"
if [[ ! -f build/build.ninja ]]; then
  say "configuring"
  cmake --preset release >"$folder/configure.log" 2>&1 || {
    tail -n 30 "$folder/configure.log" >&2
    die "configuring failed; the whole output is in $folder/configure.log"
  }
fi
say "building the compiler and the runtime (a few minutes the first time)"
ninja -C build neoflow-compile neoflow-run neoflow-bundle || die "the build failed; see its messages above"

if [[ $bundle -nt $model && $bundle -nt $compiler ]]; then
  say "$bundle is up to date"
else
  say "compiling $model"
  # Under another name until it is whole.
  "$compiler" "$model" -o "$folder/new.nfb" || die "compiling $model failed; see the messages above"
  mv "$folder/new.nfb" "$bundle"
fi

say "training on Fashion-MNIST"
build/bin/neoflow-run train "$bundle" --data fashion-mnist --epochs 2 --checkpoint "$folder/capsnet.safetensors" || die "training stopped; see the messages above"

say "the trained program is in $bundle; look inside with"
echo "  build/bin/neoflow-bundle inspect $bundle"
echo "  unzip -l $bundle"
