"""Reads hostile_safetensors.tsv: the files that its rows describe."""

import re


def expand(text):
    """\\xNN is a byte, \\\\ a backslash, <100*x> is 100 times x."""

    def replaced(match):
        word = match.group(0)
        if word == b"\\\\":
            return b"\\"
        if word.startswith(b"\\x"):
            return bytes([int(word[2:], 16)])
        times, part = word[1:-1].split(b"*", 1)
        return part * int(times)

    return re.sub(rb"\\\\|\\x[0-9a-f]{2}|<[0-9]+\*[^>]*>", replaced, text.encode())


def content(length, data, header):
    text = expand(header)
    prefix = b"" if length == "none" else (len(text) if length == "=" else int(length)).to_bytes(8, "little")
    return prefix + text + bytes(int(data))


def rows(path):
    return [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
