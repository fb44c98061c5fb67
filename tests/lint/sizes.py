#!/usr/bin/env python3
"""Sizes of headers, sources and functions per folder; fails at the hard stops only."""
import collections
import re
import statistics

import tree

HEADER_LINES = 250
SOURCE_LINES = 600
FUNCTION_LINES = 80
EXCUSE = "NOLINT(readability-function-size)"  # on the line before, with a reason

# What a reader skips: comments, strings and character literals.
SKIP = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^()\s\\]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
                  r"|(?<![\w'])'(?:\\.|[^'\\\n])+'", re.S)
SCOPE = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b[^()]*$")
INITIALIZER = re.compile(r"[=(,<]\s*$")
NAME = re.compile(r"([\w:~]+|operator\s*\S+)\s*\(")


def is_table(path):
    return re.search(r"/rows/\w+\.cpp$", path) is not None


def blank(text):
    """The text without comments and strings, lines kept."""
    return SKIP.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def functions(text):
    """(name, first line, lines) of outermost function bodies; a guess from braces, good enough."""
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: re.sub(r"[^\n]", " ", m[0]),
                  blank(text), flags=re.M)
    found = []
    stack = []  # (is function, start of head)
    head = 0
    for at, char in enumerate(text):
        if char == "{":
            before = text[head:at]
            inside = any(is_function for is_function, _, _ in stack)
            is_function = (not inside and "(" in before and not SCOPE.search(before)
                           and not INITIALIZER.search(before))
            stack.append((is_function, head, before))
            head = at + 1
        elif char == "}":
            if stack:
                is_function, start, before = stack.pop()
                if is_function:
                    start += len(before) - len(before.lstrip())
                    name = NAME.search(before)
                    first = text.count("\n", 0, start) + 1
                    found.append((name[1] if name else "?", first,
                                  text.count("\n", start, at) + 1))
            head = at + 1
        elif char == ";" and not (stack and stack[-1][0]):
            head = at + 1
    return found


def check_file(path, text):
    complaints = []
    lines = text.splitlines()
    limit = HEADER_LINES if path.endswith(".h") else SOURCE_LINES
    if len(lines) > limit and not is_table(path):
        complaints.append(f"{path}:{len(lines)}: longer than {limit} lines")
    for name, first, count in functions(text):
        excused = first > 1 and EXCUSE in lines[first - 2]
        if count > FUNCTION_LINES and not excused and not is_table(path):
            complaints.append(f"{path}:{first}: {name} has {count} lines, more than "
                              f"{FUNCTION_LINES}")
    return complaints


def table(files):
    folders = collections.defaultdict(lambda: {".h": [], ".cpp": [], "functions": []})
    for path in files.sources():
        text = files.text(path) or ""
        folder = folders["/".join(path.split("/")[:-1])]
        folder[".h" if path.endswith(".h") else ".cpp"].append(len(text.splitlines()))
        folder["functions"] += [count for _, _, count in functions(text)]
    row = "{:<32} {:>6} {:>6} {:>5} {:>8} {:>6} {:>5} {:>10} {:>6} {:>5}".format
    print(row("folder", "headers", "median", "max", "sources", "median", "max", "functions",
              "median", "max"))
    for name, folder in sorted(folders.items()):
        cells = []
        for kind in (".h", ".cpp", "functions"):
            counts = folder[kind]
            cells += [len(counts), int(statistics.median(counts)) if counts else "-",
                      max(counts, default="-")]
        print(row(name, *cells))


def check(files):
    table(files)
    return [complaint for path in files.sources()
            for complaint in check_file(path, files.text(path) or "")]


if __name__ == "__main__":
    tree.main(__doc__, check)
