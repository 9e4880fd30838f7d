#!/usr/bin/env python3
"""Megabytes of text per second: `npar tokens` beside Python's `tokenizers` or `sentencepiece` on the same text, in turn, on one core each.

npar's time is that of the whole command, reading and writing files included; Python's is that of encode() alone: of the whole text, and of its
lines one by one, which its cache of words likes better and which gives other ids. Needs: pip install tokenizers sentencepiece
Example:  tests/benchmark/tokenizer_speed.py --npar build/bin/npar FOLDER TEXT
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "reference"))
import tokenizer_reference  # noqa: E402


def seconds(work):
    begun = time.monotonic()
    result = work()
    return time.monotonic() - begun, result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--npar", default="build/bin/npar")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("folder")
    parser.add_argument("text")
    options = parser.parse_args()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    encode = tokenizer_reference.encoder_of(options.folder)
    data = pathlib.Path(options.text).read_bytes()
    text, lines = data.decode(), data.decode().splitlines(keepends=True)
    times = {"npar": [], "python, whole": [], "python, by lines": []}
    with tempfile.TemporaryDirectory() as place:
        out = pathlib.Path(place) / "ids.i32"
        command = [options.npar, "tokens", options.folder, "--text", options.text, "--output", str(out)]
        for _ in range(options.rounds):
            took, _ = seconds(lambda: subprocess.run(command, check=True, stderr=subprocess.DEVNULL))
            times["npar"].append(took)
            took, ids = seconds(lambda: encode(text))
            times["python, whole"].append(took)
            took, _ = seconds(lambda: [encode(line) for line in lines])
            times["python, by lines"].append(took)
        same = out.read_bytes() == b"".join(i.to_bytes(4, "little") for i in ids)
    print(f"{len(data) / 1e6:.1f} MB, {len(ids)} tokens, {'the same' if same else 'NOT THE SAME'}")
    for name, took in times.items():
        print(f"{name:18} {len(data) / 1e6 / statistics.median(took):8.1f} MB/s")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
