# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs the GoogleTest programs of the build, one test for each case.

import os

import lit.formats

config.name = "NeoFlow-Unit"
config.suffixes = []
config.test_source_root = os.path.join(config.neoflow_binary_dir, "test", "unittests")
config.test_exec_root = config.test_source_root
config.test_format = lit.formats.GoogleTest(".", "Test")
config.test_format.test_suffixes |= {"Tests"}
if "address" in config.sanitize:  # As in the other suite.
    config.environment["ASAN_OPTIONS"] = "detect_leaks=0:detect_container_overflow=0:allow_user_poisoning=0"
for name in ("ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
