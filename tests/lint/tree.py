"""The source tree as the lint scripts see it: which files there are, and how a complaint looks."""
import argparse
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE_SUFFIXES = (".cpp", ".h", ".cu")


class Tree:
    """Files below a root, by their path from the root; contents are read once."""

    def __init__(self, root=ROOT):
        self.root = pathlib.Path(root)
        self._texts = {}
        self.paths = sorted(self._list())

    def _list(self):
        if (self.root / ".git").exists():
            command = ["git", "-C", str(self.root), "ls-files", "-z", "--cached", "--others",
                       "--exclude-standard"]
            names = subprocess.run(command, capture_output=True, check=True, text=True).stdout
            return [n for n in names.split("\0") if n and (self.root / n).is_file()]
        return [p.relative_to(self.root).as_posix() for p in self.root.rglob("*")
                if p.is_file() and p.relative_to(self.root).parts[0] not in ("build", ".cache")
                and "__pycache__" not in p.parts]

    def sources(self):
        return [p for p in self.paths if p.endswith(SOURCE_SUFFIXES)]

    def text(self, path):
        """Content of a file, or None where it is not text."""
        if path not in self._texts:
            data = (self.root / path).read_bytes()
            try:
                self._texts[path] = None if b"\0" in data else data.decode("utf-8")
            except UnicodeDecodeError:
                self._texts[path] = None
        return self._texts[path]


class FakeTree:
    """A tree out of a dictionary, for the tests of the lint scripts."""

    def __init__(self, files):
        self._files = files
        self.paths = sorted(files)

    sources = Tree.sources

    def text(self, path):
        return self._files[path]


def main(description, check):
    """Runs `check(tree) -> [complaint]` on the tree; exit code 1 where there are complaints."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--root", default=ROOT, help="top of the source tree")
    tree = Tree(parser.parse_args().root)
    complaints = check(tree)
    for complaint in complaints:
        print(complaint)
    print(f"{len(complaints)} complaints about {len(tree.paths)} files")
    sys.exit(1 if complaints else 0)
