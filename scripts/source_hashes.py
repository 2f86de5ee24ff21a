"""The hash of a candidate's code, as the program computes it (harness/backends/sources), and as it
was computed when it still followed paths. For scripts that read other commits than the program's."""

import bisect
import functools
import posixpath
import re

RAW = re.compile(r'(?:u8|[LuU])?R"')
TOKEN = re.compile(
    r"""(?P<blank>[ \t\r\v\f]+|//[^\n]*|/\*.*?(?:\*/|\Z))
      |(?P<newline>\n)
      |(?P<number>\.?[0-9](?:(?<=[eEpP])[+-]|'(?=[0-9A-Za-z_$\x80-\xff])|[0-9A-Za-z_$\x80-\xff.])*)
      |(?P<prefixed>(?:u8|[LuU])(?:"(?:\\[^\n]|[^"\\\n])*"|'(?:\\[^\n]|[^'\\\n])*'))
      |(?P<name>[A-Za-z_$\x80-\xff][0-9A-Za-z_$\x80-\xff]*)
      |"(?P<literal>(?:\\[^\n]|[^"\\\n])*)"
      |(?P<character>'(?:\\[^\n]|[^'\\\n])*')
      |(?P<operator><<<|<<=|<=>|->\*|\.\.\.|::|->|\.\*|\+\+|--|<<|[<>=!+*/%&|^-]=|&&|\|\||\#\#|.)
    """, re.VERBOSE | re.DOTALL)
DIRECTIVE = re.compile(r"(?P<gap>(?:[ \t\r\v\f]|//[^\n]*|/\*.*?(?:\*/|\Z))*)"
                       r"(?P<word>[0-9A-Za-z_$\x80-\xff]*)", re.DOTALL)
REST_OF_LINE = re.compile(r"(?:/\*.*?(?:\*/|\Z)|//[^\n]*|[^\n])*", re.DOTALL)


class Joined:
    """A text whose continued lines are joined, and where its characters stood before."""

    def __init__(self, original):
        self.original = original
        pieces, self.starts, self.froms, length, at = [], [0], [0], 0, 0
        for found in re.finditer(r"(?:\\\r?\n)+", original):
            pieces.append(original[at:found.start()])
            length += found.start() - at
            at = found.end()
            self.starts.append(length)
            self.froms.append(at)
        pieces.append(original[at:])
        self.text = "".join(pieces)

    def before(self, at):
        piece = bisect.bisect_right(self.starts, at) - 1
        return self.froms[piece] + at - self.starts[piece]

    def after(self, original_at):
        piece = bisect.bisect_right(self.froms, original_at) - 1
        return self.starts[piece] + original_at - self.froms[piece]


def raw_literal_end(joined, quote):
    """Where a raw literal ends whose opening quote stands at `quote`; None where it does not."""
    original, at = joined.original, joined.before(quote)
    opened = original.find("(", at)
    if opened < 0 or opened - at > 17:
        return None
    end = ")" + original[at + 1:opened] + '"'
    closed = original.find(end, opened)
    return None if closed < 0 else closed + len(end)


def code_tokens(source):
    """[(kind, text)] of a source given as bytes: kind "code", "literal" or "line_end"."""
    joined = Joined(source.decode("latin-1"))
    text, at, tokens = joined.text, 0, []
    line_is_empty, in_directive = True, False

    def end_line():
        if tokens and tokens[-1][0] != "line_end":
            tokens.append(("line_end", ""))

    while at < len(text):
        found = TOKEN.match(text, at)
        kind = found.lastgroup
        if kind == "newline":
            if in_directive:
                end_line()
            line_is_empty, in_directive = True, False
        elif kind == "blank":
            pass
        elif line_is_empty and text[at] == "#":
            at, in_directive = read_directive(text, at, tokens, end_line)
            line_is_empty = False
            continue
        else:
            line_is_empty = False
            raw = RAW.match(text, at)
            end = raw_literal_end(joined, raw.end() - 1) if raw else None
            if end is not None:
                start = joined.before(raw.end() - 1)
                tokens.append(("code", raw.group()[:-1] + joined.original[start:end]))
                at = joined.after(end)
                continue
            tokens.append(("literal", found["literal"]) if kind == "literal" else
                          ("code", found.group()))
        at = found.end()
    end_line()
    return tokens


