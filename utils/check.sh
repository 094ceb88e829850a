#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installs what is needed, builds, and runs every check and every test. The last
# line is `N passed, N failed`; a check of the sources counts as one test. What
# each step printed is in build/check/STEP.log.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if (($#)); then
  echo "usage: utils/check.sh" >&2
  exit 2
fi
# Nothing may wait for an answer.
exec </dev/null

build=build
logs=$build/check
mkdir -p "$logs"
rm -f "$logs"/*.log "$logs"/*.json "$logs"/*.xml
passed=0
failed=0
skipped=0
# A test that hangs may not hold everything up.
test_timeout=900

# Ends with the counts, whatever ended it.
finish() {
  ((skipped == 0)) || echo "check: $skipped tests do not apply here and were skipped (see $logs)"
  if ((passed + failed == 0)); then
    echo "check: error: no test ran" >&2
    failed=1
  fi
  echo "check: total ${SECONDS} s"
  echo "$passed passed, $failed failed"
  ((failed == 0)) || exit 1
  exit 0
}
trap 'echo "check: error: interrupted" >&2; failed=$((failed + 1)); finish' INT TERM

# step NAME COMMAND...: runs it with its output in the log of that name, which
# is shown, at its end at least, when it fails.
step() {
  local name=$1 start=$SECONDS status=0
  shift
  printf 'check: %-18s ' "$name"
  "$@" >"$logs/$name.log" 2>&1 || status=$?
  if ((status == 0)); then
    echo "ok      $((SECONDS - start)) s"
    return 0
  fi
  echo "FAILED  $((SECONDS - start)) s (exit status $status, $logs/$name.log)"
  # A failing build names its errors long before its end.
  { grep -n -m 20 -iE '(error|failed|fatal)\b.*:|^FAIL' "$logs/$name.log" || true
    echo '...'
    tail -n 40 "$logs/$name.log"; } | cut -c -400 | sed 's/^/    /'
  return "$status"
}

# check NAME COMMAND...: a step that counts as a test.
check() {
  if step "$@"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
}

# need NAME COMMAND...: a step without which nothing after it can be done.
need() {
  step "$@" || {
    failed=$((failed + 1))
    finish
  }
}

# tests NAME KIND REPORT COMMAND...: a step that runs tests; its report of that
# kind (see count_tests.py) says how many.
tests() {
  local name=$1 kind=$2 report=$3 status=0 counts p f s
  shift 3
  step "$name" "$@" || status=$?
  if ! counts=$(python3 utils/ci/count_tests.py "$kind" "$report"); then
    failed=$((failed + 1))
    return 0
  fi
  read -r p f s <<<"$counts"
  echo "check:   $name: $p passed, $f failed, $s skipped"
  # The runner failed though no test did, or ran nothing.
  if (((status != 0 && f == 0) || p + f == 0)); then
    echo "check:   $name: its runner failed, or ran no test" >&2
    f=$((f + 1))
  fi
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

need setup utils/setup.sh
check format utils/ci/format.sh
check layering python3 utils/check_layering.py
check headers python3 utils/check_headers.py --cxx clang++-22 --cc clang-22
check generated-docs utils/gen_docs.sh --check
need configure cmake --preset release
need build ninja -C "$build" -k 0 all NeoFlowUnitTests
check runtime-libraries utils/ci/runtime_libraries.sh "$build"
check install utils/ci/install.sh "$build"
tests lit lit "$logs/lit.json" \
  lit-22 -v --timeout "$test_timeout" --output "$logs/lit.json" "$build/test"
if [[ -d test/python ]]; then
  tests pytest junit "$logs/pytest.xml" \
    env PYTHONPATH="$PWD/python" PATH="$PWD/$build/bin:$PATH" PYTHONDONTWRITEBYTECODE=1 \
    .venv/bin/python -m pytest -q -p no:cacheprovider --junitxml "$logs/pytest.xml" test/python
fi
finish
