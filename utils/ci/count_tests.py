#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints 'PASSED FAILED SKIPPED' for a report of lit (--output, JSON) or of pytest
(--junitxml), and the names of what failed to standard error. Exits with 1 when
there is no report or it cannot be read.

usage: count_tests.py lit|junit FILE
"""

import json
import sys
import xml.etree.ElementTree

LIT_PASSED = {"PASS", "XFAIL", "FLAKYPASS"}
LIT_SKIPPED = {"UNSUPPORTED", "SKIPPED", "EXCLUDED"}


def read_lit(path):
    """(name, 'passed' | 'failed' | 'skipped'); a GoogleTest case counts as a test."""
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    for test in report["tests"]:
        code = test["code"]
        # Whatever code is not known counts as a failure.
        state = "passed" if code in LIT_PASSED else "skipped" if code in LIT_SKIPPED else "failed"
        yield test["name"], state


def read_junit(path):
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        if case.find("failure") is not None or case.find("error") is not None:
            yield name, "failed"
        elif case.find("skipped") is not None:
            yield name, "skipped"
        else:
            yield name, "passed"


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("lit", "junit"):
        print("usage: count_tests.py lit|junit FILE", file=sys.stderr)
        return 2
    try:
        tests = list({"lit": read_lit, "junit": read_junit}[sys.argv[1]](sys.argv[2]))
    except (OSError, ValueError, KeyError, xml.etree.ElementTree.ParseError) as error:
        print(f"error: cannot read {sys.argv[2]}: {error}", file=sys.stderr)
        return 1
    for name, state in tests:
        if state == "failed":
            print(f"failed: {name}", file=sys.stderr)
    states = [state for _, state in tests]
    print(*(states.count(state) for state in ("passed", "failed", "skipped")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
