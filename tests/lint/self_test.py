#!/usr/bin/env python3
"""Each lint rule must report a file that breaks it, and be silent about its twin that does not."""
import unittest

import layers
import sizes
import text_rules
import tree


def complaints(check, files):
    return check(tree.FakeTree(files))


# path, included path, complaint; one row per rule of the table and per fence.
BAD_INCLUDES = [
    ("core/base/x.h", '"core/expr/expr.h"', "core/base may not include core/expr"),
    ("core/expr/x.h", '"core/shape/shape_env.h"', "core/expr may not include core/shape"),
    ("core/shape/x.h", '"core/tensor/meta.h"', "core/shape may not include core/tensor"),
    ("core/tensor/x.h", '"core/graph/graph.h"', "core/tensor may not include core/graph"),
    ("core/graph/x.h", '"core/ops/op_table.h"', "core/graph may not include core/ops"),
    ("core/function/x.h", '"core/base/result.h"', "core/function may not include core/base"),
    ("core/ops/x.h", '"core/graph/graph.h"', "core/ops may not include core/graph"),
    ("core/finding/x.h", '"core/ops/op_table.h"', "core/finding may not include core/ops"),
    ("core/graph/x.cpp", '"replay/formats/capture.h"', "core may not include replay"),
    ("core/graph/x.cpp", '"compiler/prove/answer.h"', "core may not include compiler"),
    ("compiler/prove/x.h", '"replay/formats/capture.h"', "compiler may not include replay"),
    ("replay/formats/x.h", '"replay/bundle/bundle.h"',
     "replay/formats may not include replay/bundle"),
    ("replay/bundle/x.h", '"replay/interp/run.h"', "replay/bundle may not include replay/interp"),
    ("replay/trace/x.h", '"replay/formats/capture.h"',
     "replay/trace may not include replay/formats"),
    ("replay/interp/x.h", '"replay/trace/trace.h"', "replay/interp may not include replay/trace"),
    ("replay/conform/x.h", '"replay/bundle/bundle.h"',
     "replay/conform may not include replay/bundle"),
    ("replay/interp/x.h", '"compiler/prove/answer.h"',
     "replay/interp may not include compiler/prove"),
    ("replay/runner/x.h", '"minifier/oracle/oracle.h"', "replay may not include minifier"),
    ("replay/report/x.h", '"minifier/search/minify.h"', "replay may not include minifier"),
    ("compiler/program/x.h", '"compiler/read/wrapper.h"',
     "compiler/program may not include compiler/read"),
    ("compiler/read/x.h", '"compiler/prove/answer.h"',
     "compiler/read may not include compiler/prove"),
    ("compiler/prove/x.h", '"compiler/interpret/interpret.h"',
     "compiler/prove may not include compiler/interpret"),
    ("compiler/interpret/x.h", '"compiler/prove/answer.h"',
     "compiler/interpret may not include compiler/prove"),
    ("compiler/lower/x.h", '"compiler/schedule/schedule.h"',
     "compiler/lower may not include compiler/schedule"),
    ("compiler/schedule/x.h", '"compiler/interpret/interpret.h"',
     "compiler/schedule may not include compiler/interpret"),
    ("compiler/cpu/x.h", '"compiler/lower/lowering.h"',
     "compiler/cpu may not include compiler/lower"),
    ("compiler/runtime/x.h", '"compiler/cpu/cpu.h"',
     "compiler/runtime may not include compiler/cpu"),
    ("compiler/cuda/x.h", '"compiler/schedule/schedule.h"',
     "compiler/cuda may not include compiler/schedule"),
    ("compiler/faults/x.h", '"compiler/interpret/interpret.h"',
     "compiler/faults may not include compiler/interpret"),
    ("compiler/codegen/x.h", '"compiler/interpret/interpret.h"',
     "compiler/codegen may not include compiler/interpret"),
    ("compiler/new/x.h", '"replay/formats/capture.h"',
     "compiler may not include replay"),
    ("minifier/search/x.h", '"compiler/prove/answer.h"', "minifier may not include compiler"),
    ("minifier/search/x.h", '"gui/data/model.h"', "minifier may not include gui"),
    ("gui/data/x.h", '"gui/models/model.h"', "gui/data may not include gui/models"),
    ("gui/models/x.h", '"gui/views/view.h"', "gui/models may not include gui/views"),
    ("gui/views/x.h", '"gui/app/main.h"', "gui/views may not include gui/app"),
    ("gui/app/x.h", '"replay/interp/run.h"', "gui/app may not include replay/interp"),
    ("gui/app/x.h", '"minifier/oracle/oracle.h"', "gui may not include minifier"),
    ("replay/cache/x.cpp", '"replay/trace/trace.h"', "replay/cache may not include replay/trace"),
    ("cli/x.cpp", '"gui/data/model.h"', "cli may not include gui"),
    ("samples/record/x.cpp", '"gui/data/model.h"', "samples may not include gui"),
    ("core/expr/x.cpp", '"tests/support/corpus.h"', "core may not include tests"),
    ("core/expr/x.cpp", '"expr.h"', 'write "expr.h" from the top of the tree'),
    ("core/expr/x.cpp", '"../base/check.h"', 'write "../base/check.h" from the top of the tree'),
    ("core/expr/x.cpp", '"nowhere/check.h"', '"nowhere/check.h" is in no layer'),
    ("core/new/x.cpp", '"core/base/check.h"', "no row for this folder in tests/lint/layers.py"),
    ("replay/interp/x.cpp", "<z3++.h>", "z3: <z3++.h> belongs into sources of compiler/prove"),
    ("compiler/prove/x.h", "<z3.h>", "z3: <z3.h> belongs into headers of no folder"),
    ("compiler/read/x.cpp", "<llvm/IR/Module.h>",
     "llvm: <llvm/IR/Module.h> belongs into sources of compiler/codegen"),
    ("compiler/cpu/x.cpp", "<cuda.h>", "cuda: <cuda.h> belongs into sources of compiler/runtime"),
    ("replay/bundle/x.cpp", "<sqlite3.h>",
     "sqlite: <sqlite3.h> belongs into sources of replay/trace and replay/conform and replay/cache"),
    ("replay/trace/x.h", "<sqlite3.h>", "sqlite: <sqlite3.h> belongs into headers of no folder"),
    ("cli/x.cpp", "<QString>", "qt: <QString> belongs into sources of gui"),
    ("core/expr/x.cpp", "<gtest/gtest.h>", "gtest: <gtest/gtest.h> belongs into sources of tests"),
    ("tests/unit/x_test.cpp", "<benchmark/benchmark.h>",
     "benchmark: <benchmark/benchmark.h> belongs into sources of tests/benchmark"),
    ("replay/interp/x.cpp", "<CLI/CLI.hpp>", "cli11: <CLI/CLI.hpp> belongs into sources of cli"),
    ("replay/formats/x.h", "<simdjson.h>", "json: <simdjson.h> belongs into headers of no folder"),
    ("tests/support/x.h", "<nlohmann/json.hpp>",
     "json: <nlohmann/json.hpp> belongs into headers of no folder"),
    ("core/graph/x.cpp", "<zip.h>", "zip: <zip.h> belongs into sources of replay"),
    ("replay/interp/x.cpp", "<openssl/evp.h>",
     "openssl: <openssl/evp.h> belongs into sources of replay/bundle and replay/formats"),
    ("core/tensor/x.cpp", "<Eigen/Core>", "eigen: <Eigen/Core> belongs into sources of core/ops"),
    ("core/tensor/x.cpp", "<boost/math/a.hpp>",
     "boost: <boost/math/a.hpp> belongs into sources of core/function"),
    ("replay/interp/x.cpp", "<cblas.h>", "blas: <cblas.h> belongs into sources of core/ops"),
]

