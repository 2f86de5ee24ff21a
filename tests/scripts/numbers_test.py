#!/usr/bin/env python3
"""The tables of the documents write numbers as the program and the page do: numbers_test.py SOURCE"""

import json
import pathlib
import sys
import unittest

SOURCE = pathlib.Path(sys.argv.pop())
sys.path.insert(0, str(SOURCE / "scripts"))

from tables import numbers  # pylint: disable=wrong-import-position

SHOWN = {"ms": numbers.ms, "rate": numbers.rate, "percent": numbers.percent,
         "times": lambda value: numbers.factor(value) + "x", "error": numbers.error,
         "joules": numbers.joules, "bytes": numbers.size}


class Numbers(unittest.TestCase):
    def test_digits_are_those_of_the_program(self):
        table = json.loads((SOURCE / "tests/harness/support/formatted_numbers.json").read_text())
        self.assertGreater(len(table), 100)
        self.assertEqual({kind for kind, _, _ in table}, set(SHOWN))
        for kind, value, text in table:
            self.assertEqual(SHOWN[kind](value), text, f"{kind} of {value!r}")

    def test_a_small_rate_is_not_zero(self):
        self.assertEqual(numbers.rate(0.198), "0.198")
        self.assertEqual(numbers.rate(0.00123), "0.00123")

    def test_what_is_not_known_is_a_dash(self):
        for show in (numbers.ms, numbers.rate, numbers.short, numbers.percent, numbers.factor,
                     numbers.error, numbers.joules, numbers.size):
            self.assertEqual(show(None), "-")


if __name__ == "__main__":
    unittest.main()
