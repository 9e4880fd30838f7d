#!/usr/bin/env python3
"""Writes engine/text/UnicodeSets.inc and UnicodeMappings.inc: what Python's `tokenizers` knows of every code point, found by asking it.

    unicode_tables.py            # needs: pip install tokenizers==0.23.3 regex; and libpcre2 10.42 of Debian 12

The package combines several Unicode versions (VERSIONS), so no library has the same tables. Sets and mappings are therefore measured: each code
point goes through the package's normalizers and pre-tokenizers. Two things cannot be measured directly: combining classes are those of Python's
`unicodedata` for the characters that the package reorders, and grapheme boundaries those of the package `regex`. Both are checked.
"""

import ctypes
import pathlib
import unicodedata

import regex
from tokenizers import Regex, normalizers, pre_tokenizers

OUT = pathlib.Path(__file__).resolve().parents[2] / "engine" / "text"
ALL = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
CATEGORIES = "L Ll Lm Lo Lt Lu M Mc Me N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs".split()  # Mn lost a character: refused
SCRIPTS = "Han Hiragana Katakana Hangul".split()


def chunks(points, size=4000):
    for i in range(0, len(points), size):
        yield points[i : i + size]


def removed(normalizer, points=ALL):
    gone = set()
    for part in chunks(points):
        gone |= set(part) - set(map(ord, normalizer.normalize_str("".join(map(chr, part)))))
    return gone


def mapped(normalizer):
    """code point -> text, where it changes."""
    found = {}
    for part in chunks([c for c in ALL if c]):
        for c, text in zip(part, normalizer.normalize_str("\0".join(map(chr, part))).split("\0"), strict=True):
            if text != chr(c):
                found[c] = text
    return found


def pieces_of(splitter, text):
    return [piece for piece, _ in splitter.pre_tokenize_str(text)]


def alone(splitter):
    """Code points that become a piece between two letters."""
    found = set()
    for part in chunks(ALL):
        found |= {ord(p) for p in pieces_of(splitter, "a" + "".join(chr(c) + "a" for c in part)) if p != "a" and len(p) == 1}
    return found


def words():
    """\\w of the `regex` crate: joins two letters."""
    found = set()
    for part in chunks(ALL):
        found |= {ord(p[1]) for p in pieces_of(pre_tokenizers.Whitespace(), " ".join(f"a{chr(c)}a" for c in part)) if len(p) == 3}
    return found


def spaces():
    found = set()
    for part in chunks(ALL):
        found |= set(part) - set(map(ord, "".join(pieces_of(pre_tokenizers.WhitespaceSplit(), "".join(map(chr, part))))))
    return found


def of_pcre2(pattern):
    """Code points that Debian 12's libpcre2 matches."""
    library = ctypes.CDLL("libpcre2-8.so.0")
    for name in ("pcre2_compile_8", "pcre2_match_data_create_8"):
        getattr(library, name).restype = ctypes.c_void_p
    error, where, text = ctypes.c_int(), ctypes.c_size_t(), pattern.encode()
    utf_ucp = 0x00080000 | 0x00020000
    code = ctypes.c_void_p(library.pcre2_compile_8(text, ctypes.c_size_t(len(text)), ctypes.c_uint32(utf_ucp), ctypes.byref(error), ctypes.byref(where), None))
    data = ctypes.c_void_p(library.pcre2_match_data_create_8(ctypes.c_uint32(4), None))
    library.pcre2_jit_compile_8(code, ctypes.c_uint32(1))
    zero = ctypes.c_size_t(0)
    return {c for c in ALL if library.pcre2_match_8(code, u := chr(c).encode(), ctypes.c_size_t(len(u)), zero, ctypes.c_uint32(0), data, None) >= 0}


def combining_classes(canonical):
    """The classes of `unicodedata`, for characters that the package moves in front of U+0345 (240) or behind U+0334 (1)."""
    classes = {}
    nfd = normalizers.NFD().normalize_str
    for c in ALL:
        known = unicodedata.combining(chr(c))
        if not known or c in canonical:
            continue
        moves = known > 1 and nfd(chr(c) + "\u0334") != chr(c) + "\u0334" or known < 240 and nfd("\u0345" + chr(c)) != "\u0345" + chr(c)
        if moves or c in (0x334, 0x345):
            classes[c] = known
    for c in ALL:  # no character is reordered that has no class here
        assert c in classes or c in canonical or 0xAC00 <= c < 0xD7A4 or nfd(chr(c) + "\u0334") == chr(c) + "\u0334", hex(c)
    return classes


def composed(canonical):
    nfc = normalizers.NFC().normalize_str
    return {c for c, text in canonical.items() if not 0xAC00 <= c < 0xD7A4 and nfc(text) == chr(c) and len(text) > 1}


