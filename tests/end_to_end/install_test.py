#!/usr/bin/env python3
"""What `cmake --install` and the Debian package put down works on its own: the program needs no library
of the build, finds its data from any folder, describes itself to man and to the shells, and serves
another CMake project.

    install_test.py CMAKE BUILD
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CMAKE, BUILD = sys.argv[1], Path(sys.argv[2]).resolve()
CTEST, CPACK = (str(Path(CMAKE).with_name(tool)) for tool in ("ctest", "cpack"))

# What every machine with the same C library has.
BASE_LIBRARIES = re.compile(r"(libc|libm|libdl|libpthread|librt|ld-linux[-\w]*)\.so\.\d+")

PATH_ALONE = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin"}

TINY = {"backend": "host",
        "sweeps": [{"operator": "gla", "variants": ["recurrent"], "dtypes": ["float32"],
                    "gates": ["mild"], "shapes": [{"batch": 1, "seq": 16, "heads": 1, "key_dim": 16,
                                                   "value_dim": 16}], "max_tiles": 1}],
        "policy": {"timing": {"max_seconds": 0.2}}}

CONSUMER = """cmake_minimum_required(VERSION 3.22)
project(consumer LANGUAGES NONE)
enable_testing()
find_package(gla_bench 0.1 CONFIG REQUIRED)
foreach(folder ${gla_bench_SCHEMA_DIR} ${gla_bench_TUNED_DIR} ${gla_bench_CONFIG_DIR})
  if(NOT IS_DIRECTORY ${folder})
    message(FATAL_ERROR "${folder} is no folder")
  endif()
endforeach()
gla_bench_add_gate(NAME good RECORDS good.json JUNIT good.xml BASELINE errors.json)
gla_bench_add_gate(NAME bad RECORDS good.json bad.json)
add_test(NAME version COMMAND gla_bench::gla-bench --version)
"""


def foreign_libraries(program):
    """The shared libraries that a program needs besides the C library's own."""
    text = subprocess.run(["readelf", "-d", program], capture_output=True, text=True,
                          check=True).stdout
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", text)
    assert needed, f"{program} names no library at all"
    return [name for name in needed if not BASE_LIBRARIES.fullmatch(name)]


def roff_complaints(page):
    """What the formatter says against a manual page; nothing where there is no man(1)."""
    if not shutil.which("man"):
        return ""
    result = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", page],
                            capture_output=True, text=True, env={**os.environ, "MANWIDTH": "80"})
    return result.stderr if result.returncode == 0 else result.stderr + "failed"


