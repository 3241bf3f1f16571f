"""Runs a command and checks its exit code: exit-code.py CODE COMMAND..."""

import subprocess
import sys

expected, command = int(sys.argv[1]), sys.argv[2:]
found = subprocess.run(command, check=False).returncode
sys.stdout.flush()
if found != expected:
    sys.exit(f"{' '.join(command)}: exit code {found}, expected {expected}")
