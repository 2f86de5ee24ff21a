"""Finds and starts the program."""

import os
import pathlib
import shutil
import subprocess
import sys
from typing import List, NoReturn, Sequence

from gla_bench._errors import GlaBenchError, InputError, MachineError

VARIABLE = "GLA_BENCH_PROGRAM"
_INPUT, _MACHINE = 2, 5


def program() -> pathlib.Path:
    """The program's path: of the environment variable GLA_BENCH_PROGRAM, else the one that was
    installed with this package, else the one on PATH.

    Raises:
        FileNotFoundError: there is none, or the variable names no file.
    """
    named = os.environ.get(VARIABLE)
    if named:
        if not pathlib.Path(named).is_file():
            raise FileNotFoundError(f"{VARIABLE} is {named}, which is no file")
        return pathlib.Path(named)
    own = pathlib.Path(__file__).parent / "bin" / "gla-bench"
    if own.is_file():
        return own
    # The script of that name which pip makes starts this package, so that it is passed over.
    folders = [folder for folder in os.environ.get("PATH", "").split(os.pathsep)
               if pathlib.Path(folder) != pathlib.Path(sys.executable).parent]
    found = shutil.which("gla-bench", path=os.pathsep.join(folders))
    if found is None:
        raise FileNotFoundError(
            f"there is no program gla-bench: not in {own.parent}, not on PATH, and {VARIABLE} "
            "does not name one")
    return pathlib.Path(found)


def call(arguments: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    """Runs the program to its end.

    Ctrl-C reaches the program too, which then ends with everything kept.

    Returns:
        Its exit code (0, or 1, 3 and 4 for what a check found), output and errors.

    Raises:
        InputError, MachineError, GlaBenchError: for other exit codes.
    """
    command: List[str] = [str(program()), *arguments]
    # Functions that are candidates are called by this interpreter, with the packages that it has.
    environment = {**os.environ, "GLA_BENCH_PYTHON": sys.executable,
                   "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="replace") as process:
        try:
            output, log = process.communicate()
        except KeyboardInterrupt:
            process.communicate()  # it has the signal as well, and writes down what it has
            raise
    code = process.returncode
    if code not in (0, 1, 3, 4):
        lines = [line for line in log.splitlines() if line.startswith("gla-bench: ")]
        message = "\n".join(line[len("gla-bench: "):] for line in lines) or log.strip()
        kind = {_INPUT: InputError, _MACHINE: MachineError}.get(code, GlaBenchError)
        raise kind(message or f"gla-bench ended with exit code {code}", code, log)
    return subprocess.CompletedProcess(command, code, output, log)


def version() -> str:
    """The program's version, such as "0.1.0"."""
    return call(["--version"]).stdout.strip()


def main() -> NoReturn:
    """The command gla-bench of an installation by pip: becomes the program."""
    path = str(program())
    os.execv(path, [path, *sys.argv[1:]])
