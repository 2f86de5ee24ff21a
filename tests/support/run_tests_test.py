"""What run_tests.py says of a program whose cases pass, fail, are skipped, crash and hang."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

RUNNER = pathlib.Path(__file__).with_name("run_tests.py")

# Speaks as googletest does. A case does what its name says.
PROGRAM = """#!{python}
import json, os, sys, time
cases = {cases}
options = dict(argument.partition("=")[::2] for argument in sys.argv[1:])
if "--gtest_list_tests" in options:
    listing = [{{"name": suite, "testsuite": [{{"name": name, "file": "/x/tests/" + path}}]}}
               for suite, name, path in cases]
    open(options["--gtest_output"][len("json:"):], "w").write(json.dumps({{"testsuites": listing}}))
    sys.exit(0)
failed = False
for case in open(options["--gtest_flagfile"]).read().strip().partition("=")[2].split(":"):
    print(f"[ RUN      ] {{case}}\\nwords of {{case}}", flush=True)
    if case.endswith("Crash"): os.abort()
    if case.endswith("Hang"): time.sleep(60)
    end = "  FAILED  " if case.endswith("Fail") else "  SKIPPED " if case.endswith("Skip") else "       OK "
    failed |= case.endswith("Fail")
    print(f"[{{end}}] {{case}} (0 ms)", flush=True)
sys.exit(int(failed))
"""


class RunTests(unittest.TestCase):
    def run_cases(self, cases, *arguments):
        """The runner on a program with these cases ("Suite.Name", source): exit code and output."""
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "program")
            listed = [(*name.rsplit(".", 1), path) for name, path in cases]
            program.write_text(PROGRAM.format(python=sys.executable, cases=listed))
            program.chmod(0o755)
            done = subprocess.run([sys.executable, RUNNER, program, *arguments], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout

    def test_passing_cases_are_silent(self):
        code, text = self.run_cases([("A.Pass", "core/a.cpp"), ("B.Skip", "core/b.cpp")], "core")
        self.assertEqual(code, 0, text)
        self.assertNotIn("words of A.Pass", text)
        self.assertIn("SKIPPED B.Skip\nwords of B.Skip", text)
        self.assertIn("1 passed, 1 skipped, 0 failed", text)

    def test_a_failure_is_named_with_what_it_printed(self):
        code, text = self.run_cases([("A.Fail", "core/a.cpp"), ("A.Pass", "core/a.cpp")], "core")
        self.assertEqual(code, 1, text)
        self.assertIn("FAILED A.Fail\nwords of A.Fail", text)

    def test_cases_behind_a_crash_still_run(self):
        cases = [("A.Crash", "core/a.cpp"), ("A.Pass", "core/a.cpp"), ("B.Crash", "core/a.cpp"),
                 ("B.Fail", "core/a.cpp")]
        code, text = self.run_cases(cases, "core")
        self.assertEqual(code, 1, text)
        self.assertIn("FAILED (signal 6) A.Crash\nwords of A.Crash", text)
        self.assertIn("1 passed, 0 skipped, 3 failed: A.Crash B.Crash B.Fail", text)

    def test_a_case_that_hangs_is_named_and_left(self):
        cases = [("A.Hang", "core/a.cpp"), ("A.Pass", "core/a.cpp")]
        code, text = self.run_cases(cases, "core", "--seconds", "1")
        self.assertEqual(code, 1, text)
        self.assertIn("FAILED (no line for 1 s) A.Hang", text)
        self.assertIn("1 passed", text)

    def test_an_entry_of_skipped_cases_is_skipped(self):
        code, text = self.run_cases([("Gpu.Skip", "core/a.cpp"), ("A.Pass", "core/a.cpp")], "--gpu")
        self.assertEqual(code, 77, text)

    def test_a_folder_has_its_own_cases_and_those_below_without_a_gpu(self):
        cases = [("A.Pass", "core/a.cpp"), ("B.Pass", "core/below/b.cpp"),
                 ("C.Fail", "core_other/c.cpp"), ("GpuD.Fail", "core/d.cpp"),
                 ("All/GpuE.Fail", "core/e.cpp")]
        code, text = self.run_cases(cases, "core")
        self.assertEqual(code, 0, text)
        self.assertIn("2 passed", text)

    def test_shards_share_the_cases(self):
        cases = [("A.Pass", "core/a.cpp"), ("B.Fail", "core/a.cpp"), ("C.Pass", "core/a.cpp")]
        self.assertIn("2 passed", self.run_cases(cases, "core", "--shard", "1/2")[1])
        self.assertIn("1 failed: B.Fail", self.run_cases(cases, "core", "--shard", "2/2")[1])

    def test_a_folder_without_cases_fails(self):
        self.assertEqual(self.run_cases([("A.Pass", "core/a.cpp")], "nowhere")[0], 1)


if __name__ == "__main__":
    unittest.main()
