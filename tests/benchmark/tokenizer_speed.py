#!/usr/bin/env python3
"""Megabytes of text per second: `npar tokens` and Python's `tokenizers` or `sentencepiece` on the same text, in turn, on one core each.

npar's time is that of the whole command, reading and writing files included; Python's is that of encode() alone: of its lines one by one, which its
cache of words likes better and which gives other ids, and with --whole of the whole text. The ratio is npar's time divided by Python's faster one;
the aim is a third. Without a text, one of --megabytes is made. Needs: pip install tokenizers sentencepiece
Examples:  tests/benchmark/tokenizer_speed.py FOLDER... --text TEXT
           tests/reference/tokenizer_forms_reference.py --write forms && tests/benchmark/tokenizer_speed.py forms/gpt2 forms/t5 --megabytes 100
"""

import argparse
import itertools
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "reference"))
import tokenizer_reference  # noqa: E402

SYLLABLES = "ba ko ti the er in on st re al qu mi né ло ка で の 한 ab x ing tion 1 23".split()


def made_text(size):
    """Words whose frequencies fall like those of a language, in lines."""
    chance = random.Random(3)
    words = list(dict.fromkeys("".join(chance.choices(SYLLABLES, k=1 + int(chance.random() ** 2 * 5))) for _ in range(60_000)))
    weights = list(itertools.accumulate(1 / (rank + 5) for rank in range(len(words))))
    parts, total = [], 0
    while total < size:
        part = "".join(word + (" " if chance.random() < 0.9 else chance.choice([". ", ", ", "\n", "\n\n", "; ", "! ", "  "]))
                       for word in chance.choices(words, cum_weights=weights, k=20_000))  # fmt: skip
        parts.append(part)
        total += len(part.encode())
    return "".join(parts)


def seconds(work):
    begun = time.monotonic()
    result = work()
    return time.monotonic() - begun, result


def measure(options, folder, text, path):
    encode = tokenizer_reference.encoder_of(folder)
    lines = text.splitlines(keepends=True)
    times = {"npar": [], "python, by lines": [], **({"python, whole": []} if options.whole else {})}
    same = None
    with tempfile.TemporaryDirectory() as place:
        out = pathlib.Path(place) / "ids.i32"
        command = [options.npar, "tokens", folder, "--text", path, "--output", out]
        for _ in range(options.rounds):
            took, _ = seconds(lambda: subprocess.run(command, check=True, stderr=subprocess.DEVNULL))
            times["npar"].append(took)
            took, _ = seconds(lambda: [encode(line) for line in lines])
            times["python, by lines"].append(took)
            if options.whole:
                took, ids = seconds(lambda: encode(text))
                times["python, whole"].append(took)
                same = out.read_bytes() == b"".join(i.to_bytes(4, "little") for i in ids)
    size = len(text.encode()) / 1e6
    median = {name: statistics.median(took) for name, took in times.items()}
    ratio = median["npar"] / min(took for name, took in median.items() if name != "npar")
    rows = ", ".join(f"{name} {size / took:.1f} MB/s" for name, took in median.items())
    print(f"{pathlib.Path(folder).name}: {size:.1f} MB: {rows}; ratio {ratio:.3f}{'' if same is None else ', same ids' if same else ', OTHER IDS'}", flush=True)
    return same is not False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--npar", default="build/bin/npar")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--text")
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("folders", nargs="+")
    options = parser.parse_args()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as place:
        path = pathlib.Path(options.text or pathlib.Path(place) / "made.txt")
        if not options.text:
            path.write_text(made_text(options.megabytes * 1_000_000))
        text = path.read_bytes().decode()
        good = [measure(options, folder, text, path) for folder in options.folders]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
