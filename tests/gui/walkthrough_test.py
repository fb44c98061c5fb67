#!/usr/bin/env python3
"""The three walkthroughs of the viewer, played through the real binary: what a user does, counted."""
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

ASSAY, VIEWER, SOURCE = sys.argv[1:4]
PADDED = pathlib.Path(SOURCE) / "samples/padded_storage/graph0_inf.json"
WITHOUT_MASK = pathlib.Path(SOURCE) / "tests/data/wrappers/scale_rows_without_mask.py"
ROWS = pathlib.Path(SOURCE) / "tests/data/graphs/rows_and_columns.txt"
LAUNCHES = pathlib.Path(SOURCE) / "tests/data/wrappers/three_launches_one_wrong.py"
LOG = pathlib.Path(SOURCE) / "tests/data/logs/stages.log"
STRIDES = pathlib.Path(SOURCE) / "samples/replication_pad_channels_last/graph0_inf.json"


def environment(folder, platform="offscreen"):
    return dict(os.environ, QT_QPA_PLATFORM=platform, XDG_CACHE_HOME=str(folder / "cache"),
                XDG_CONFIG_HOME=str(folder / "config"), LC_ALL="C.UTF-8")


class Walkthrough(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="assay_view_"))

    def tearDown(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def play(self, arguments, steps, code=0):
        """Exit code as expected; the number of gestures."""
        script = self.folder / "steps.json"
        script.write_text(json.dumps(steps))
        done = subprocess.run([VIEWER, *map(str, arguments), "--script", script, "--exit"],
                              env=environment(self.folder), capture_output=True, text=True,
                              timeout=120)
        self.assertEqual(done.returncode, code, done.stderr)
        return int(re.search(r"gestures: (\d+)", done.stdout)[1]), done.stderr

    def assay(self, *arguments):
        return subprocess.run([ASSAY, *map(str, arguments)], capture_output=True, text=True,
                              timeout=300, cwd=self.folder)

    def test_a_link_from_a_log_opens_at_the_node_that_lies(self):
        out = self.assay("debug", "--links", PADDED).stdout
        link = re.search(r"^link: assay:(\S+)#(\S+)$", out, re.M)
        self.assertIsNotNone(link, out)
        self.assertEqual(link[2], "node:constant_pad_nd")
        gestures, _ = self.play([link[1], "--at", link[2]], [
            {"expect": "constant_pad_nd: the layout needs 9216 bytes, its storage has 8704"},
            {"expect": "storage of relu has 8704: 512 outside"},
            {"screenshot": str(self.folder / "a.png")}])
        self.assertLessEqual(1 + gestures, 1)  # the link itself
        self.assertGreater((self.folder / "a.png").stat().st_size, 20_000)

    def test_wrong_strides_are_found_compared_and_proved(self):
        self.assay("trace", STRIDES, "-o", self.folder / "run.sqlite")
        gestures, _ = self.play([self.folder / "run.sqlite"], [
            {"expect": "replication_pad2d: claimed stride 64 at dimension 1, got 1"},
            {"key": "F8"},
            {"expect": "relu"},
            {"do": "layout.source"},
            {"expect": "record_samples.py"},
            {"do": "layout.graph"},
            {"expect": "nodes in"}])
        self.assertLessEqual(gestures, 4)

    def test_stages_of_a_log_are_stepped_through_and_compared(self):
        trace = self.folder / "log.sqlite"
        self.assay("trace", LOG, "-o", trace)
        names = [name for name, in self.rows(trace, "SELECT name FROM graphs ORDER BY id LIMIT 3")]
        gestures, _ = self.play([trace], [
            {"go": "graph:1"},
            {"key": "]"}, {"key": "]"}, {"expect": f"{names[2]} ("},
            {"key": "["}, {"expect": f"{names[1]} ("},
            {"do": "layout.diff"}, {"expect": " changed, "}, {"expect": f"2  {names[1]}"}])
        self.assertLessEqual(gestures, 4)

    def test_a_reduction_is_watched_and_a_candidate_looked_at(self):
        out = self.assay("minify", STRIDES, "-o", self.folder / "small", "--trace",
                         self.folder / "steps.sqlite", "--links")
        self.assertEqual(out.returncode, 1, out.stderr)
        self.assertIn("link: assay:", out.stdout)
        gestures, _ = self.play([self.folder / "steps.sqlite"], [
            {"do": "layout.minify"},
            {"expect": "fail the same way"},
            {"go": "step:2"},
            {"expect": "made from candidate"}])
        self.assertLessEqual(gestures + 1, 3)

    def rows(self, trace, sql):
        connection = sqlite3.connect(trace)
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()

    def test_an_access_out_of_bounds_is_seen_at_its_launch(self):
        trace = self.folder / "run.sqlite"
        out = self.assay("run", "--check", "--blocks", "16", WITHOUT_MASK, "--trace", trace)
        self.assertEqual(out.returncode, 1, out.stderr)
        self.assertEqual(self.rows(trace, "SELECT f.kind, l.target, f.line, f.kernel_line, f.times "
                                          "FROM findings f JOIN launches l ON l.id = f.launch_id"),
                         [("out-of-bounds", "triton_poi_fused_mul_0", 40, 18, 1)])
        self.assertEqual(self.rows(trace, "SELECT leaf, source, layout FROM tensor_values"),
                         [("buf0", "program", "f32[7, 9][9, 1]cuda")])
        self.play([trace], [
            {"expect": "triton_poi_fused_mul_0: element 7 needs 32 bytes, the storage has 28"},
            {"do": "layout.program"},
            {"expect": "out-of-bounds: element 7 needs 32 bytes"},
            {"expect": "first values it left"}])

    def test_a_program_that_differs_is_a_finding_at_node_and_launch_with_values(self):
        trace = self.folder / "run.sqlite"
        out = self.assay("compile", ROWS, "--check", "--fault", "short-loop", "--trace", trace)
        self.assertEqual(out.returncode, 1, out.stdout + out.stderr)
        found = self.rows(trace, "SELECT n.name, l.kind, f.claimed, f.observed FROM findings f JOIN "
                                 "nodes n ON n.id = f.node_id JOIN launches l ON l.id = f.launch_id "
                                 "WHERE f.kind = 'program-differs'")
        self.assertEqual(len(found), 1)
        self.assertNotEqual(found[0][2], found[0][3])
        self.play([trace], [{"expect": "output 0: element"}, {"go": f"node:{found[0][0]}"},
                            {"view": "storage"}, {"expect": "real: buf3 fused_mul_2"}])
        right = self.folder / "right.sqlite"
        self.assertEqual(self.assay("compile", ROWS, "--check", "--trace", right).returncode, 0)
        self.assertEqual(self.rows(right, "SELECT count(*) FROM findings"), [(0,)])
        self.assertGreater(self.rows(right, "SELECT count(*) FROM tensor_values")[0][0], 5)

    def test_proofs_of_a_compiled_program_are_in_its_trace(self):
        trace = self.folder / "run.sqlite"
        out = self.assay("compile", ROWS, "--prove", "--fault", "short-loop", "--trace", trace)
        self.assertEqual(out.returncode, 0, out.stdout + out.stderr)
        proved = self.rows(trace, "SELECT count(*), count(p.line) FROM proofs p JOIN graphs g ON "
                                  "g.id = p.graph_id WHERE g.kind = 'program' AND verdict = 'proved'")
        self.assertGreater(proved[0][0], 3)
        self.assertEqual(*proved[0])
        text = self.rows(trace, "SELECT text FROM graphs WHERE kind = 'program'")[0][0].splitlines()
        for line, place in self.rows(trace, "SELECT line, place FROM proofs"):
            self.assertIn(text[line - 1], place)
        short = self.folder / "short.sqlite"
        out = self.assay("compile", ROWS, "--prove", "--fault", "short-storage", "--trace", short)
        self.assertEqual(out.returncode, 1, out.stdout + out.stderr)
        refuted = self.rows(short, "SELECT p.id, p.witness, f.line FROM proofs p, findings f WHERE "
                                   "p.verdict = 'refuted' AND f.line = p.line")
        self.assertGreater(len(refuted), 0)
        self.play([short], [{"layout": "sizes"}, {"go": f"proof:{refuted[0][0]}"},
                            {"expect": "run there"}])

    def test_read_programs_have_launches_and_memory(self):
        trace = self.folder / "wrapper.sqlite"
        self.assay("trace", LAUNCHES, "-o", trace)
        self.assertEqual(self.rows(trace, "SELECT count(*) FROM launches"), [(3,)])
        (arena, live, total, steps), = self.rows(
            trace, "SELECT arena_bytes, live_bytes, sum_bytes, steps FROM memory_plans")
        self.assertEqual(steps, 3)
        self.assertTrue(0 < live <= arena <= total, (live, arena, total))
        self.play([trace], [{"layout": "program"}, {"go": "launch:2"},
                            {"expect": f"arena of {arena} bytes"}])
        log = self.folder / "log.sqlite"
        self.assay("trace", LOG, "-o", log)
        self.assertEqual(self.rows(log, "SELECT count(*) FROM launches"), [(2,)])
        self.assertEqual(self.rows(log, "SELECT count(*) FROM problems WHERE kind = 'not-planned'"),
                         [(1,)], "this log says nothing of its inputs' layouts")

    def test_what_is_no_trace_is_analysed_by_a_child(self):
        gestures, _ = self.play([PADDED], [{"expect": "512 bytes too small"}])
        self.assertEqual(gestures, 0)
        broken = self.folder / "broken.json"
        broken.write_text("{ no json")
        self.play([broken], [{"expect": "input not read"}])

    def test_a_step_that_fails_is_said(self):
        _, errors = self.play([PADDED], [{"expect": "no such text"}, {"do": "no.action"}], code=1)
        self.assertIn('"no such text" is not on the screen', errors)
        self.assertIn("no action no.action", errors)

    def test_filters_agree_with_the_command_line(self):
        trace = self.folder / "run.sqlite"
        self.assay("trace", PADDED, "-o", trace)
        rows = self.assay("query", trace, "--filter", "status:mismatch").stdout.splitlines()
        self.assertEqual([row.split("\t")[2] for row in rows[1:]], ["constant_pad_nd"])
        self.play([trace], [{"view": "nodes"}, {"filter": "status:mismatch"}, {"expect": "1 node"}])

    def test_a_trace_does_not_differ_from_itself(self):
        trace = self.folder / "run.sqlite"
        self.assay("trace", PADDED, "-o", trace)
        same = self.assay("diff", trace, trace)
        self.assertEqual((same.returncode, same.stdout), (0, "9 same, 0 changed, 0 added, 0 removed\n"))
        self.assay("trace", STRIDES, "-o", self.folder / "other.sqlite")
        self.assertEqual(self.assay("diff", trace, self.folder / "other.sqlite").returncode, 1)

    def test_two_scales_and_themes_draw_without_complaint(self):
        trace = self.folder / "run.sqlite"
        self.assay("trace", PADDED, "-o", trace)
        sizes = []
        for scale in ("1", "2"):
            for theme in ([], ["--dark"]):
                picture = self.folder / f"p{scale}{len(theme)}.png"
                done = subprocess.run([VIEWER, trace, "--screenshot", picture, "--exit", *theme],
                                      env=dict(environment(self.folder), QT_SCALE_FACTOR=scale),
                                      capture_output=True, text=True, timeout=60)
                self.assertEqual(done.returncode, 0, done.stderr)
                sizes.append(int.from_bytes(picture.read_bytes()[16:20], "big"))
        self.assertEqual(sizes[2], 2 * sizes[0])

    def test_a_real_x_server_shows_it_too(self):
        if not shutil.which("xvfb-run"):
            self.skipTest("no Xvfb")
        trace = self.folder / "run.sqlite"
        self.assay("trace", PADDED, "-o", trace)
        picture = self.folder / "x.png"
        # Not ours: libxkbcommon-x11 copies from replies of the server that end without a zero, and
        # libdbus keeps a block.
        kept = self.folder / "leaks"
        kept.write_text("leak:libdbus-1\n")
        sanitizers = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":strict_string_checks=0",
                      "LSAN_OPTIONS": f"suppressions={kept}:print_suppressions=0"}
        done = subprocess.run(["xvfb-run", "-a", VIEWER, trace, "--screenshot", picture, "--exit"],
                              env={**environment(self.folder, "xcb"), **sanitizers},
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(picture.stat().st_size, 20_000)

    def test_what_was_pinned_and_laid_out_comes_back(self):
        trace, settings = self.folder / "run.sqlite", self.folder / "own.ini"
        self.assay("trace", STRIDES, "-o", trace)
        with_settings = [trace, "--settings", settings]
        self.play(with_settings, [{"size": [1100, 700]}, {"layout": "graph"}, {"do": "view.theme"},
                                  {"go": "node:replication_pad2d"}, {"view": "storage"},
                                  {"do": "view.pin"}, {"go": "node:relu"}])
        self.assertIn("dark=true", settings.read_text())
        back = self.folder / "back.png"
        self.play(with_settings, [
            {"expect": "nodes in 11 boxes"},  # the layout
            {"expect": "aten.replication_pad2d.default #7"},  # in the pinned view
            {"expect": "relu    aten.relu.default"},  # the others' place
            {"screenshot": str(back)},
            {"do": "view.reset"}, {"expect": "claimed stride 64"}])
        self.assertEqual(int.from_bytes(back.read_bytes()[16:20], "big"), 1100)
        self.play(with_settings, [{"layout": "graph"}])
        self.play([*with_settings, "--reset-layout"], [{"expect": "claimed stride 64"}])
        self.play([trace], [{"expect": "replication_pad2d    aten.replication_pad2d.default"}])
        # The start page offers what was open.
        self.play(["--settings", settings], [{"expect": "run.sqlite"}])

    def test_help_names_every_option(self):
        done = subprocess.run([VIEWER, "--help"], env=environment(self.folder), capture_output=True,
                              text=True, timeout=60)
        for option in ("--at", "--script", "--screenshot", "--exit", "--dark", "--settings",
                       "--reset-layout", "FILE"):
            self.assertIn(option, done.stdout)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
