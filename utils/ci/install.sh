#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installs the runtime from a build folder and builds and runs test/Install
# against it, with LLVM and MLIR out of CMake's reach. Takes the build folder.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=$(cd "${1:-build}" && pwd)
work=$build/check/install

rm -rf "$work"
cmake --install "$build" --prefix "$work/prefix" --component Runtime
if [[ ! -d $work/prefix ]]; then
  echo "error: nothing is installed for the component Runtime; was the runtime built?" >&2
  exit 1
fi
# Moved, so that nothing can lean on the folder it was installed to.
mv "$work/prefix" "$work/moved"
cmake -S test/Install -B "$work/build" -G Ninja \
  -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_PREFIX_PATH="$work/moved" \
  -DCMAKE_DISABLE_FIND_PACKAGE_LLVM=ON \
  -DCMAKE_DISABLE_FIND_PACKAGE_MLIR=ON
cmake --build "$work/build"
"$work/build/consumer"
libraries=$(ldd "$work/build/consumer")
if grep -iE 'llvm|mlir|not found' <<<"$libraries"; then
  echo "error: the program that uses the installed runtime needs the libraries above" >&2
  exit 1
fi
# A component that does not exist is refused.
if cmake -S test/Install -B "$work/refused" -G Ninja -DCMAKE_PREFIX_PATH="$work/moved" \
  -DCONSUMER_COMPONENTS=NoSuchComponent >"$work/refused.log" 2>&1; then
  echo "error: find_package(NeoFlow COMPONENTS NoSuchComponent) succeeded" >&2
  exit 1
fi
grep -q NoSuchComponent "$work/refused.log" || {
  cat "$work/refused.log" >&2
  echo "error: the refusal above does not name the component" >&2
  exit 1
}
echo "install: the installed runtime works"
