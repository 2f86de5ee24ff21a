"""What the program's exit codes mean to Python."""


class GlaBenchError(RuntimeError):
    """The program ended in a way that gives no results.

    Attributes:
        code: its exit code.
        log: what it wrote to standard error.
    """

    def __init__(self, message: str, code: int, log: str) -> None:
        super().__init__(message)
        self.code = code
        self.log = log


class InputError(GlaBenchError):
    """A config, manifest or results file is not what it has to be (exit code 2).

    The message names the file, the JSON pointer, what stood there, and what was expected.
    """


class MachineError(GlaBenchError):
    """The machine failed, such as a full disk (exit code 5)."""
