"""Console blocks of the pages: commands that exist, outputs that are those of the program."""

import contextlib
import functools
import os
import re
import shlex
import subprocess
import tempfile
from pathlib import Path

BLOCK = re.compile(r"^```(console(?: run)?|sh)\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
PROGRAM = "gla-bench"
SECONDS = 60
# What a block that is executed may call: nothing that measures or changes the tree.
EXECUTED = {"list", "report", "gate", "compare", "tune", "export", "plan"}
ANY = "..."


def blocks(text):
    """(kind, line number, lines) of each block: kind is "sh", "console" or "console run"."""
    return [(found.group(1), text.count("\n", 0, found.start()) + 1, found.group(2).splitlines())
            for found in BLOCK.finditer(text)]


def commands(kind, lines):
    """The command lines of a block, without prompt and comment; a line's end of "\\" goes on."""
    text = "\n".join(lines).replace("\\\n", " ").splitlines()
    if kind == "sh":
        return [line for line in text if line.strip()]
    return [line[2:] for line in text if line.startswith("$ ")]


@functools.lru_cache(maxsize=None)
def help_of(program, command):
    """A command's help; the program's own where there is no such command."""
    done = subprocess.run([program, command, "--help"], capture_output=True, text=True, check=False,
                          timeout=SECONDS)
    return done.stdout if done.returncode == 0 else ""


def options(program, command):
    """Every option that a command's help names, in the column where options stand."""
    column = re.findall(r"^  (-[-\w,]+)", help_of(program, command), re.MULTILINE)
    return {name for names in column for name in names.split(",")}


def simple_commands(line):
    """The words of each simple command of a shell line; None where the line cannot be read."""
    try:
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        lexer.commenters = ""  # FILE#ROW is a word
        words = list(lexer)
    except ValueError:
        return None
    found = [[]]
    for word in words:
        if word.startswith("#"):
            break
        if set(word) <= set("|&;()") and word:
            found.append([])
        else:
            found[-1].append(word)
    return [part for part in found if part]


def wrong_use(root, program, words):
    """What is wrong with one simple command of the program or of a script of the tree."""
    name = words[0]
    if "/" in name and name.split("/")[0] == "scripts":
        return [] if (root / name).is_file() else [f"{name} is not there"]
    if os.path.basename(name) != PROGRAM or len(words) < 2:
        return []
    command = words[1]
    if command.startswith("-"):
        return []
    if f"Usage: {PROGRAM} {command} " not in help_of(program, command):
        return [f"{PROGRAM} has no command {command}"]
    known = options(program, command)
    complaints = []
    for word in words[2:]:
        option = word.split("=")[0]
        if option.startswith("--benchmark_"):
            continue
        if re.match(r"--?[a-zA-Z]", option) and option not in known:
            complaints.append(f"{PROGRAM} {command} has no option {option}")
        elif word.startswith(("configs/", "results/h200/", "results/tuned/")) and not writes(words, word):
            if not any(root.glob(word.split("#")[0])):
                complaints.append(f"{word} is not there")
    return complaints


def writes(words, word):
    """Whether a word is the file that a command writes."""
    before = words[words.index(word) - 1]
    return before in ("-o", "--output")


def matches(expected, got):
    """Whether the lines that a page shows are those that came: "..." stands for what is left out."""
    patterns = ["(?:.*\n)*" if line.strip() == ANY
                else ".*".join(re.escape(part) for part in line.split(ANY)) + "\n"
                for line in without_end(expected)]
    text = "".join(line + "\n" for line in without_end(got))
    return re.fullmatch("".join(patterns), text) is not None


def without_end(lines):
    """The lines without blanks at their ends, and without the empty ones behind the last."""
    return "\n".join(line.rstrip() for line in lines).rstrip("\n").split("\n")


def steps(lines):
    """(lines of a command, lines of its output) of a block that is executed; a command goes on behind
    a line that ends with a backslash."""
    found = []
    for line in lines:
        if line.startswith("$ "):
            found.append(([line[2:]], []))
        elif found and not found[-1][1] and found[-1][0][-1].endswith("\\"):
            found[-1][0].append(line)
        elif found:
            found[-1][1].append(line)
    return found


@contextlib.contextmanager
def shell(root, program):
    """A function from a command to the lines that it prints, in a folder that looks like the tree's top
    level and in which commands may write."""
    with tempfile.TemporaryDirectory() as folder:
        tree, programs = Path(folder) / "tree", Path(folder) / "bin"
        tree.mkdir()
        programs.mkdir()
        (programs / PROGRAM).symlink_to(program)
        for entry in root.iterdir():
            (tree / entry.name).symlink_to(entry)
        environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}

        def run(command):
            done = subprocess.run(["bash", "-c", command], cwd=tree, text=True, env=environment,
                                  check=False, timeout=SECONDS, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
            return done.stdout.splitlines()

        yield run


def may_run(command):
    parts = simple_commands(command.replace("\\\n", " ")) or []
    return all(part[1] in EXECUTED for part in parts if part[0] == PROGRAM and len(part) > 1)


def wrong_output(run, lines):
    complaints = []
    for command_lines, expected in steps(lines):
        command = "\n".join(command_lines)
        if not may_run(command):
            complaints.append(f"may not be executed here: {command}")
            continue
        got = run(command)
        if not matches(expected, got):
            shown = "\n    ".join(got[:40])
            complaints.append(f"prints something else: {command}\n    {shown}")
    return complaints


def wrong_block(root, program, run, kind, lines):
    """Every complaint about one block; it is executed only where its commands are in order."""
    found = []
    for command in commands(kind, lines):
        parts = simple_commands(command)
        if parts is None:
            found.append(f"cannot be read: {command}")
        for words in parts or []:
            found += wrong_use(root, program, words)
    return wrong_output(run, lines) if kind == "console run" and not found else found


def wrong(root, program, texts):
    """Every complaint about the console blocks of the pages."""
    with shell(root, program) as run:
        return [f"{path}:{number}: {complaint}" for path, text in texts.items()
                for kind, number, lines in blocks(text)
                for complaint in wrong_block(root, program, run, kind, lines)]


def unlisted(program, texts):
    """Commands of the program that the page of commands does not name in a table."""
    page = "docs/commands.md"
    help_text = subprocess.run([program, "--help"], capture_output=True, text=True, check=False,
                               timeout=SECONDS).stdout
    names = re.findall(r"^  (\w+) ", help_text.partition("Subcommands:")[2], re.MULTILINE)
    return [f"{page}: does not name the command {name}" for name in names
            if page in texts and not re.search(rf"^\|.*`{name}\b", texts[page], re.MULTILINE)]


def pieces(expected):
    """The runs of lines between the lines of "...", in order."""
    found = [[]]
    for line in expected:
        if line.strip() == ANY:
            found.append([])
        else:
            found[-1].append(line)
    return found


def renewed_piece(piece, first, last, got):
    """As many lines of the output: its beginning for the first piece, its end for the last, else those
    from where the piece's first line is found. The piece itself where that is nowhere."""
    size = len(piece)
    if first or (last and size):
        return got[:size] if first else got[-size:]
    start = next((i for i, line in enumerate(got) if matches(piece[:1], [line])), None)
    return piece if start is None else got[start:start + size]


def renewed(expected, got):
    """The shown lines with today's output in their place, as much of it as was shown."""
    got = without_end(got)
    if matches(expected, got):
        return expected
    parts = pieces(expected)
    if len(parts) == 1:
        return got
    lines = []
    for number, piece in enumerate(parts):
        lines += renewed_piece(piece, number == 0, number == len(parts) - 1, got) + [ANY]
    return lines[:-1]


def written_block(run, lines):
    """The lines of a block that is executed, with today's outputs."""
    new = []
    for command_lines, expected in steps(lines):
        command = "\n".join(command_lines)
        shown = renewed(expected, run(command)) if may_run(command) else expected
        new += ("$ " + command).splitlines() + shown
    return new


def write(root, program, texts):
    """Writes the outputs of executed blocks anew into the pages."""
    with shell(root, program) as run:
        def block(found):
            if found.group(1) != "console run":
                return found.group(0)
            return "\n".join(["```console run", *written_block(run, found.group(2).splitlines()), "```"])

        for path, text in texts.items():
            new = BLOCK.sub(block, text)
            if new != text:
                (root / path).write_text(new, encoding="utf-8")
