#!/usr/bin/env python3
"""What `npar plan` finds for the model, batch and machines of each published run, beside what is predicted for the published plan.

The published plan's seconds are those of step_times.py, under its assumptions. The search has the same model, batch and element types, and chooses
everything else; it may take only what npar's compiled programs do: no update that is undone afterwards, no gathers beside the next step. Where the
published plan needs those, `alone` is its prediction without them. Without arguments: all rows, about half an hour; else the numbers of rows.
"""

import json
import re
import subprocess
import sys

import step_times

DEVICES = 8  # of a host, on all of these machines


def planned(row):
    """The best plan for the row's model on its machines: seconds, its name."""
    text, constants, _ = step_times.settings(row)
    types = re.search(r"\bcompute (\w+)(?:, gradients (\w+))?", text)
    hosts = -(-int(row["gpus"]) // DEVICES)
    command = [step_times.NPAR, "plan", "gpt2", "--machine", step_times.source(row)[1], "--hosts", str(hosts), "--json",
               "--batch", row["global_batch_sequences"], "--set", f"compute={types[1]}"]
    command += ["--set", f"gradients={types[2]}"] if types[2] else []
    for key, value in constants.items():
        command += ["--set", f"{key}={value}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=580)
    if done.returncode:
        raise RuntimeError(f"row {row['row']}: {' '.join(map(str, command))}\n{done.stderr}")
    return json.loads(done.stdout)


def name_of(choices):
    mesh = " ".join(f"{axis} {choices['mesh.' + axis]}" for axis in ("tp", "pp", "cp", "dp") if choices["mesh." + axis] != "1" or axis != "cp")
    schedule = choices["schedule"] + (f"({choices['chunks']})" if choices["schedule"] == "interleaved" else "")
    schedule += f" live {choices['live']}" if choices["live"] != "none" else ""
    words = [f"micro-batches of {choices['micro']}"] + [schedule] * (choices["mesh.pp"] != "1")
    words += ["sequence"] * (choices["sequence"] == "true") + [f"ZeRO-{choices['zero']}"] * (choices["zero"] != "0")
    words += [f"recompute {choices['recompute']}"] * (choices["recompute"] != "none")
    return mesh + "; " + ", ".join(words)


def main(words):
    chosen = [(number, row) for number, row in enumerate(step_times.rows()) if not words or str(number) in words]
    searches = {}
    slower = 0
    print("| run | published plan s | alone s | fits | best plan s | x | best plan |\n|---|---|---|---|---|---|---|", flush=True)
    for number, row in chosen:
        name = step_times.source(row)[0]
        published, alone = step_times.predict(row), step_times.predict(row, alone=True)
        text, constants, _ = step_times.settings(row)
        types = re.search(r"\bcompute .*", text)[0]
        key = json.dumps([name, row["gpus"], row["global_batch_sequences"], types, constants])
        if key not in searches:
            searches[key] = planned(row)
        best = searches[key]["best"]
        ratio = published["seconds_per_step"] / best["seconds_per_step"]
        slower += ratio < 1
        mesh = f"tp {row['tp']} pp {row['pp']} dp {row['dp']}"
        print(f"| {name} {row['row']}, {row['model']}, {mesh} | {published['seconds_per_step']:.3f} | {alone['seconds_per_step']:.3f} "
              f"| {'yes' if alone['fits'] else 'no'} | {best['seconds_per_step']:.3f} | {ratio:.2f} | {name_of(best['choices'])} |", flush=True)
    print(f"\n{len(chosen) - slower} of {len(chosen)} at least as fast as the published plan")


if __name__ == "__main__":
    main(sys.argv[1:])
