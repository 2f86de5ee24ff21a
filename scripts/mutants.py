#!/usr/bin/env python3
"""Plants the faults of tests/mutants/ one at a time and says which check of the verification catches each.

  mutants.py                                  every fault of the host, against configs/ci.json
  mutants.py --backend cuda                   every fault of the CUDA sources, on a machine with a GPU
  mutants.py --only NAME                      one fault
  mutants.py --sample 3 --date 2026-08-01     three of them, others on another date
  mutants.py --check                          only reads the lists
  mutants.py --compile                        only compiles each fault; CUDA needs no GPU for that

A fault is run through the rows of its own variants until one of them fails. On the host its source is
compiled anew and the program linked with it, out of a finished build folder. CUDA sources are handed to the
program with --kernels, which builds nothing. Before a whole list the program without a fault must pass the
same rows. Exit code 1 if a fault survives that is not argued to be equivalent, or can not be tried.
"""

import argparse
import datetime
import os
import queue
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from mutation import faults as lists  # noqa: E402  (the modules lie beside this script)
from mutation import tables  # noqa: E402
from mutation.trial import BROKEN, CAUGHT, LISTED, CudaTrials, HostTrials, Outcome, run, trial  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog="\n".join(__doc__.splitlines()[2:]),
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--backend", choices=lists.BACKENDS, default="host", help="whose faults (default: host)")
    add("--only", action="append", default=[], metavar="NAME", help="this fault alone; may be repeated")
    add("--sample", type=int, metavar="N", help="so many faults, drawn by --date")
    add("--date", default=datetime.date.today().isoformat(), help="YYYY-MM-DD (default: today)")
    add("--jobs", type=int, help="faults tried at a time (default: 1 on the host, a quarter of the cores for CUDA)")
    add("--output", type=Path, help="writes the table to a .json or .md file")
    add("--docs", action="store_true", help="writes the table into docs/mutants.md")
    add("--config", type=Path, default=ROOT / "configs/ci.json", help="what the faults are run through")
    add("--program", type=Path, default=ROOT / "build/gla-bench", help="the program (default: build/gla-bench)")
    add("--build", type=Path, help="build folder for faults of the host (default: that of the program)")
    add("--devices", default="0", help="GPUs that share the faults, as in 0,1 (default: 0)")
    add("--emulate", action="store_true", help="tries faults of CUDA sources without a GPU (verify --emulate)")
    add("--cache", type=Path, help="folder of compiled kernels (default: one that is removed afterwards)")
    add("--no-control", action="store_true", help="does not try the program without a fault first")
    add("--check", action="store_true", help="only reads the lists")
    add("--compile", action="store_true", help="only compiles each fault")
    add("--compile-config", type=Path, default=ROOT / "configs/sanitize.json", help="whose kernels --compile compiles")
    add("--arch", default="sm_90a", help="architecture of --compile (default: sm_90a)")
    add("--root", type=Path, default=ROOT, help="the source tree")
    options = parser.parse_args(arguments)
    options.root, options.program = options.root.resolve(), options.program.resolve()
    options.build = (options.build or options.program.parent).resolve()
    options.devices = options.devices.split(",")
    cores = os.cpu_count() or 1
    options.jobs = options.jobs or (1 if options.backend == "host" else max(1, cores // 4))
    options.threads = max(2, cores // options.jobs)
    if options.emulate and options.backend != "cuda":
        parser.error("--emulate: what is emulated is a GPU: expected --backend cuda beside it")
    try:
        datetime.date.fromisoformat(options.date)
    except ValueError:
        parser.error(f"--date: found \"{options.date}\", expected YYYY-MM-DD")
    return options


def chosen(options):
    """The backend's faults, or those that the options name. @throws BadList"""
    faults = [fault for fault in lists.read_all(options.root) if fault.backend == options.backend]
    for name in options.only:
        lists.expect(any(fault.name == name for fault in faults), f"--only: the {options.backend} has no {name}")
    if options.only:
        return [fault for fault in faults if fault.name in options.only]
    if options.sample:
        drawn_from = [fault for fault in faults if fault.counts and not fault.survives]
        return lists.sample_of(drawn_from, options.sample, options.date)
    return faults


def control(options, faults):
    """Runs the rows of all faults without any. Everything must pass, else a caught fault says nothing."""
    begun = time.monotonic()
    variants = sorted({variant for fault in faults for variant in fault.variants})
    operators = sorted({op for fault in faults for op in fault.operators})
    text, code = run([str(word) for word in (
        options.program, "verify", options.config, "--backend", options.backend, "--quiet", "--variants",
        ",".join(variants), "--operators", ",".join(operators),
        *(["--emulate"] if options.emulate else []))])
    print(f"without a fault: {text.strip().splitlines()[-1]} in {time.monotonic() - begun:.0f} s", flush=True)
    return code == 0


def try_all(options, faults, folder):
    """Yields outcomes as they come, in the order of the list."""
    trials = HostTrials(options) if options.backend == "host" else CudaTrials(options)
    slots = queue.Queue()
    for slot in range(options.jobs):
        slots.put(slot)

    def one(fault):
        if not fault.counts and not options.compile:
            why = "equivalent" if fault.equivalent else "not wanted"
            return Outcome(fault.name, fault.backend, LISTED, why)
        slot = slots.get()
        try:
            return trial(trials, fault, folder / fault.name, slot, options.compile)
        finally:
            slots.put(slot)

    with ThreadPoolExecutor(options.jobs) as pool:
        yield from pool.map(one, faults)


def report(outcome):
    beside = f"  in row {outcome.rows}, {outcome.row}" if outcome.outcome == CAUGHT else ""
    told = outcome.check if outcome.outcome in (CAUGHT, LISTED, BROKEN) else f"all {outcome.rows} rows pass"
    print(f"{outcome.outcome:9}{outcome.name}: {told}{beside}  [{outcome.seconds} s]", flush=True)


def main(arguments):
    options = parse(arguments)
    faults = chosen(options)
    if options.check:
        counted = sum(fault.counts for fault in faults)
        print(f"{len(faults)} faults of the {options.backend}, {counted} of them to be caught")
        return 0
    if not options.program.is_file():
        raise lists.BadList(f"there is no program {options.program}; --program names it")
    whole = not (options.only or options.sample or options.compile or options.no_control)
    if whole and not control(options, faults):
        print("the program without a fault does not pass")
        return 1
    folder = Path(tempfile.mkdtemp(prefix="mutants-"))
    options.cache = options.cache or (folder / "cache" if options.backend == "cuda" else None)
    begun, outcomes = time.monotonic(), []
    try:
        for outcome in try_all(options, faults, folder):
            report(outcome)
            outcomes.append(outcome)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if options.compile:
        broken = [outcome for outcome in outcomes if outcome.outcome == BROKEN]
        print(f"{len(outcomes)} faults compiled, {len(broken)} refused")
        return 1 if broken else 0
    print(f"{tables.score_line(outcomes)} in {time.monotonic() - begun:.0f} s")
    print(f"by check: {tables.check_counts(outcomes)}")
    if options.output:
        tables.write(options.output, options, faults, outcomes)
    if options.docs:
        block = "emulated" if options.emulate else options.backend
        tables.write_docs(options.root / "docs/mutants.md", block, faults, outcomes)
    caught, counted = tables.score(outcomes)
    return 0 if counted and caught == counted else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except lists.BadList as complaint:
        print(complaint, file=sys.stderr)
        sys.exit(2)
