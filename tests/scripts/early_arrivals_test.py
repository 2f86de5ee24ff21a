#!/usr/bin/env python3
"""Tests of scripts/early_arrivals.py on made-up instructions: early_arrivals_test.py SOURCE_DIR"""
import contextlib
import importlib.util
import io
import pathlib
import struct
import sys
import tempfile
import unittest

source = pathlib.Path(sys.argv.pop(1))
spec = importlib.util.spec_from_file_location("early_arrivals", source / "scripts/early_arrivals.py")
early = importlib.util.module_from_spec(spec)
spec.loader.exec_module(early)


def instruction(operation, raises=early.NO_COUNTER, waits=(), more=0):
    """The lower and the upper half."""
    mask = sum(1 << counter for counter in waits)
    return operation, raises << 46 | mask << 52 | more


def load(raises, operation=0x83b):
    return instruction(operation, raises=raises)


def arrive(waits=()):
    return instruction(early.ARRIVE, waits=waits, more=early.ALONE)


OTHER = 0x23c
FENCE = instruction(early.FENCE)


class Arrivals(unittest.TestCase):
    def test_one_behind_a_load_that_nobody_waited_for_is_found(self):
        self.assertEqual(early.early_arrivals([load(0), load(1, 0x984), arrive()]), [(32, [0, 16])])

    def test_one_that_waits_for_all_loads_is_not(self):
        self.assertEqual(early.early_arrivals([load(0), load(1), arrive(waits=(0, 1))]), [])
        self.assertEqual(early.early_arrivals([load(0), load(1), arrive(waits=(0,))]), [(32, [16])])

    def test_another_instruction_may_have_waited(self):
        self.assertEqual(early.early_arrivals([load(2), instruction(OTHER, waits=(2,)), arrive()]), [])

    def test_a_fence_orders_the_loads_before_it(self):
        self.assertEqual(early.early_arrivals([load(0), FENCE, arrive()]), [])
        self.assertEqual(early.early_arrivals([load(0), FENCE, load(0), arrive()]), [(48, [32])])

    def test_one_that_announces_bytes_gives_nothing_back(self):
        self.assertEqual(early.early_arrivals([load(0), instruction(early.ARRIVE)]), [])

    def test_loads_of_other_memory_do_not_count(self):
        self.assertEqual(early.early_arrivals([instruction(0x981, raises=0), arrive()]), [])


def elf(kernels, capability=90, version=8):
    """An ELF file with a section of instructions for each name."""
    names, texts = [b"\0"], []
    for name, instructions in kernels.items():
        names.append(b".text." + name.encode() + b"\0")
        texts.append(b"".join(struct.pack("<QQ", *halves) for halves in instructions))
    names.append(b".shstrtab\0")
    table, place = b"".join(names), 64
    headers, at = [struct.pack("<IIQQQQIIQQ", *[0] * 10)], 1
    for name, text in zip(names[1:], texts):
        headers.append(struct.pack("<IIQQQQIIQQ", at, 1, 6, 0, place, len(text), 0, 0, 0, 0))
        at, place = at + len(name), place + len(text)
    headers.append(struct.pack("<IIQQQQIIQQ", at, 3, 0, 0, place, len(table), 0, 0, 0, 0))
    begin = place + len(table)
    header = b"\x7fELF\2\1\1A" + bytes([version])
    # The flags of an earlier version name another architecture in the second byte.
    flags = 6 << 24 | capability << 8 | 4 if version >= 8 else capability << 16 | 80 << 8 | capability
    header = header.ljust(40, b"\0") + struct.pack("<QI", begin, flags)
    header = header.ljust(58, b"\0") + struct.pack("<HHH", 64, len(headers), len(headers) - 1)
    return header + b"".join(texts) + table + b"".join(headers)


def main(folders):
    """The exit code and what is written."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = early.main([str(folder) for folder in folders])
    return code, out.getvalue() + err.getvalue()


class Folders(unittest.TestCase):
    def run_on(self, kernels, **of_file):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "k.bin").write_bytes(b"binary\nkey\n" + elf(kernels, **of_file))
            return main([folder])

    def test_a_kernel_is_named_with_its_places(self):
        code, text = self.run_on({"right": [load(0), FENCE, arrive()], "wrong": [load(0), arrive()]})
        self.assertEqual(code, 1)
        self.assertIn("k.bin: wrong: the arrival at 0x10 does not wait for 1 loads before it, the last at 0x0",
                      text)
        self.assertIn("2 kernels, 1 arrivals", text)

    def test_right_kernels_are_counted(self):
        self.assertEqual(self.run_on({"right": [load(0), FENCE, arrive()]}),
                         (0, "1 kernels, 0 arrivals that overtake loads\n"))

    def test_one_load_of_what_threads_alone_write_is_known(self):
        self.assertEqual(self.run_on({"flash_sm90": [load(0), arrive()]})[0], 0)
        self.assertEqual(self.run_on({"flash_sm90": [load(0), load(1), arrive()]})[0], 1)

    def test_a_folder_without_kernels_is_an_error(self):
        for version in (7, 8):
            code, text = self.run_on({"old": [load(0), arrive()]}, capability=80, version=version)
            self.assertEqual(code, 2)
            self.assertIn("no kernel for sm_90", text)

    def test_files_of_earlier_compilers_are_read_too(self):
        self.assertEqual(self.run_on({"wrong": [load(0), arrive()]}, version=7)[0], 1)

    def test_also_beside_one_that_has_some(self):
        with tempfile.TemporaryDirectory() as folder:
            full, empty = pathlib.Path(folder) / "full", pathlib.Path(folder) / "empty"
            full.mkdir()
            empty.mkdir()
            (full / "k.cubin").write_bytes(elf({"right": [FENCE]}))
            self.assertEqual(main([full])[0], 0)
            code, text = main([full, empty])
            self.assertEqual(code, 2)
            self.assertIn(f"no kernel for sm_90 in {empty}", text)

    def test_what_nvcc_keeps_is_found_below_a_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            kept = pathlib.Path(folder) / "softmax" / "kept"
            kept.mkdir(parents=True)
            wrong = elf({"wrong": [load(0), arrive()]})
            (kept / "k.cubin").write_bytes(wrong)
            (kept / "old.cubin").write_bytes(elf({"wrong": [load(0), arrive()]}, capability=80))
            (kept / "k.ptx").write_bytes(wrong)
            code, text = main([folder])
        self.assertEqual(code, 1)
        self.assertIn("k.cubin: wrong: the arrival at 0x10", text)
        self.assertIn("1 kernels, 1 arrivals", text)


if __name__ == "__main__":
    unittest.main()