GOOD_INCLUDES = [
    ("core/graph/x.h", '"core/expr/expr.h"'),
    ("core/graph/x.h", "<vector>"),
    ("replay/runner/x.h", '"compiler/prove/answer.h"'),
    ("replay/runner/x.h", '"replay/interp/run.h"'),
    ("gui/views/x.h", "<QString>"),
    ("gui/views/x.h", '"gui/models/model.h"'),
    ("cli/x.cpp", "<CLI/CLI.hpp>"),
    ("compiler/prove/x.cpp", "<z3++.h>"),
    ("replay/trace/x.cpp", "<sqlite3.h>"),
    ("tests/unit/x_test.cpp", "<sqlite3.h>"),
    ("tests/benchmark/x.cpp", "<benchmark/benchmark.h>"),
]


class Layers(unittest.TestCase):
    def report(self, path, included):
        return complaints(layers.check, {path: f"#pragma once\n#include {included}\n"})

    def test_reports_each_bad_include(self):
        for path, included, expected in BAD_INCLUDES:
            with self.subTest(path=path, included=included):
                self.assertEqual(self.report(path, included), [f"{path}:2: {expected}"])

    def test_is_silent_about_good_includes(self):
        for path, included in GOOD_INCLUDES:
            with self.subTest(path=path, included=included):
                self.assertEqual(self.report(path, included), [])

    def test_every_row_and_fence_has_a_bad_case(self):
        rows = {layers.layer_of(path) for path, _, _ in BAD_INCLUDES}
        self.assertEqual(set(layers.LAYERS) - rows - {"tests"}, set(),
                         "tests may include everything of ours")
        fences = {expected.split(":")[0] for _, _, expected in BAD_INCLUDES}
        self.assertEqual({fence[0] for fence in layers.FENCES} - fences, set())

    def test_the_table_has_no_circle(self):
        left = {row: {other for other in layers.LAYERS for allowed in layers.LAYERS[row]
                      if other != row and layers.below(other + "/", allowed)}
                for row in layers.LAYERS}
        while ready := [row for row, uses in left.items() if not uses & set(left)]:
            for row in ready:
                del left[row]
        self.assertEqual(left, {}, "these include each other")


