"""Every pass and every diagnostic has a lit test: each text that dsl/ and compiler/ can report is found in what a lit test expects.

The texts are read from the sources: the string literals of every call that reports (`reporter.fail`, `emitOpError`, ...), in their order.
A text is tested when one line that a lit test expects (`expected-error`, `CHECK`, `#>` of a wrong text) has all of them in that order;
of `c ? "a" : "b"` within a text one alternative is enough, and equal words in two places count once. What only a bug of npar's own, or of
its libraries, can reach is in INTERNAL.
"""

import re
import unittest

from driver import ROOT

# What no text can reach -> why. The user sees `internal error: ...`. An entry that is in no source any more, or that a lit test does
# expect, has to go.
LIBRARY = "LLVM or lld would have to fail on code that was verified"
LOOPS = "the loops are the code generator's own; all kernels of the standard library's models go through it in tests/end_to_end/test_gpu.py"
SCHEDULES = "the schedules are npar's own, and right: tests/compiler/schedules shows that the check finds wrong ones"
INTERNAL = {
    "something else": "ANTLR always names what it expected; the word stands for an empty list",
    "internal error: unknown operation ' ... '": "the front end makes only operations that nn has; tests/compiler/import hands over another one",
    "schedule ' ... ', stage  ... : ": SCHEDULES,
    "needs at least one stage and one micro-batch, not  ...  and ": "plans and flags are checked before; tests/compiler/schedules asks for it",
    "a part of the chain is on stage  ... : there are ": SCHEDULES,
    "holds  ... part ...  of the chain, not ": SCHEDULES,
    "' ... . ... ' is for no chunk: there are  ... , counted from 0": SCHEDULES,
    " is for no micro-batch: there are  ... , counted from 0": SCHEDULES,
    " comes after  ... : gradients must accumulate in ascending order of micro-batches": SCHEDULES,
    "internal error: no operation makes ' ... '": "nodeKinds lists what the operations of the language make",
    "internal error: operation ' ... ' needs its attribute ' ... '": "operations add what their table lists; tests/compiler/import hands over others",
    "internal error: operation ' ... ' has attributes that no table lists": "operations add what their table lists; tests/compiler/import hands over others",
    "internal error: result  ...  lacks the loop ' ... ' and the op does not define what joins its parts":
        "every op defines it; one in tests/compiler/dialects/nn does not",
    "internal error: input ' ... ' is of  ... , which programs do not have": "the language has no input of another type",
    "internal error: input ' ... ' has the role ' ... ', which there is not": "prepare-inputs writes words of the table that is read here",
    "internal error: the data block ' ... ' has a word that no program has": "import writes the words that are read here",
    "internal error: the program has no result ' ... '": "import names the results that it and autodiff-forward leave",
    "internal error: ' ... ' is no kind of measure": "import writes the words that are read here",
    "internal error: a checkpoint rule of unknown kind ' ... '": "import writes the four kinds that are read here",
    "has rows in pieces for other ranks than the plan's": "place-spread-rows makes as many pieces as the rule has ranks, and placing follows the rule",
    "has a result in an order that no product writes": "the language and the gradient make results in the order of rows, then columns",
    "internal error: a GPU has no function of the C library": "the formula of each op only calls functions that loops/Math.cpp turns into arithmetic",
    "internal error: kernel does not lower to the LLVM dialect": LIBRARY,
    "internal error: kernel does not translate to LLVM IR": LIBRARY,
    "internal error: no code generator for ' ... '": LIBRARY,
    "internal error: no object file can be written for ' ... '": LIBRARY,
    "internal error: kernels do not link: ": LIBRARY,
    "internal error: no PTX can be written for ' ... '": LIBRARY,
    "internal error: a vector of unequal constants cannot be distributed over threads": LOOPS,
    "internal error: no exchange between threads does this": LOOPS,
    "internal error: vectors of  ...  lanes do not fit a warp": LOOPS,
    "internal error: the compiler failed without a message": "a pass that fails says why",
    "internal error: formatting would change more than white space": "the formatter reads its result again; tests/dsl/FormatTest has 2,000 texts",
    "internal error: a layout has a mesh axis twice, ' ... ' in ": "the parser of layouts refuses it before",
}

# Functions that hand on a text which they were given; who gives it is found by name.
REPORT_SECOND = {"error", "fail", "abort", "warning", "note", "help"}  # (location, text, ...) after `.`
REPORT_STREAM = {"emitError", "emitOpError", "emitWarning", "emitRemark", "attachNote", "refuse"}  # (...) << text << ...
LISTS = {"errors", "helps"}  # `helps.push_back(text)`
VARIABLES = {"message", "error"}  # `error = text`, `message += text`

TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|(?P<raw>R"\((?P<rawtext>.*?)\)")|(?P<text>"(?:\\.|[^"\\\n])*")|(?P<char>'(?:\\.|[^'\\\n])+')"""
    r"""|(?P<word>[A-Za-z_]\w*)|\#[^\n]*|\d[\w.']*|(?P<op>::|<<|\+=|==|!=|<=|>=|->|&&|\|\||[^\s\w])""",
    re.DOTALL | re.VERBOSE,
)
ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|.)")
SPELT = {"n": "\n", "t": "\t", "0": "\0"}
OPEN, CLOSE = "([{", ")]}"
TEXT_TYPES = {"string", "Twine", "StringRef"}  # their constructors keep the text that they are given


def unescape(text):
    return ESCAPE.sub(lambda m: SPELT.get(m[1], m[1]) if m[1][0] != "x" else chr(int(m[1][1:], 16)), text)


def tokens_of(source):
    """(kind, text, line) without comments and directives; neighbouring literals are one."""
    result = []
    for match in TOKEN.finditer(source):
        kind = match.lastgroup
        if kind in (None, "rawtext"):
            kind = "raw" if match["raw"] else None
        if kind is None:
            continue
        text = match[0]
        if kind in ("text", "char"):
            text = unescape(text[1:-1])
        elif kind == "raw":
            kind, text = "text", match["rawtext"]
        if kind == "char":
            kind = "text"
        if kind == "text" and result and result[-1][0] == "text" and match[0][0] == '"':
            result[-1] = ("text", result[-1][1] + text, result[-1][2])
        else:
            result.append((kind, text, source.count("\n", 0, match.start()) + 1))
    return result


def closing(tokens, begin):
    """The index of the bracket that closes the one at begin."""
    depth = 0
    for i in range(begin, len(tokens)):
        if tokens[i][0] == "op":
            depth += (tokens[i][1] in OPEN) - (tokens[i][1] in CLOSE)
            if depth == 0:
                return i
    return len(tokens)


def split(tokens, marks):
    """The parts of an expression between marks outside of brackets."""
    parts, i = [[]], 0
    while i < len(tokens):
        kind, text, _ = tokens[i]
        if kind == "op" and text in marks:
            parts.append([])
        elif kind == "op" and text in OPEN:
            end = closing(tokens, i)
            parts[-1] += tokens[i : end + 1]
            i = end
        else:
            parts[-1].append(tokens[i])
        i += 1
    return parts


def pieces(tokens):
    """A regular expression for the literals of an expression, in order; None if it has none."""
    alternatives = split(tokens, "?:")
    if len(alternatives) > 1:
        found = [pieces(part) for part in alternatives[1:]]
        return "(?:" + "|".join(found) + ")" if all(found) else None
    found, i = [], 0
    while i < len(tokens):
        kind, text, _ = tokens[i]
        if kind == "text":
            found += [re.escape(line) for line in text.split("\n") if line.strip()]
        elif kind == "op" and text in OPEN:
            end = closing(tokens, i)
            before = tokens[i - 1] if i else ("op", "", 0)
            if text == "(" and (before[0] != "word" or before[1] in TEXT_TYPES):
                inner = pieces(tokens[i + 1 : end])
                found += [inner] if inner else []
            i = end
        i += 1
    return ".*".join(found) if found else None


def elements(tokens):
    """The texts of an expression: both sides of `?:`, and each member of a list in braces."""
    sides = split(tokens, "?:")
    if len(sides) > 1:
        return [part for side in sides[1:] for part in elements(side)]
    for i, token in enumerate(tokens):
        if token[1] == "{" and all(t[0] == "word" or t[1] in "::<>" for t in tokens[:i]):
            return [part for member in split(tokens[i + 1 : closing(tokens, i)], ",") for part in elements(member)]
    return [tokens]


def statement(tokens, begin):
    """The tokens from begin to the end of the statement or argument that contains it."""
    i = begin
    while i < len(tokens):
        kind, text, _ = tokens[i]
        if kind == "op" and (text in ";,:" or text in CLOSE):
            break
        i = closing(tokens, i) + 1 if kind == "op" and text in OPEN else i + 1
    return tokens[begin:i]


def diagnostics(source):
    """(line, pattern, words) of each text that a source reports."""
    tokens = tokens_of(source)
    streams = {tokens[i + 1][1] for i, t in enumerate(tokens[:-1]) if t[1] == "InFlightDiagnostic" and tokens[i + 1][0] == "word"}
    for i, (kind, text, line) in enumerate(tokens[:-1]):
        if kind != "word":
            continue
        after, before = tokens[i + 1], tokens[i - 1] if i else ("op", ";", 0)
        found = []
        if after[1] == "(" and text in REPORT_SECOND and (before[1] in (".", "->") or text in ("fail", "abort")):
            arguments = split(tokens[i + 2 : closing(tokens, i + 1)], ",")
            found = [part for argument in arguments[1:] for part in elements(argument)]
        elif after[1] == "(" and text in REPORT_STREAM:
            found = [[t for t in statement(tokens, i)[1:]]]
        elif after[1] == "<<" and text in streams:
            found = [statement(tokens, i)]
        elif after[1] == "." and text in LISTS and tokens[i + 2][1] == "push_back":
            found = elements(tokens[i + 4 : closing(tokens, i + 3)])
        elif after[1] in ("=", "+=") and text in VARIABLES:
            found = [statement(tokens, i + 2)]
        for part in found:
            pattern = pieces(part)
            if pattern:
                yield line, pattern, " ... ".join(t[1] for t in part if t[0] == "text")