def read_directive(text, at, tokens, end_line):
    """Reads a preprocessor line's beginning; (where the rest begins, whether the line counts)."""
    found = DIRECTIVE.match(text, at + 1)
    word, at = found["word"], found.end()
    if word == "include":
        gap = DIRECTIVE.match(text, at)
        at = gap.end("gap")
        if text.startswith('"', at):
            return REST_OF_LINE.match(text, at).end(), False
    end_line()
    tokens.append(("code", "#" + word))
    if word == "include" and text.startswith("<", at):
        header = re.compile(r"[^>\n]*>?").match(text, at)
        tokens.append(("code", header.group()))
        return header.end(), True
    if word == "define":
        macro = DIRECTIVE.match(text, at)
        at = macro.end()
        bracket = "(" if text.startswith("(", at) else ""
        tokens.append(("code", macro["word"] + bracket))
        return at + len(bracket), True
    return at, True


def hash_bytes(data, state=0xcbf29ce484222325):
    """FNV-1a, 64 bits."""
    for byte in data:
        state = (state ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return state


tokens_of = functools.lru_cache(maxsize=None)(code_tokens)


@functools.lru_cache(maxsize=None)
def code_hash(source, names):
    """The hash of a source's code; `names` is a tuple of (literal, what stands for it)."""
    stand_in = dict(names)
    parts = []
    for kind, text in tokens_of(source):
        if kind == "literal":
            text = stand_in.get(text, f'"{text}"')
        parts.append(text + ("\n" if kind == "line_end" else " "))
    return f"{hash_bytes(''.join(parts).encode('latin-1')):016x}"


QUOTED_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]*)"', re.MULTILINE)


class Store:
    """The sources of a tree as the program embeds them: path below kernels/, or from the root."""

    def __init__(self, sources):
        self.sources = sources
        self.folders = {path[:end + 1] for path in sources
                        for end in range(len(path)) if path[end] == "/"}

    def resolve(self, includer, written):
        candidates = [posixpath.join(posixpath.dirname(includer), written), written]
        if written.startswith("kernels/"):
            candidates.append(written[len("kernels/"):])
        for candidate in map(posixpath.normpath, candidates):
            if candidate in self.sources:
                return candidate
        return None

    def closure(self, paths):
        """Everything that the paths include, sorted. KeyError for a path that is not there."""
        seen, pending = set(paths), list(paths)
        while pending:
            path = pending.pop()
            for written in QUOTED_INCLUDE.findall(self.sources[path]):
                included = self.resolve(path, written.decode("latin-1"))
                if included is not None and included not in seen:
                    seen.add(included)
                    pending.append(included)
        return sorted(seen)

    def literals(self, path):
        return {text for kind, text in tokens_of(self.sources[path]) if kind == "literal"}

    def names(self, path, closure=()):
        """What stands for those of a source's literals that name sources."""
        named = {}
        for literal in self.literals(path):
            if literal in closure:
                named[literal] = f"<source {self.of_source(literal)}>"
            elif literal in self.sources or literal in self.folders:
                named[literal] = "<source>"
        return tuple(sorted(named.items()))

    def of_source(self, path):
        return code_hash(self.sources[path], self.names(path))

    def source_hash(self, paths):
        """The hash of a variant that lists these sources."""
        closure = self.closure(paths)
        hashes = sorted(code_hash(self.sources[path], self.names(path, closure))
                        for path in closure)
        return f"{hash_bytes(''.join(hashes).encode()):016x}"

    def hash_of_paths(self, paths):
        """What source_hash() was when it followed paths and bytes."""
        data = b"gla-bench sources"
        for path in self.closure(paths):
            for part in (path.encode(), self.sources[path]):
                data += str(len(part)).encode() + b":" + part
        return f"{hash_bytes(data):016x}"
