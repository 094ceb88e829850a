#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Builds with a sanitizer preset, asan (default) or tsan, and runs tests: all of
# lit's, or those of the runtime, which alone has threads. Not part of check.sh: it
# is a second whole build.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
preset=${1:-asan}
case $preset in
asan | tsan) ;;
*)
  echo "usage: utils/ci/sanitizer.sh [asan|tsan]" >&2
  exit 2
  ;;
esac
if [[ $preset == tsan ]]; then
  cmake --preset tsan -DNEOFLOW_ENABLE_COMPILER=OFF
  ninja -C build-tsan all NeoFlowUnitTests
  export TSAN_OPTIONS="suppressions=$PWD/utils/tsan-suppressions.txt"
  exec build-tsan/test/unittests/NeoFlowRuntimeTests
fi
cmake --preset asan
ninja -C build-asan all NeoFlowUnitTests
lit-22 -sv build-asan/test
