"""lit configuration: tests of IR (*.mlir) and of tools (*.test)."""

import os
import sys

import lit.formats

config.name = "weft"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "golden", "corpus"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.weft_binary_dir, "test")

for folder in (config.llvm_tools_dir, config.weft_tools_dir):
    path = config.environment.get("PATH", "")
    config.environment["PATH"] = os.path.pathsep.join((folder, path))
# FileCheck options that help when a test fails, and no colours from tools.
config.environment["FILECHECK_OPTS"] = "--enable-var-scope --dump-input=fail"

config.substitutions.append(("%weft_source", config.weft_source_dir))
config.substitutions.append(("%python", sys.executable))
config.substitutions.append(("%weft_data",
                             os.path.join(config.weft_binary_dir, "e2e-data")))
config.substitutions.append(("%mlir_lib_dir", config.mlir_lib_dir))
