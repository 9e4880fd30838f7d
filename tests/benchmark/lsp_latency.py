#!/usr/bin/env python3
"""Types texts into `npar lsp` character by character, and measures how long its answers take.

    tests/benchmark/lsp_latency.py                          every text of the standard library
    tests/benchmark/lsp_latency.py stdlib/models/gpt2.npar  this text

After each character it waits for the diagnostics of that state, then asks for a hover at the cursor and for completions there. The compiler runs
at the same time, in the server's other thread. `--check`: exit code 1 if more than 5 % of one kind of answer take more than 100 ms.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "end_to_end"))
from lsp_client import Client  # noqa: E402

LIMIT = 0.1  # seconds


def percentile(times, share):
    return sorted(times)[min(len(times) - 1, int(share * len(times)))]


def typed(client, name, text, every, times):
    """Types a text into an empty document."""
    uri = client.open(name, "", wait=False)
    position = [0, 0]
    version = 1
    for number, character in enumerate(text):
        version += 1
        spot = {"line": position[0], "character": position[1]}
        begin = time.perf_counter()
        client.change(uri, [{"range": {"start": spot, "end": spot}, "text": character}], version)
        while client.versions.get(uri) != version:
            client.take(client.messages.get(timeout=client.timeout))
        times["diagnostics"].append(time.perf_counter() - begin)
        position = [position[0] + 1, 0] if character == "\n" else [position[0], position[1] + len(character.encode())]
        if number % every == 0:
            for method in ("hover", "completion"):
                begin = time.perf_counter()
                client.at(method, uri, *position)
                times[method].append(time.perf_counter() - begin)
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", nargs="*", help="paths of texts (default: the standard library)")
    parser.add_argument("--npar", default=str(ROOT / "build" / "bin" / "npar"), help="the program")
    parser.add_argument("--every", type=int, default=1, help="ask for hover and completion after every N-th character")
    parser.add_argument("--check", action="store_true", help="fail if the limit is missed")
    arguments = parser.parse_args()
    texts = [Path(text) for text in arguments.texts] or sorted((ROOT / "stdlib").rglob("*.npar"))
    times = {"diagnostics": [], "hover": [], "completion": []}
    with tempfile.TemporaryDirectory() as folder:
        client = Client(arguments.npar, folder)
        for text in texts:
            typed(client, text.name, text.read_text(), arguments.every, times)
        client.close()
    print(f"{len(texts)} texts, {len(times['diagnostics'])} characters; milliseconds")
    print(f"{'':12} {'answers':>8} {'p50':>7} {'p95':>7} {'p99':>7} {'worst':>7} {'within 100 ms':>14}")
    good = True
    for kind, all_times in times.items():
        within = sum(one <= LIMIT for one in all_times) / len(all_times)
        good &= within >= 0.95
        figures = [1000 * percentile(all_times, share) for share in (0.5, 0.95, 0.99)] + [1000 * max(all_times)]
        print(f"{kind:12} {len(all_times):8} " + " ".join(f"{figure:7.1f}" for figure in figures) + f" {100 * within:12.2f} %")
    return 0 if good or not arguments.check else 1


if __name__ == "__main__":
    sys.exit(main())
