#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Builds with a sanitizer preset, asan (default) or tsan, and runs lit's tests.
# Not part of check.sh: it is a second whole build.

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
cmake --preset "$preset"
ninja -C "build-$preset" all NeoFlowUnitTests
lit-22 -sv "build-$preset/test"
