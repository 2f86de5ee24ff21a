"""`python -m gla_bench._describe file.py:name` prints the manifest of a function, as JSON.

Its exit code is 1 where the function has none. The reason is then what it prints.
"""

import os
import sys

from gla_bench._functions import manifest_of, raised


def _main() -> int:
    # Whatever the module prints while it is imported is no part of the answer.
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    code = 0
    try:
        text = manifest_of(sys.argv[1])
    except Exception as error:  # whatever the module's own code raises
        text, code = raised(error), 1
    with answer:
        print(text, file=answer)
    return code


if __name__ == "__main__":
    sys.exit(_main())