class Sizes(unittest.TestCase):
    def test_reports_a_long_header_and_not_one_at_the_limit(self):
        self.assertEqual(sizes.check_file("core/x.h", "\n" * 251),
                         ["core/x.h:251: longer than 250 lines"])
        self.assertEqual(sizes.check_file("core/x.h", "\n" * 250), [])

    def test_reports_a_long_source_but_no_table_of_rows(self):
        self.assertEqual(sizes.check_file("core/ops/x.cpp", "\n" * 601),
                         ["core/ops/x.cpp:601: longer than 600 lines"])
        self.assertEqual(sizes.check_file("core/ops/rows/x.cpp", "\n" * 601), [])

    def function(self, lines, comment=""):
        body = "\n".join(f'  call({i}, "}}{{", \'{{\');' for i in range(lines - 2))
        return f"namespace a {{\n{comment}\nauto f(int x = 1) -> T {{\n{body}\n}}\n}}\n"

    def test_reports_a_long_function_and_not_one_at_the_limit(self):
        self.assertEqual(sizes.check_file("core/x.cpp", self.function(81)),
                         ["core/x.cpp:3: f has 81 lines, more than 80"])
        self.assertEqual(sizes.check_file("core/x.cpp", self.function(80)), [])

    def test_a_reason_excuses_a_long_function(self):
        excuse = f"// {sizes.EXCUSE}: one row per opcode"
        self.assertEqual(sizes.check_file("core/x.cpp", self.function(81, excuse)), [])

    def test_classes_and_tables_are_no_functions(self):
        text = "class A : public B {\n  void f();\n};\nconst T kRows = g({\n  {1},\n});\n"
        self.assertEqual(sizes.functions(text), [])


class TextRules(unittest.TestCase):
    def lines(self, path, line):
        return complaints(text_rules.check_lines, {path: f"\n{line}\n"})

    def test_reports_paths_of_one_machine(self):
        for folder in ("work", "tmp", "root", "home"):
            with self.subTest(folder=folder):
                path = "/" + folder
                expected = [f"core/x.cpp:2: {path} is a path of one machine"]
                self.assertEqual(self.lines("core/x.cpp", f'open("{path}/x");'), expected)
        self.assertEqual(self.lines("core/x.cpp", "a/work/b, homes, x /workers"), [])

    def test_reports_unexplained_todos(self):
        for line in ("// TODO: later", "// TODO", "# FIXME(x): what", "// TODO(me):"):
            with self.subTest(line=line):
                self.assertEqual(len(self.lines("core/x.cpp", line)), 1)
        self.assertEqual(self.lines("core/x.cpp", "// TODO(issue 12): widen"), [])

    def test_reports_missing_and_long_readmes(self):
        self.assertEqual(complaints(text_rules.check_readmes, {"core/base/x.h": ""}),
                         ["core/README.md:1: missing; every top folder says what it is for"])
        self.assertEqual(complaints(text_rules.check_readmes, {"core/README.md": "\n" * 41}),
                         ["core/README.md:41: at most 40 lines"])
        self.assertEqual(complaints(text_rules.check_readmes, {"core/README.md": "\n" * 40}), [])


if __name__ == "__main__":
    unittest.main()
