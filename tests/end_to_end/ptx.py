"""The GPU texts inside compiled programs, and the results of NVIDIA's assembler for them, if the CUDA toolkit is installed."""

import os
import re
import shutil
import subprocess
from typing import NamedTuple

PTXAS = shutil.which("ptxas", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/cuda/bin"]))
REPORT = re.compile(r"Function properties for (\w+)\n +(\d+) bytes stack frame, (\d+) bytes spill stores.*\n.*?Used (\d+) registers(?:.*?(\d+) bytes smem)?")


class Assembled(NamedTuple):
    """Of one kernel; bytes of a thread's stack, of registers that do not fit in, of a block's shared memory."""

    registers: int
    frame: int
    spilled: int
    shared: int


def texts(program):
    """The objects for GPUs inside a program, by architecture: byte vectors, each after its length."""
    data = program.read_bytes()
    found = {}
    for match in re.finditer(rb"// npar kernels (sm_\d+)\n", data):
        length = int.from_bytes(data[match.start() - 4 : match.start()], "little")
        found[match.group(1).decode()] = data[match.start() : match.start() + length].decode()
    return found


def assemble(text, architecture, folder):
    """Assembler figures by kernel name. Raises the assembler's errors if it refuses the text."""
    source = folder / f"{architecture}.ptx"
    source.write_text(text)
    command = [PTXAS, "-v", f"-arch={architecture}", source, "-o", folder / "cubin"]
    done = subprocess.run(command, stderr=subprocess.STDOUT, stdout=subprocess.PIPE, text=True, timeout=600)
    if done.returncode:
        raise RuntimeError(done.stdout[-3000:])
    return {name: Assembled(int(registers), int(frame), int(spilled), int(shared or 0)) for name, frame, spilled, registers, shared in REPORT.findall(done.stdout)}
