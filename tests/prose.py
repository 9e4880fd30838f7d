#!/usr/bin/env python3
"""Finds habits of English that make a reader read twice, in pages, messages and comments.

    tests/prose.py                 the number of places for each kind of text
    tests/prose.py --list [PATH ...]   each place as FILE:LINE: KIND: habit: text

A place is a reason to read the sentence again, not a verdict. tests/end_to_end/test_texts.py records the numbers, which may only fall.
"""

import argparse
import collections
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent

# A habit, and what says the same in fewer turns.
HABITS = {
    "'is of': say has, belongs to, contains or applies to": r"\b(?:is|are|was|were) of (?!course\b|the same\b|this kind\b|(?:type|length|size|shape|rank|interest)\b)",
    "'so many': say N, at most, this many": r"\bso (?:many|much|long|far as)\b(?! that\b| as\b)",
    "'go on': say continue": r"\bgo(?:es|ing|ne)? on\b|\bwent on\b",
    "'stand': say is, appears, follows": r"\bst(?:ands?|ood)\b(?!-in)(?! (?:for|in for|out|alone|by|up)\b)",
    "'lie': say is stored, is within": r"\bl(?:ies?|ay)\b(?! (?:on|in) (?:one|the) line)",
    "'beside': say next to, compared with, in addition to": r"\bbeside\b",
    "'anew': say again, from scratch": r"\banew\b",
    "a clause with 'what' as the subject: name the thing": r"""(?:^|[.:;|*/>] |")\s*What (?!(?:is|are|does|do|can|a|the)\b|npar|you)[a-z]""",
    "a person for a thing: name the thing": r"\b(?:(?:who|no|some|every)(?:ever|body)|who (?:needs|needed|wants|posts|reads|writes|asks|is not there))\b",
    "'may be' for 'can be'": r"\bmay be (?:said|named|of|left out)\b",
    "'is said': say is printed, is given, states": r"\b(?:is|are|was|were|be) said\b|\bsays? (?:so|it|how|which|where|what)\b|\bsaid so\b",
    "'comes behind': say follows, precedes": r"\bc(?:ame|omes?) (?:behind|before|after) (?:it|them|that|which)\b",
    "'behind': say after": r"\bbehind (?:it|them|its|each|which)\b|\bstands? behind\b",
    "'but for': say except": r"\bbut for\b|\ball (?:[a-z]+ )?but (?:the|a|one|for)\b",
    "'is looked at': say is checked, is read": r"\b(?:is|are|be|was) looked at\b",
    "'made of': say built from, computed from": r"\bmakes? of (?:it|them|that|which)\b|\bwhat (?:[a-z]+ ){1,3}made of\b",
    "a comment without a verb: name what it is": r"^\s*(?:///?|#|//!) (?:Of|By|In|With|Without|For|To|At|On|From|As|Where|Whose|How|Whether|What|Which|When|Until|Between|Per) [^.]*\.?\s*$",
    "'where there is': say if it has": r"\bwhere there (?:is|are)\b|\bif there (?:is|are) (?:one|none)\b",
    "'that of' as a subject: name it": r"(?:^|[.:;(|*] )(?:[Tt]hose|That|[Tt]he ones?) of (?=[a-z`])",
    "old words": r"\b(?:henceforth|thereof|whereof|[wt]herein|thence|lest|alike|likewise|however (?:that|it) comes|comes to nothing|has nothing to do but)\b",
}
PATTERNS = {habit: re.compile(pattern) for habit, pattern in HABITS.items()}
PAGES = {".md", ".txt"}
SOURCES = {".h", ".cpp", ".td", ".inc", ".fbs", ".npar", ".py", ".cmake", ".sh", ".g4"}
COMMENT = re.compile(r"(?:^|\s)(///?!?<?|#(?!include|define|pragma|if|else|end))\s(.*)$")
LITERAL = re.compile(r'"((?:[^"\\]|\\.){12,})"')


def texts(path, line):
    """What a person reads of a line: pairs of the kind of text and the text."""
    if path.suffix in PAGES:
        return [("comment" if path.name == "CMakeLists.txt" else "page", line)]
    # What a .td file describes is documentation of the compiler's own.
    found = [("comment" if path.suffix == ".td" else "message", literal) for literal in LITERAL.findall(line) if " " in literal]
    comment = COMMENT.search(line)
    return found + ([("comment", f"{comment[1]} {comment[2]}")] if comment else [])


def places(paths=()):
    """Yields (file, line, kind, habit, text). A message in a test counts as a comment: no user reads it."""
    listed = subprocess.run(["git", "ls-files", "--", *(map(str, paths) or ["."])], cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True).stdout
    for name in listed.splitlines():
        path = pathlib.Path(name)
        if path.suffix not in PAGES | SOURCES and not (path.parts[0] == "tools" and not path.suffix) or name == "tests/prose.py":
            continue
        try:
            lines = (ROOT / path).read_text().splitlines()
        except (OSError, UnicodeDecodeError):
            continue
        fenced = False
        for number, line in enumerate(lines, 1):
            if path.suffix == ".md" and line.lstrip().startswith("```"):
                fenced = not fenced
            if fenced:
                continue
            for kind, text in texts(path, line):
                for habit, pattern in PATTERNS.items():
                    if pattern.search(text):
                        yield name, number, "comment" if path.parts[0] == "tests" and kind == "message" else kind, habit, text.strip()


def counts():
    return collections.Counter(kind for _, _, kind, _, _ in places())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("paths", nargs="*")
    given = parser.parse_args()
    if given.list:
        for name, number, kind, habit, text in places(given.paths):
            print(f"{name}:{number}: {kind}: {habit}: {text[:160]}")
    else:
        for kind, number in sorted(counts().items()):
            print(f"{number:6} {kind}")


if __name__ == "__main__":
    main()