def expectations():
    """The lines of lit tests that state expectations."""
    lines = []
    for path in sorted((ROOT / "tests").rglob("*")):
        if path.suffix in (".mlir", ".test", ".npar"):
            for line in path.read_text(errors="replace").splitlines():
                if re.search(r"expected-(error|warning|note|remark)|CHECK(?!-NOT)[-A-Z]*:|^#>", line):
                    lines.append(line)
    return "\n".join(lines)


def untested(reports, expected):
    """(line, words) of each reported text that no expected line has."""
    return [(line, words) for line, pattern, words in reports if not re.search(pattern, expected)]


SAMPLE = r"""
void all(Location at, Operation *op) {
  reporter.error(at, "an untested " + name + " of two", {"an untested help"});
  reporter.fail(at, wide ? "untested, wide" : "untested, narrow");
  fail(at, std::string("an untested \"") + (a ? "left" : "right") + " part" /* no text */); // "no text"
  diagnostics.error(at, message).note(at, "an untested note");
  op->emitOpError("an untested ") << count << " of these", failure();
  return good ? success() : emitError(loc, "an untested loc") << both("no text");
  InFlightDiagnostic flight = emitError() << "an untested flight";
  flight << "an untested rest";
  flight.attachNote(loc) << "an untested attached note";
  error = "an untested variable " + text;
}
"""


class DiagnosticsTest(unittest.TestCase):
    def test_every_diagnostic_has_a_lit_test(self):
        expected, missing, count, internal = expectations(), [], 0, set()
        for folder in ("dsl", "compiler"):
            for path in sorted((ROOT / folder).rglob("*.cpp")) + sorted((ROOT / folder).rglob("*.h")):
                reports = list(diagnostics(path.read_text()))
                count += len(reports)
                for line, words in untested(reports, expected):
                    if words in INTERNAL:
                        internal.add(words)
                    else:
                        missing.append(f"{path.relative_to(ROOT)}:{line}: {words}")
        self.assertGreater(count, 400, "the diagnostics are not found in the sources")
        if missing:
            self.fail("no lit test expects:\n" + "\n".join(missing))
        self.assertEqual(set(INTERNAL) - internal, set(), "listed as internal, but tested or in no source")

    def test_every_error_of_a_wrong_text_has_a_code(self):
        codes, without = set(), []
        for path in sorted((ROOT / "tests/dsl/wrong").glob("*.npar")):
            for line in re.findall(r"^#> (.*\berror: .*)", path.read_text(errors="replace"), flags=re.M):
                found = re.search(r" \[([A-Z]\d+)\]$", line)
                codes.add(found[1]) if found else without.append(f"{path.name}: {line}")
        self.assertEqual(without, [])
        self.assertNotIn("I1", codes, "an error of a text is blamed on npar")
        self.assertGreater(len(codes), 50)

    def test_errors_of_passes_that_advise_the_user_have_a_code(self):
        """Without one an error counts as npar's own (I1)."""
        count = 0
        for path in sorted((ROOT / "compiler/passes").rglob("*.cpp")):
            source = path.read_text()
            if '"help: ' not in source:
                continue
            for statement in re.findall(r"InFlightDiagnostic error =[^;]*;", source):
                count += 1
                self.assertRegex(statement, r"dsl::Code::|refused\(", f"{path}: give the error the code of its page")
        self.assertGreater(count, 20)

    def test_untested_diagnostics_are_found(self):
        """Each form of a report in a source without tests; a test of one of its words is not one of all."""
        found = [line for line, _ in untested(diagnostics(SAMPLE), "CHECK: an untested name\nCHECK: untested")]
        self.assertEqual(found, [3, 3, 4, 4, 5, 6, 7, 8, 9, 10, 11, 12])
        said = "an untested name of two\nan untested help\nan untested \"right part\nan untested 3 of these\n"
        self.assertEqual([line for line, _ in untested(diagnostics(SAMPLE), said)], [4, 4, 6, 8, 9, 10, 11, 12])

    def test_every_pass_has_a_lit_test(self):
        passes = {name for path in (ROOT / "compiler").rglob("*.td") for name in re.findall(r'\bPass<"([a-z-]+)"', path.read_text())}
        run = " ".join(line for path in (ROOT / "tests").rglob("*.mlir") for line in path.read_text().splitlines() if "RUN:" in line)
        self.assertGreater(len(passes), 10, "the passes are not found in the sources")
        self.assertEqual({name for name in passes if not re.search(rf"-{name}\b(?!-)", run)}, set())

    def test_wrong_texts_are_many(self):
        self.assertGreaterEqual(len(list((ROOT / "tests/dsl/wrong").glob("*.npar"))), 100)


if __name__ == "__main__":
    unittest.main()
