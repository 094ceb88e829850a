# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that the constraints of docs/Spec.md are those of the verifiers.

Every label, as in `read_c4`, must occur beside a check in the sources of the
dialect, as a row of a table in the specification, and in a test of invalid
input. Numbers are consecutive.
"""

import pathlib
import re
import sys

LABEL = re.compile(r"\b([a-z]+)_c([0-9]+)\b")


def labels(text):
    return {(kind, int(number)) for kind, number in LABEL.findall(text)}


def main():
    root = pathlib.Path(sys.argv[1])
    sources = sorted((root / "lib/Dialect/NeoFlow/IR").glob("*.cpp"))
    comments = "\n".join(
        line for path in sources for line in path.read_text().splitlines() if line.lstrip().startswith("//")
    )
    rows = re.findall(r"^\| `([a-z]+_c[0-9]+)` \|", (root / "docs/Spec.md").read_text(), re.M)
    tests = "\n".join((root / "test/Dialect/NeoFlow" / name).read_text() for name in ("invalid.mlir", "roles.mlir"))
    in_sources, in_spec, in_tests = labels(comments), labels("\n".join(rows)), labels(tests)

    errors = []
    if not in_sources:
        errors.append("no label was found in the sources")
    if len(rows) != len(set(rows)):
        errors.append("docs/Spec.md defines a label twice")
    for what, missing in [
        ("stands in the sources but not in docs/Spec.md", in_sources - in_spec),
        ("stands in docs/Spec.md but not in the sources", in_spec - in_sources),
        ("has no test in invalid.mlir or roles.mlir", in_spec - in_tests),
        ("is tested but not specified", in_tests - in_spec),
    ]:
        errors += [f"{kind}_c{number} {what}" for kind, number in sorted(missing)]
    for kind in {kind for kind, _ in in_spec}:
        numbers = sorted(number for k, number in in_spec if k == kind)
        if numbers != list(range(1, len(numbers) + 1)):
            errors.append(f"the numbers of {kind} are not consecutive: {numbers}")
    for error in errors:
        print(f"check_spec: {error}")
    print(f"{len(in_spec)} constraints")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