class Installed(unittest.TestCase):
    """Reads self.root, the folder with bin/ and share/."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        # Moved after the installation: nothing may remember where it was put first.
        first = cls.folder / "first"
        subprocess.run([CMAKE, "--install", BUILD, "--prefix", first], check=True,
                       stdout=subprocess.DEVNULL)
        cls.root = cls.folder / "moved"
        first.rename(cls.root)
        cls.elsewhere = cls.folder / "elsewhere"
        cls.elsewhere.mkdir()
        (cls.elsewhere / "tiny.json").write_text(json.dumps(TINY))

    def run_program(self, *arguments, code=0):
        """In a folder of its own and with an empty environment."""
        result = subprocess.run([self.root / "bin/gla-bench", *arguments], cwd=self.elsewhere,
                                env={}, capture_output=True, text=True)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stdout + result.stderr

    def test_needs_only_the_c_library(self):
        self.assertEqual(foreign_libraries(self.root / "bin/gla-bench"), [])

    def test_that_check_sees_a_program_that_needs_more(self):
        more = self.root / "libexec/gla-bench/gla-bench-google"
        self.assertNotEqual(foreign_libraries(more if more.exists() else shutil.which(CMAKE)), [])

    def test_runs_in_an_empty_environment(self):
        self.assertIn("gla", self.run_program("list"))
        self.assertIn("host", self.run_program("info", "--backend", "host", "--quick"))
        self.run_program("run", "tiny.json", "-o", "tiny-records.json", "--force")
        self.run_program("gate", "tiny-records.json")

    def test_says_what_a_machine_without_a_toolkit_lacks(self):
        hidden = " && ".join(f"mount -t tmpfs none '{folder}'" for folder in
                             {path.resolve() for path in Path("/usr/local").glob("cuda*")})
        prefix = ["unshare", "-rm", "sh", "-c", f"{hidden or 'true'} && exec \"$@\"", "sh"]
        program = self.root / "bin/gla-bench"

        def run(*arguments):
            return subprocess.run([*prefix, program, *arguments], cwd=self.elsewhere, env=PATH_ALONE,
                                  capture_output=True, text=True)
        info = run("info", "--quick")
        if "NVRTC" not in info.stdout or re.search(r"NVRTC +/", info.stdout):
            self.skipTest("the toolkit cannot be hidden here, or the program is built without CUDA")
        self.assertRegex(info.stdout, r"NVRTC +not found: libnvrtc\.so\.\d+ or libnvrtc\.so\.\d+")
        compiled = run("compile", "configs/quick.json", "--arch", "sm_90a")
        self.assertEqual(compiled.returncode, 2, compiled.stdout + compiled.stderr)
        self.assertIn("NVRTC, which compiles the kernels, is missing: libnvrtc.so.", compiled.stderr)
        on_host = run("verify", "tiny.json", "-o", "without.json", "--force")
        self.assertEqual(on_host.returncode, 0, on_host.stdout + on_host.stderr)

    def test_bench_is_found(self):
        text = self.run_program("bench", "tiny.json", "--benchmark_min_time=0.001")
        self.assertIn("manual_time", text)

    def test_finds_the_configs_that_come_with_it(self):
        self.assertIn("chunk_fused", self.run_program("plan", "configs/quick.json", "--backend",
                                                      "cuda"))
        text = self.run_program("plan", "configs/no_such.json", code=2)
        self.assertIn("configs/no_such.json", text)

    def test_finds_the_tuned_table_that_comes_with_it(self):
        auto = json.loads(json.dumps(TINY))
        auto["sweeps"][0]["variants"] = ["auto"]
        (self.elsewhere / "auto.json").write_text(json.dumps(auto))
        text = self.run_program("plan", "auto.json")
        name = re.search(r"there is no tuned table (\S+\.json)", text).group(1)
        table = self.root / "share/gla-bench/tuned" / name
        table.write_text("no table")
        self.addCleanup(table.unlink)
        # What is wrong with the table shows that it was read.
        self.assertIn(str(table), self.run_program("plan", "auto.json", code=2))

    def test_manual_page(self):
        page = self.root / "share/man/man1/gla-bench.1"
        text = page.read_text()
        for command in ("run", "verify", "tune", "gate", "report", "bench"):
            self.assertIn(f".SS gla\\-bench {command}\n", text)
        for code in "012345":
            self.assertIn(f"\\fB{code}\\fR", text)
        self.assertNotIn("worker", re.findall(r"\.SS gla\\-bench (\S+)", text))
        self.assertEqual(roff_complaints(page), "")

    @unittest.skipUnless(shutil.which("man"), "there is no man(1)")
    def test_that_check_sees_a_broken_page(self):
        page = self.folder / "broken.1"
        page.write_text(".TH X 1\n.SH NAME\nx \\- y\n.no_such_request\n\\*[undefined]\n")
        self.assertNotEqual(roff_complaints(page), "")

    def complete(self, *words):
        """What bash offers for the last word."""
        script = f"""source '{self.root}/share/bash-completion/completions/gla-bench'
            COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
            _gla_bench
            printf '%s\\n' "${{COMPREPLY[@]}}\""""
        result = subprocess.run(["bash", "-c", script, "bash", "gla-bench", *words], text=True,
                                capture_output=True, check=True)
        self.assertEqual(result.stderr, "")
        return result.stdout.split()

    def test_bash_completes(self):
        self.assertEqual(self.complete("ru"), ["run"])
        self.assertIn("verify", self.complete(""))
        self.assertNotIn("worker", self.complete(""))
        self.assertEqual(self.complete("run", "--back"), ["--backend"])
        self.assertEqual(self.complete("run", "--backend", ""), ["auto", "host", "cuda"])
        self.assertEqual(self.complete("run", "--backend", "=", "ho"), ["host"])
        self.assertEqual(self.complete("run", "--backend", "="), ["auto", "host", "cuda"])
        self.assertEqual(self.complete("exec", "--operator", "soft"), ["softmax"])
        self.assertIn("chunk_fused", self.complete("exec", "--variant", "chunk"))
        self.assertEqual(self.complete("list", "reten"), ["retention"])
        self.assertEqual(self.complete("run", "--backend", "no_such"), [])
        self.assertEqual(self.complete("run", "-o", ""), [])  # bash's own files

    def test_the_other_shells_know_every_command(self):
        known = set(re.findall(r"^  (\w+) ", self.run_program("--help").split("Subcommands:")[1],
                               re.MULTILINE))
        self.assertIn("run", known)
        zsh = self.root / "share/zsh/site-functions/_gla-bench"
        fish = self.root / "share/fish/vendor_completions.d/gla-bench.fish"
        self.assertEqual(set(re.findall(r"^        (\w+)\)$", zsh.read_text(), re.MULTILINE)), known)
        self.assertEqual(set(re.findall(r"use_subcommand -f -a (\w+) ", fish.read_text())), known)
        self.assertTrue(zsh.read_text().startswith("#compdef gla-bench\n"))
        for shell, script in (("zsh", zsh), ("fish", fish)):
            if shutil.which(shell):
                subprocess.run([shell, "-n", script], check=True)

    def test_another_project_gates_with_it(self):
        project, build = self.folder / "consumer", self.folder / "consumer-build"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(CONSUMER)
        self.run_program("verify", "tiny.json", "-o", str(project / "good.json"), "--seeds", "3")
        self.run_program("gate", str(project / "good.json"), "--write-baseline",
                         str(project / "errors.json"))
        records = json.loads((project / "good.json").read_text())
        records["records"][0]["status"] = "wrong"
        records["records"][0]["verification"]["ok"] = False
        (project / "bad.json").write_text(json.dumps(records))
        self.run_program("gate", str(project / "bad.json"), code=1)  # by its records, not as bad input
        subprocess.run([CMAKE, "-S", project, "-B", build, f"-DCMAKE_PREFIX_PATH={self.root}"],
                       check=True, stdout=subprocess.DEVNULL)

        def code(test):
            return subprocess.run([CTEST, "--test-dir", build, "-R", f"^{test}$", "--no-tests=error"],
                                  capture_output=True).returncode
        self.assertEqual(code("good"), 0)
        self.assertEqual(code("version"), 0)
        self.assertTrue((build / "good.xml").exists())
        self.assertNotEqual(code("bad"), 0)


