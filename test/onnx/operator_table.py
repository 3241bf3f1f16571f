"""The table of ONNX operators in a Markdown file."""

import collections
import subprocess

BEGIN = "<!-- operators: written by test/onnx/run --table -->"
END = "<!-- end of operators -->"


def list_covered(build):
    """Names of the operators that import covers."""
    command = [build / "bin" / "weft-compile", "--list-onnx-operators"]
    return subprocess.run(command, capture_output=True, text=True,
                          check=True).stdout.split()


class Table:
    """Results of tests, by operator."""

    def __init__(self, covered):
        self.covered = covered
        self.counts = {name: collections.Counter() for name in covered}
        self.versions = {name: set() for name in covered}

    def add(self, operators, opsets, state):
        # A test that needs an operator that is not covered says nothing of others.
        if not set(operators) <= set(self.covered):
            return
        for name in operators:
            domain = name.rpartition(".")[0]
            self.counts[name][state] += 1
            self.versions[name].add(opsets.get(domain, 0))

    def lines(self):
        yield "| operator | versions in tests | passed | failed | skipped |"
        yield "|---|---|---|---|---|"
        for name in self.covered:
            counts = self.counts[name]
            versions = ", ".join(map(str, sorted(self.versions[name])))
            yield (f"| {name} | {versions} | {counts['passed']} | "
                   f"{counts['failed']} | {counts['skipped']} |")


def split(path):
    """What a file has before, in and behind the place of the table."""
    text = path.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN + "\n")
    inside, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{path} has no lines '{BEGIN}' and '{END}'")
    return before + begin, inside, end + after


def read_operators(path):
    """The operators of the table of a file."""
    _, inside, _ = split(path)
    rows = [line.split("|") for line in inside.splitlines() if line.startswith("|")]
    return [row[1].strip() for row in rows[2:]]


def write(path, table):
    before, _, after = split(path)
    path.write_text(before + "\n".join(table.lines()) + "\n" + after,
                    encoding="utf-8")
