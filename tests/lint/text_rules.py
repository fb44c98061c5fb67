#!/usr/bin/env python3
"""Rules on text: no paths of one machine, a README in every top folder, no unexplained TODO."""
import re

import layers
import tree

MACHINE_PATH = re.compile(r"(?<![\w./~})])/(?:work|tmp|root|home)(?![\w.-])")
TODO = re.compile(r"\b(?:TODO|FIXME)\b(?!\([^)]{3,}\): \S)")
README_LINES = 40
# Data: recorded by other machines, or made to be wrong.
DATA = re.compile(r"(tests/fuzz/seeds|tests/data|samples/[^/]+)/.*\.(?!md$|py$|sh$)\w+$|LICENSE$")


def check_lines(files):
    complaints = []
    for path in files.paths:
        text = files.text(path)
        if text is None or DATA.match(path):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if found := MACHINE_PATH.search(line):
                complaints.append(f"{path}:{number}: {found[0]} is a path of one machine")
            if not path.startswith("tests/lint/") and (found := TODO.search(line)):
                complaints.append(f"{path}:{number}: {found[0]} needs a reason or an issue: "
                                  f"{found[0]}(reason): what")
    return complaints


def check_readmes(files):
    complaints = []
    known = {row.split("/")[0] for row in layers.LAYERS}
    for folder in sorted({path.split("/")[0] for path in files.paths if "/" in path} & known):
        readme = f"{folder}/README.md"
        if readme not in files.paths:
            complaints.append(f"{readme}:1: missing; every top folder says what it is for")
        elif (lines := len(files.text(readme).splitlines())) > README_LINES:
            complaints.append(f"{readme}:{lines}: at most {README_LINES} lines")
    return complaints


def check(files):
    return check_lines(files) + check_readmes(files)


if __name__ == "__main__":
    tree.main(__doc__, check)
