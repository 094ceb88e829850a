# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The worked examples of docs/Autodiff.md are what neoflow-compile prints.

usage: check_derivatives.py ROOT [--fix]

Below each line `<!-- derivative: NAME -->` stands a block with the mathematical
text of the derivative of docs/derivatives/NAME.mlir. With --fix the blocks are
written. Runs `neoflow-compile` from PATH.
"""

import difflib
import pathlib
import re
import subprocess
import sys

MARKER = re.compile(r"<!-- derivative: (\w+) -->\n(?:```text\n.*?```\n)?", re.S)


def derivative(source):
    """The lines `// ...` of the function with the derivative, without what it shares with the forward one."""
    text = subprocess.run(
        ["neoflow-compile", source, "--emit=derivative"], check=True, capture_output=True, text=True
    ).stdout
    forward, backward = (
        [line.strip()[3:] for line in part.splitlines() if line.strip().startswith("// ")]
        for part in text.split("_derivative(", 1)
    )
    return "\n".join(["forward"] + forward + ["", "derivative"] + backward)


def main():
    root = pathlib.Path(sys.argv[1])
    page = root / "docs" / "Autodiff.md"
    have = page.read_text()
    names = MARKER.findall(have)
    assert len(names) >= 3, "expected at least three examples"

    def block(match):
        text = derivative(root / "docs" / "derivatives" / f"{match[1]}.mlir")
        return f"<!-- derivative: {match[1]} -->\n```text\n{text}\n```\n"

    want = MARKER.sub(block, have)
    if sys.argv[2:] == ["--fix"]:
        page.write_text(want)
    elif have != want:
        sys.stdout.writelines(difflib.unified_diff(have.splitlines(True), want.splitlines(True), "page", "tool"))
        sys.exit(f"{page} is not what neoflow-compile prints; run check_derivatives.py with --fix")
    print(f"{len(names)} derivatives")


if __name__ == "__main__":
    main()
