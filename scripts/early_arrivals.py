#!/usr/bin/env python3
"""Finds arrivals at barriers that overtake loads from shared memory, in compiled kernels.

  scripts/early_arrivals.py FOLDER...

Folders are searched to the bottom for compiled kernels: entries of the program's cache (*.bin, --cache-dir of
gla-bench compile) and what nvcc keeps (*.cubin).

An mbarrier's arrival waits neither for loads before it nor for what they load. If it gives back a place that a
bulk copy then fills, the copy may overwrite what the loads have yet to read. A fence (fence.proxy.async) or an
instruction that needs what they load has to come first. The source does not show whether the compiler keeps them
apart, but the machine code does: a load says which counter it raises, and each instruction which it waits for.

Reads binaries for compute capability 9.0 as they are. Places are those of instructions, in bytes from the kernel's
begin. Exit code 1: there are such arrivals; 2: a folder has no kernel of this architecture.
"""
import pathlib
import struct
import sys

# The lowest 12 bits of an instruction's 128.
LOADS = {0x984: "LDS", 0x83b: "LDSM"}
ARRIVE, FENCE = 0x9a7, 0x3c6
ALONE = 1 << 20  # in the upper half of ARRIVE: it announces no bytes, so that it gives something back
NO_COUNTER = 7

# What is read here is written by threads alone, whose accesses a barrier orders.
THREADS_ALONE = {
    "flash_sm90": "the number of the next item, which a thread draws",
}


def counters(upper):
    """The counter that an instruction raises until it is done, and those whose zero it waits for."""
    return upper >> 46 & 7, upper >> 52 & 0x3f


def early_arrivals(instructions):
    """(place of the arrival, places of the loads on their way) for a kernel's (lower, upper) halves.

    Instructions are taken in the order in which they lie, also across branches."""
    found, waiting, fenced = [], {}, set()
    for number, (lower, upper) in enumerate(instructions):
        raises, waits = counters(upper)
        for counter in range(6):
            if waits >> counter & 1:
                waiting.pop(counter, None)
        operation, place = lower & 0xfff, 16 * number
        if operation == FENCE:
            fenced = {load for loads in waiting.values() for load in loads}
        elif operation == ARRIVE and upper & ALONE:
            loads = sorted(load for loads in waiting.values() for load in loads if load not in fenced)
            if loads:
                found.append((place, loads))
        elif operation in LOADS and raises != NO_COUNTER:
            waiting.setdefault(raises, []).append(place)
    return found


def kernels_of(binary):
    """(name, (lower, upper) halves of its instructions) of each kernel in an ELF file of 64 bits."""
    (sections,) = struct.unpack_from("<Q", binary, 40)
    size, count, names = struct.unpack_from("<HHH", binary, 58)
    headers = [struct.unpack_from("<IIQQQQ", binary, sections + size * n) for n in range(count)]
    texts = headers[names][4]
    for name, _, _, _, begin, length in headers:
        text = binary[texts + name:binary.index(b"\0", texts + name)].decode()
        if text.startswith(".text.") and length % 16 == 0:
            yield text[len(".text."):], list(struct.iter_unpack("<QQ", binary[begin:begin + length]))


def compute_capability(binary):
    """90 for sm_90 and sm_90a."""
    (flags,) = struct.unpack_from("<I", binary, 48)
    return flags >> (8 if binary[8] >= 8 else 0) & 0xff  # the second byte from CUDA 13 on


def binaries_of(folder):
    """(path, ELF file) of each compiled kernel in a folder and those below it."""
    for path in sorted(pathlib.Path(folder).rglob("*")):
        if path.suffix not in (".bin", ".cubin"):
            continue
        content = path.read_bytes()
        begin = content.find(b"\x7fELF")
        if begin >= 0 and compute_capability(content[begin:]) == 90:
            yield path, content[begin:]


def main(folders):
    all_kernels = found = 0
    for folder in folders:
        kernels = 0
        for path, binary in binaries_of(folder):
            for name, instructions in kernels_of(binary):
                kernels += 1
                for place, loads in early_arrivals(instructions):
                    if len(loads) == 1 and name in THREADS_ALONE:
                        continue
                    found += 1
                    print(f"{path}: {name}: the arrival at {place:#x} does not wait for {len(loads)} "
                          f"loads before it, the last at {loads[-1]:#x}")
        if kernels == 0:
            print(f"no kernel for sm_90 in {folder}", file=sys.stderr)
            return 2
        all_kernels += kernels
    print(f"{all_kernels} kernels, {found} arrivals that overtake loads")
    return 1 if found else 0


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(__doc__.strip())
        sys.exit(2)
    sys.exit(main(sys.argv[1:]))