@unittest.skipUnless(shutil.which("dpkg-deb"), "there is no dpkg-deb")
class Packaged(unittest.TestCase):
    def test_debian_package(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            subprocess.run([CPACK, "-G", "DEB", "-B", folder / "made"], cwd=BUILD, check=True,
                           stdout=subprocess.DEVNULL)
            [package] = (folder / "made").glob("gla-bench_*.deb")
            listed = subprocess.run(["dpkg-deb", "-c", package], check=True, capture_output=True,
                                    text=True).stdout
            for file in ("bin/gla-bench", "share/gla-bench/configs/quick.json",
                         "share/gla-bench/configs/schema/results.schema.json",
                         "share/gla-bench/tuned/nvidia-h200.json", "share/man/man1/gla-bench.1",
                         "share/bash-completion/completions/gla-bench"):
                self.assertIn(f" ./usr/{file}\n", listed)
            self.assertRegex(listed, r"gla_benchConfig\.cmake\n")
            depends = subprocess.run(["dpkg-deb", "-f", package, "Depends"], check=True,
                                     capture_output=True, text=True).stdout
            self.assertRegex(depends.strip(), r"^libc6( \(>= [\d.]+\))?$")
            subprocess.run(["dpkg-deb", "-x", package, folder / "root"], check=True)
            program = folder / "root/usr/bin/gla-bench"

            def run(*arguments):
                return subprocess.run([program, *arguments], cwd=folder, env={}, check=True,
                                      capture_output=True, text=True).stdout
            self.assertIn("gla", run("list"))
            run("verify", "configs/quick.json", "--backend", "host", "--quiet", "-o", "quick.json")
            run("gate", "quick.json")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
