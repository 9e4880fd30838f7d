#!/usr/bin/env python3
"""Writes the last column of hostile_safetensors.tsv anew: what the Python package `safetensors` says to each file.

Needs that package, and is run by hand: tests/engine/safetensors/record_safetensors.py. It ends with where the two disagree.
"""

import pathlib

import safetensors
from hostile_files import content

TABLE = pathlib.Path(__file__).with_name("hostile_safetensors.tsv")


def verdict(file):
    try:
        safetensors.deserialize(file)
        return "accepted"
    except safetensors.SafetensorError as error:
        return str(error).replace("\t", " ").replace("\n", " ")[:200]


def main():
    lines, rows = [], []
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            columns = line.split("\t")
            columns[5] = verdict(content(*columns[1:4]))
            rows.append(columns)
            line = "\t".join(columns)
        lines.append(line)
    TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    accepted = [(row[4] == "accepted", row[5] == "accepted") for row in rows]
    print(f"safetensors {safetensors.__version__}: {len(rows)} files, both refuse {accepted.count((False, False))}, both accept {accepted.count((True, True))}")
    for title, pair in (("npar alone accepts", (True, False)), ("npar alone refuses", (False, True))):
        for row, each in zip(rows, accepted):
            if each == pair:
                print(f"  {title}: {row[0]}: {row[5] if pair[0] else row[4]}")


if __name__ == "__main__":
    main()