def graphemes():
    names = ("Control", "Extend", "Prepend", "SpacingMark", "L", "V", "T", "LV", "LVT", "Regional_Indicator")
    found = {name: {c for c in ALL if regex.match(rf"\p{{Grapheme_Cluster_Break={name}}}", chr(c))} for name in names}
    found["Pictographic"] = {c for c in ALL if regex.match(r"\p{Extended_Pictographic}", chr(c))}
    for name in ("Consonant", "Linker"):
        found[name] = {c for c in ALL if regex.match(rf"\p{{Indic_Conjunct_Break={name}}}", chr(c))}
    return found


def ranges(points):
    found = []
    for c in sorted(points):
        if found and c == found[-1][1] + 1:
            found[-1][1] = c
        else:
            found.append([c, c])
    return found


def distances(points):
    """Ranges as distances: from the end of the one before, and to the end."""
    numbers, at = [], 0
    for low, high in ranges(points):
        numbers += [low - at, high - low + 1]
        at = high + 1
    return numbers


def array(name, numbers, what):
    lines, line = [], "  "
    for text in (f"{n}," for n in numbers):
        if len(line) + len(text) > 158:
            lines.append(line)
            line = "  "
        line += text
    return f"// {what}\nconstexpr uint32_t {name}[] = {{\n" + "\n".join([*lines, line]) + "\n};\n"


def mapping(name, table, what):
    """Per entry: the distance from the code point before, the number of characters, and these."""
    numbers, at = [], 0
    for c in sorted(table):
        numbers += [c - at, len(table[c]), *map(ord, table[c])]
        at = c
    return array(name, numbers, what)


def main():
    canonical = {c: text for c, text in mapped(normalizers.NFD()).items() if not 0xAC00 <= c < 0xD7A4}
    compatible = {c: text for c, text in mapped(normalizers.NFKD()).items() if not 0xAC00 <= c < 0xD7A4 and text != canonical.get(c)}
    classes = combining_classes(canonical)
    stable = [c for c in ALL if c not in canonical and not 0xAC00 <= c < 0xD7A4]
    bert = {"handle_chinese_chars": False, "lowercase": False}
    clean = normalizers.BertNormalizer(clean_text=True, strip_accents=False, **bert)
    made = "// Made by tests/reference/unicode_tables.py."
    parts = [f"{made} Sets are ranges: the distance from the end of the one before, and the length."]
    sets = {
        "whiteSpace": spaces(),
        "numeric": alone(pre_tokenizers.Digits(individual_digits=True)),
        "punctuation": punctuation(),
        "word": words(),
        "other": {c for c in removed(clean) - {0, 0xFFFD} if clean.normalize_str(chr(c)) == ""},  # others become a space
        "nonspacingMark": removed(normalizers.BertNormalizer(clean_text=False, strip_accents=True, **bert), stable),
        "combiningMark": removed(normalizers.StripAccents()),
        "recomposed": composed(canonical),
        **{"break" + name.replace("_", ""): points for name, points in graphemes().items()},
        **{"script" + name: removed(normalizers.Replace(Regex(rf"\p{{{name}}}"), "")) for name in SCRIPTS},
    }
    for name, points in sets.items():
        parts.append(array(name + "Table", distances(points) or [0, 0], f"{len(points)} characters."))
    for name in CATEGORIES:
        ours, theirs = removed(normalizers.Replace(Regex(rf"\p{{{name}}}"), "")), of_pcre2(rf"\p{{{name}}}")
        assert not theirs - ours, name
        if ours - theirs:
            parts.append(array(f"added{name}Table", distances(ours - theirs), f"Characters of the category {name} that PCRE2 10.42 does not know."))
    (OUT / "UnicodeSets.inc").write_text("\n".join(parts))
    parts = [f"{made} Distance from the character before, number of characters, these characters."]
    parts.append(mapping("canonicalTable", canonical, "Canonical decompositions, except Hangul's."))
    parts.append(mapping("compatibilityTable", compatible, "Compatibility decompositions that differ."))
    parts.append(mapping("lowercaseTable", mapped(normalizers.Lowercase()), "Lower case."))
    parts.append(array("combiningTable", [n for low, high in ranges(classes) for c in range(low, high + 1) for n in (c, classes[c])], "Characters and their combining classes."))
    (OUT / "UnicodeMappings.inc").write_text("\n".join(parts))


def punctuation():
    gone = set()
    for part in chunks(ALL):
        gone |= set(part) - set(map(ord, "".join(pieces_of(pre_tokenizers.Punctuation("removed"), "".join(map(chr, part))))))
    return gone


if __name__ == "__main__":
    main()
