"""`python -m gla_bench._serve ...`: the program inside this interpreter, to call functions of Python.

The program becomes this where it has such functions to run; nobody else starts it.
"""

import sys


def _main() -> int:
    try:
        from gla_bench import _core
    except ImportError as error:
        print(f"gla-bench: functions of Python need the package's module gla_bench._core: {error}",
              file=sys.stderr)
        return 2
    return _core.main(["gla-bench", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(_main())
