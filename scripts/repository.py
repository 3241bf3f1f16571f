"""What the scripts that check the repository share."""

import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
_NOT_SOURCES = {"build", "install"}  # at the top, see .gitignore


def list_files(select):
    """Paths of the files for whose path `select` is true, relative to ROOT.

    Walks the folders instead of asking git, so that it works on an unpacked
    source archive too."""
    result = []
    for folder, folders, files in os.walk(ROOT):
        relative = pathlib.PurePath(folder).relative_to(ROOT)
        folders[:] = sorted(
            f for f in folders
            if f not in ("__pycache__", ".git", ".cache")
            and not (relative == pathlib.PurePath() and f in _NOT_SOURCES))
        # In a worktree of git, .git is a file.
        paths = ((relative / f).as_posix() for f in files if f != ".git")
        result += filter(select, paths)
    return sorted(result)


def is_code(path):
    """C and C++ sources, TableGen, CMake files and scripts."""
    name = path.rsplit("/", 1)[-1]
    return (path.endswith((".h", ".hpp", ".c", ".cpp", ".td", ".py", ".cmake"))
            or name == "CMakeLists.txt" or path == ".ci/run"
            or path.startswith("scripts/"))


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def run_check(documentation, check):
    """Command line of a check: `check()` returns its errors and a summary for
    when there are none. The exit code is 0, 1 with errors or 2."""
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(documentation.strip())
        sys.exit(0)
    if sys.argv[1:]:
        print(documentation.strip(), file=sys.stderr)
        sys.exit(2)
    errors, summary = check()
    name = pathlib.Path(sys.argv[0]).name
    for error in errors:
        print(error)
    print(f"{name}: {len(errors)} errors" if errors else f"{name}: {summary}")
    sys.exit(1 if errors else 0)
