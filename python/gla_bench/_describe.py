"""`python -m gla_bench._describe file.py:name` prints the manifest of a function, as JSON."""

import sys

from gla_bench._functions import manifest_of, raised


def _main() -> int:
    try:
        text = manifest_of(sys.argv[1])
    except Exception as error:  # whatever the module's own code raises
        print(f"{sys.argv[1]}: {raised(error)}", file=sys.stderr)
        return 1
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(_main())
