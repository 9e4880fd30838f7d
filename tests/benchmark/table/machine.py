"""Describes the machine for the table: processor, cores, instruction sets, memory, load, versions."""

import os
import pathlib
import platform
import subprocess

# The processor flags that matter to matrix products.
INSTRUCTIONS = ("avx2", "fma", "avx512f", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_bf16")


def processor():
    """Name and flags, from the system."""
    fields = {}
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            key, _, value = line.partition(":")
            fields.setdefault(key.strip(), value.strip())
    except OSError:
        pass
    return fields.get("model name", platform.processor() or platform.machine()), fields.get("flags", "").split()


def cores():
    return len(os.sched_getaffinity(0))


def load():
    return [round(value, 2) for value in os.getloadavg()]


def commit(root):
    done = subprocess.run(["git", "-C", str(root), "describe", "--always", "--dirty"], capture_output=True, text=True)
    return done.stdout.strip() or "not under git"


def describe(root, build):
    name, flags = processor()
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "processor": name, "cores": cores(), "instructions": [flag for flag in INSTRUCTIONS if flag in flags], "memory_bytes": memory,
        "system": f"{platform.system()} {platform.release()}", "npar": commit(root), "build": str(build), "load_at_start": load(),
    }  # fmt: skip
