"""One fault against the rows of its own variants: what it is built into, how it is run, what caught it."""

import json
import os
import shutil
import subprocess
import time
from dataclasses import asdict, dataclass
from pathlib import Path

CAUGHT, SURVIVED, BROKEN, LISTED = "caught", "survived", "broken", "listed"

# What a failed row is called where it is not a check of the verification that failed.
STATUS_NAMES = {"crashed": "crash", "timeout": "timeout", "run_failed": "error", "build_failed": "build"}


@dataclass
class Outcome:
    name: str
    backend: str
    outcome: str      # caught, survived, broken (the fault could not be tried), or listed (not run)
    check: str = ""   # what caught it, or why it was not tried
    row: str = ""     # the row that it was caught in
    rows: int = 0     # how many rows were tried, to the first failure
    seconds: float = 0.0

    def as_json(self):
        return asdict(self)


class Broken(Exception):
    """A fault that could not be tried: the compiler refuses it, or the program did not run."""


def run(command, folder=None):
    """Standard output and error together, and the exit code."""
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", check=False)
    return done.stdout, done.returncode


def describe(record):
    """A row in short: the problem and the tile."""
    shape = record["shape"]
    words = [record["variant"], record["operator"], record["direction"], record["dtype"], record["layout"],
             record["gate"], "x".join(str(extent) for extent in shape.values())]
    words += [f"{name}={value}" for name, value in sorted(record.get("options", {}).items())]
    if record.get("scale") is not None:
        words.append(f"scale={record['scale']}")
    words += [name for name in ("initial_state", "final_state") if record.get(name)]
    return " ".join(words) + " tile " + (",".join(f"{k}={v}" for k, v in record["tile"].items()) or "-")


def caught_by(record):
    """The name of the check that a failed row failed, or nothing for a row that did not fail."""
    if record["status"] == "wrong":
        verification = record["verification"]
        wrong = [name for name, tensor in (verification.get("tensors") or {}).items() if not tensor["ok"]]
        return (verification["check"] or "wrong") + (f" ({', '.join(wrong)})" if wrong else "")
    return STATUS_NAMES.get(record["status"], "")


def judge(fault, results):
    """The outcome that a results file tells of."""
    records = json.loads(Path(results).read_text())["records"]
    tried = [record for record in records if record["status"] != "rejected"]
    if not tried:
        raise Broken("no row was tried")
    for record in tried:
        check = caught_by(record)
        if check == "build":
            raise Broken(f"does not compile: {record['reason'][:2000]}")
        if check:
            return Outcome(fault.name, fault.backend, CAUGHT, check, describe(record), len(tried))
    return Outcome(fault.name, fault.backend, SURVIVED, rows=len(tried))


def verify(program, options, fault, folder, arguments):
    """Runs the rows of a fault with the program that has it. @throws Broken"""
    results = folder / "results.json"
    command = [program, "verify", options.config, "--backend", fault.backend, "--until-failure", "--quiet",
               "--variants", ",".join(fault.variants), "--operators", ",".join(fault.operators),
               "--force", "--output", results, *arguments]
    if fault.directions:
        command += ["--directions", ",".join(fault.directions)]
    text, code = run([str(part) for part in command])
    if code not in (0, 1):
        raise Broken(f"exit code {code}: {text[-2000:]}")
    outcome = judge(fault, results)
    if code != (0 if outcome.outcome == SURVIVED else 1):
        raise Broken(f"exit code {code}, but the rows say {outcome.outcome}: {text[-2000:]}")
    return outcome


class HostTrials:
    """Faults of the host: one source is compiled anew, and the program linked with it before its libraries."""

    def __init__(self, options):
        self.options, self.build = options, options.build
        commands = json.loads((self.build / "compile_commands.json").read_text())
        self.compile = {Path(entry["file"]).resolve(): entry["command"] for entry in commands}
        self.link = self.link_command()

    def link_command(self):
        recipe = self.build / "CMakeFiles/gla-bench.dir/link.txt"
        if recipe.is_file():
            return recipe.read_text().strip()
        text, code = run(["ninja", "-C", str(self.build), "-t", "commands", "gla-bench"])
        if code != 0:
            raise Broken(f"no link command in {self.build}: {text}")
        # Without what the build does before and behind the linking.
        return next(part for part in text.splitlines()[-1].split(" && ") if " -o gla-bench " in part)

    def object_of(self, fault, folder):
        """Compiles the source with the fault, as the build does but without warnings."""
        source = (self.options.root / fault.file).resolve()
        if source not in self.compile:
            raise Broken(f"{self.build} does not compile {fault.file}")
        mutant, target = folder / source.name, folder / "mutant.o"
        mutant.write_text(fault.applied(self.options.root))
        words = self.compile[source].replace(str(source), str(mutant)).split(" -o ")
        words[1] = " ".join([str(target)] + words[1].split(" ")[1:])
        text, code = run(["sh", "-c", " -o ".join(words) + " -w -Wno-error"], self.build)
        if code != 0:
            raise Broken(f"does not compile: {text[-2000:]}")
        return target

    def try_one(self, fault, folder, _slot):
        target, program = self.object_of(fault, folder), folder / "gla-bench"
        # What stands before the libraries is taken in their place.
        command = self.link.replace("-o gla-bench ", f"-o {program} {target} ", 1)
        text, code = run(["sh", "-c", command], self.build)
        if code != 0 or not program.is_file():
            raise Broken(f"does not link: {text[-2000:]}")
        return verify(program, self.options, fault, folder, ["--threads", str(self.options.threads)])

    def compile_one(self, fault, folder, _slot):
        self.object_of(fault, folder)


class CudaTrials:
    """Faults of CUDA sources: the program reads a copy of kernels/, and nothing is built anew."""

    def __init__(self, options):
        self.options = options

    def kernels_of(self, fault, folder):
        kernels = folder / "kernels"
        shutil.copytree(self.options.root / "kernels", kernels)
        (folder / fault.file).write_text(fault.applied(self.options.root))
        return ["--kernels", kernels, "--compile-threads", str(self.options.threads),
                *(["--cache-dir", self.options.cache] if self.options.cache else [])]

    def try_one(self, fault, folder, slot):
        device = self.options.devices[slot % len(self.options.devices)]
        arguments = [*self.kernels_of(fault, folder), "--device", device]
        if self.options.emulate:
            arguments.append("--emulate")
        return verify(self.options.program, self.options, fault, folder, arguments)

    def compile_one(self, fault, folder, _slot):
        command = [self.options.program, "compile", self.options.compile_config, "--arch", self.options.arch,
                   "--variants", ",".join(fault.variants), "--operators", ",".join(fault.operators),
                   *self.kernels_of(fault, folder)]
        text, code = run([str(part) for part in command])
        if code != 0:
            complaint = text[text.find("FAIL"):] if "FAIL" in text else text[-2000:]
            raise Broken(f"does not compile: {complaint[:2000]}")


def trial(trials, fault, folder, slot, only_compile):
    """Brings one fault to its outcome."""
    begun = time.monotonic()
    os.makedirs(folder)
    try:
        if only_compile:
            trials.compile_one(fault, folder, slot)
            outcome = Outcome(fault.name, fault.backend, LISTED, "compiles")
        else:
            outcome = trials.try_one(fault, folder, slot)
    except Broken as why:
        outcome = Outcome(fault.name, fault.backend, BROKEN, str(why))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    outcome.seconds = round(time.monotonic() - begun, 1)
    return outcome
