#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Property tests and fuzzers over their full numbers of seeds, on what is built in
# build/. `utils/check.sh` runs a slice of each. About five minutes; with --full,
# five times the random programs.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

times=1
if [[ ${1:-} == --full ]]; then
  times=5
  shift
fi
if (($#)); then
  echo "usage: utils/campaign.sh [--full]" >&2
  exit 2
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PATH="$PWD/build/bin:$PATH" NEOFLOW_CAMPAIGN=full
python=.venv/bin/python

say() { printf 'campaign: %s\n' "$*"; }
say "index solver against enumeration, 10000 random maps from seed 0"
build/test/unittests/NeoFlowIndexTests --gtest_brief=1
say "adjoint identity on integers, 10000 random maps from seed 0"
build/test/unittests/NeoFlowTransformsTests --gtest_brief=1
say "gradients and second derivatives against differences"
"$python" test/tools/fuzz_gradients.py 0 $((400 * times)) "$work/gradients"
say "compiled programs against the interpreter"
"$python" test/tools/fuzz_bundle.py 0 $((60 * times)) "$work/bundle"
say "canonicalisation"
"$python" test/tools/fuzz_canonicalize.py 0 $((200 * times)) "$work/canonicalize"
say "everything agrees"
