"""Replays the table of hostile and careless uses, `uses/uses.tsv`: each ends with its exit code and its message, and harms no file.

A row is `exit code`, `command`, `message`, separated by tabs. The command has the arguments of `npar` (or, after a `$`, a whole line for
the shell, with the functions of HELPERS). It runs in a fresh folder that holds the files of `uses/` and `foreign/` and those that
`make_files` writes. The message is the first line with an error; without one the first line on standard error; for a failed check the
first line with FAILED. `...` in it matches any text. A code followed by `long` marks a row that takes more than
three seconds, or one whose kind another row shows: it runs with NPAR_LONG=1.

Every row fails for a crash, an internal error, more than 20 seconds, a changed input, a file left behind that it does not name, and --json
without JSON.

    python3 tests/end_to_end/test_uses.py --record [TEXT]     # records the rows whose command contains TEXT again (`?`: new rows)
    python3 tests/end_to_end/test_uses.py --show TEXT         # prints the output of the rows whose command contains TEXT
"""

import array
import concurrent.futures
import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from driver import BUILD, LONG, NPAR, REFERENCE, ROOT, safetensors_file

USES = pathlib.Path(__file__).resolve().parent / "uses"
TABLE = USES / "uses.tsv"
FOREIGN = USES.parent / "foreign"  # runs of other programs
PATIENCE = 20  # seconds that any use may take
AT_ONCE = 2


# For rows: `change FILE SCRIPT ARGUMENTS` runs npar on m.npar, a text edited by sed; `body STATEMENT` verifies body.npar with that statement;
# `copied FOLDER SCRIPT ARGUMENTS` runs npar on x, a copy of the folder that the shell's script changes and that goes afterwards;
# `begun FILE` waits until a run in the background has written something to it.
HELPERS = """change() { sed "$2" "$1" > m.npar; shift 2; npar "$@"; }
body() { sed "s|# BODY|$1|" body.npar > m.npar; npar verify m.npar; }
copied() { cp -r "$1" x; sh -c "$2"; shift 2; npar "$@"; code=$?; rm -r x; return $code; }
begun() { while [ ! -s "$1" ]; do sleep 0.05; done; }
"""

# Schedule files: a good one and what people get wrong.
SCHEDULES = {
    "windows": "0F0,0F1,0B0,0B1\r\n1F0,1B0,1F1,1B1\r\n",
    "spaces": " 0F0 , 0F1, 0B0 ,0B1 \n\n 1F0,1B0,1F1, 1B1\n\n",
    "dead": "0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n",
    "twice": "0F0,0F0,0B0,0B0\n1F0,1B0\n",
    "missing": "0F0,0F1,0B0,0B1\n1F0,1B0\n",
    "backfirst": "0B0,0F0\n1F0,1B0\n",
    "onlyf": "0F0\n1F0\n",
    "wrongrow": "0F0,1F0,1B0,0B0\n",
    "swapped": "1F0,1B0\n0F0,0B0\n",
    "hugenumber": "0F2147483647,0B2147483647\n",
    "overflow": "0F99999999999999999999,0B99999999999999999999\n",
    "negative": "0F-1,0B-1\n",
    "lower": "0f0,0b0\n1f0,1b0\n",
    "header": "stage,action\n0F0,0B0\n",
    "split": "0F0,0I0,0W0\n1F0,1I0,1W0\n",
    "splitmix": "0F0,0B0,0W0\n1F0,1I0,1W0\n",
    "splithalf": "0F0,0I0\n1F0,1I0,1W0\n",
    "early": "0F0,0W0,0I0\n1F0,1I0,1W0\n",
    "ragged": "0F0,,,0B0\n,1F0,1B0,\n",
    "quoted": '"0F0","0B0"\n"1F0","1B0"\n',
    "trailing": "0F0,0B0,\n1F0,1B0,\n",
    "three": "0F0,0B0\n1F0,1B0\n2F0,2B0\n",
    "rendezvous": "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n",
    "repaired": "0F0,0SEND_F0,0F1,0RECV_B0,0B0,0SEND_F1,0RECV_B1,0B1\n1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n",
    "nosend": "0F0,0B0\n1RECV_F0,1F0,1B0\n",
    "wrongsend": "0F0,0SEND_F1,0B0\n1F0,1B0\n",
}


# Parts of recorded messages that are left open: they may change without an effect on users.
VOLATILE = [
    (r"(stdlib/\S+\.npar):\d+:\d+", r"\1:..."),
    (r"(truncated: |longer than written: )\d+ bytes.*", r"\1..."),
    (r"stopped by (\w+) after \d+ of", r"stopped by \1 after ... of"),
    (r"this needs .* of memory, but only .* available (\(.*?\)).*", r"this needs ... of memory, but only ... available \1..."),
    (r"(each rank of '\w+' needs) .*, but the plan allows", r"\1 ..., but the plan allows"),
    (r"(there are dp|there are naive|give --kind \(naive), .*", r"\1..."),
    (r"(is a trace of another program): .*", r"\1..."),
    (r"(FAILED +\S+( \S+)*)  .*", r"\1..."),
]


class Row:
    def __init__(self, line):
        code, self.command, self.message = (line.split("\t") + ["", ""])[:3]
        self.code, self.long = code.removesuffix(" long"), code.endswith(" long")

    def __str__(self):
        return "\t".join([self.code + (" long" if self.long else ""), self.command, self.message]).rstrip("\t")

    def shell(self):
        return HELPERS + self.command[1:].strip() if self.command.startswith("$") else f"npar {self.command}"


class Got:
    """What a row's command did: its code, its message, what it printed, and what is wrong with it whatever the row expects."""

    def __init__(self, row, folder, environment):
        before = entries(folder)
        begun = time.monotonic()
        options = {"cwd": folder, "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": environment}
        with subprocess.Popen(["sh", "-c", row.shell()], start_new_session=True, **options) as process:
            try:
                output, error = process.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                output, error = process.communicate()
        self.seconds = time.monotonic() - begun
        self.code = str(process.returncode)
        self.output, self.error = (clean(text, folder) for text in (output, error))
        self.message = first_message(self.code, self.output, self.error)
        after = entries(folder)
        self.faults = list(faults(row, self, files(before), files(after)))
        self.restored = not re.search(r"[^&]&[^&]", row.command) and restore(folder, before, after)  # what runs in the background may write later


def clean(text, folder):
    """The output, without the paths of this machine."""
    return text.decode(errors="replace").replace(f"{folder}/", "").replace(f"{ROOT}/", "")


def entries(folder):
    """Data that show any change of an entry below a folder: number, size, time and mode of a file or link, number and mode of a folder."""
    states, folders, begin = {}, [str(folder)], len(str(folder)) + 1
    while folders:  # twice for each row, so not by pathlib, which takes five times as long
        with os.scandir(folders.pop()) as found:
            for entry in found:
                state = entry.stat(follow_symlinks=False)
                whole = stat.S_ISDIR(state.st_mode)
                if whole:
                    folders.append(entry.path)
                states[entry.path[begin:]] = state.st_ino, 0 if whole else state.st_size, 0 if whole else state.st_mtime_ns, state.st_mode
    return states


def files(states):
    """Of the entries the regular files, without their modes."""
    return {name: state[:3] for name, state in states.items() if stat.S_ISREG(state[3])}


def restore(folder, before, after):
    """Removes what a row has added; returns whether the folder is as it was, so that the next row can have it."""
    if any(after.get(name) != state for name, state in before.items()):
        return False
    try:
        for name in sorted(after.keys() - before.keys(), reverse=True):
            (os.rmdir if stat.S_ISDIR(after[name][3]) else os.unlink)(folder / name)
    except OSError:
        return False
    return True


def first_message(code, output, error):
    """The line by which a person knows what happened, without the code of its error; nothing for a success."""
    if code == "0":
        return ""
    failed = [line for line in output.splitlines() if "FAILED" in line] if code == "3" else []
    errors = [line for line in error.splitlines() if "error: " in line]
    for line in failed + errors + error.splitlines():
        if line.strip():
            return re.sub(r" \[[A-Z]\d+\]$", "", line.strip())
    return ""


def faults(row, got, before, after):
    if got.code == "-9":
        yield f"took longer than {PATIENCE} s"
    elif int(got.code) < 0 or int(got.code) > 128:
        yield "crashed"
    if got.code == "6":
        yield "internal error"
    for name, old in before.items():
        if after.get(name) != old:
            yield f"the file '{name}' was changed"
    for name in after.keys() - before.keys():
        checkpoint = re.search(rf"--checkpoint {re.escape(name.split('/')[0])}\b", row.command)
        if name != "m.npar" and name.removesuffix(".partial") not in row.command and not checkpoint:
            yield f"a file '{name}' was left behind"
    if row.command.endswith("--json") and not row.command.startswith("$") and got.code == "0":
        try:
            json.loads(got.output, parse_constant=lambda word: 1 / 0)
        except (ValueError, ZeroDivisionError):
            yield "standard output is no JSON object"


def matches(expected, message):
    return re.fullmatch(".*".join(re.escape(part) for part in expected.split("...")), message) is not None


def read_table():
    return [line if not line or line.startswith("#") else Row(line) for line in TABLE.read_text().split("\n")]


def make_files(folder):
    """The inputs of the table that are no texts: data, masks, weights, compiled programs, and damaged ones."""
    for path in USES.iterdir():
        if path != TABLE:
            shutil.copy(path, folder)
    for path in FOREIGN.iterdir():
        shutil.copy(path, folder)
    chance = random.Random(5)

    def write(name, content):
        (folder / name).write_bytes(content)

    letters = bytes(chance.choice(b"etaoin shrdlu") for _ in range(2000))
    write("text.txt", letters)
    write("one_byte.txt", b"a")
    write("five.txt", b"abcde")
    write("empty.txt", b"")
    write("nul.bin", bytes(600))
    write("small.bin", bytes(chance.randrange(40) for _ in range(2000)))
    write("sevens.bin", bytes(7 for _ in range(400)))
    write("tokens.u16", struct.pack("<500H", *(chance.randrange(40) for _ in range(500))))
    write("large.u16", struct.pack("<500H", *(60000 for _ in range(500))))
    write("odd.u16", bytes(601))
    write("tokens.i32", struct.pack("<500i", *(chance.randrange(40) for _ in range(500))))
    write("negative.i32", struct.pack("<500i", *(-1 for _ in range(500))))
    write("ones.mask", b"\1" * 2000)
    write("zeros.mask", bytes(2000))
    write("half.mask", b"\0\1" * 1000)
    write("short.mask", b"\1" * 1999)
    write("long.mask", b"\1" * 2001)
    write("text.mask", b"1" * 2000)
    write("binary.npar", bytes(range(256)))
    write("latin.npar", "model Café() {}".encode("latin-1"))
    write("empty.npar", b"")
    write("spaces in name.npar", (folder / "tiny.npar").read_bytes())
    write("windows.npar", (folder / "tiny.npar").read_bytes().replace(b"\n", b"\r\n"))
    write("marked.npar", b"\xef\xbb\xbf" + (folder / "tiny.npar").read_bytes())
    write("deep.npar", b"model M() { require " + b"(" * 5000 + b"1" + b")" * 5000 + b", \"x\" }")
    write("huge.npar", b"# " + b"x" * (1 << 20))
    for name, rows in SCHEDULES.items():
        write(f"{name}.csv", rows.encode())
    for name in ("gpt2", "llama3"):
        shutil.copytree(REFERENCE / "tokenizers" / name, folder / f"tokenizer.{name}")
    write("wordpiece.json", b'{"version": "1.0", "model": {"type": "WordPiece", "vocab": {}}}')
    write("deep.json", b"[" * 200000)
    write("empty.json", b"")
    write("empty.model", b"")
    (folder / "dir.npar").mkdir()
    (folder / "loop.npar").symlink_to("loop.npar")
    (folder / "gone.npar").symlink_to("no_such_file.npar")

    environment = surroundings()

    def npar(*words):
        subprocess.run([str(NPAR), *words], cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)

    train = ["run", "tiny.npar", "--plan", "none", "--data", "text.txt", "--tokens", "bytes", "--steps", "1", "--quiet"]
    npar(*train, "--output", "tiny.safetensors")
    npar("compile", "tiny.npar", "-o", "tiny.npx")
    npar(*["run", "tiny.npar", "--random-data", "--steps", "2", "--quiet", "--trace", "tiny.trace"])
    npar(*train, "--checkpoint", "saved")
    npar(*train[:-2], "2", "--quiet", "--checkpoint", "later")
    shutil.copytree(folder / "saved", folder / "torn")
    shard = folder / "torn" / "step-1" / "rank-00000.safetensors"
    shard.write_bytes(shard.read_bytes()[:-1] + b"\1")
    shutil.copytree(folder / "saved", folder / "edited")
    manifest = folder / "edited" / "step-1" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"step":1', '"step":7'))
    damage_weights(folder, write)
    for name in ("gpt2", "llama"):
        shutil.copytree(REFERENCE / "huggingface" / name, folder / f"face_{name}")
    write("relu.json", (folder / "face_gpt2" / "config.json").read_bytes().replace(b"gelu_new", b"relu"))
    write("xlnet.json", b'{"model_type": "xlnet"}')
    write("tiny.json", b'{"model_type": "tiny", "words": 256, "hidden": 16, "notes": [1]}')
    program = (folder / "tiny.npx").read_bytes()
    write("cut.npx", program[: len(program) // 2])
    write("flipped.npx", program[:400] + bytes([program[400] ^ 1]) + program[401:])
    write("longer.npx", program + b"\0")
    write("text.npx", b"model M() {}\n")


def damage_weights(folder, write):
    """Files of weights that are not the model's, or none at all: with other values, other tensors, other bytes, another header."""
    good = (folder / "tiny.safetensors").read_bytes()
    for name, change in {
        "nan": lambda tensor: set_first(tensor, float("nan")),
        "infinite": lambda tensor: set_first(tensor, float("inf")),
        "wide": lambda tensor: set_first(safetensors_file.Tensor(tensor.shape, array.array("d", tensor.values), "F64"), 1e300),
        "short": lambda tensor: safetensors_file.Tensor([tensor.shape[0] - 1, *tensor.shape[1:]], tensor.values[: -tensor.shape[1]]),
        "turned": lambda tensor: safetensors_file.Tensor(tensor.shape[::-1], tensor.values),
    }.items():
        tensors = safetensors_file.read(folder / "tiny.safetensors")
        tensors["table.weight"] = change(tensors["table.weight"])
        safetensors_file.write(folder / f"{name}.safetensors", tensors)
    tensors = safetensors_file.read(folder / "tiny.safetensors")
    safetensors_file.write(folder / "extra.safetensors", {**tensors, "surplus.weight": tensors["table.weight"]})
    other = safetensors_file.Tensor(tensors["table.weight"].shape, tensors["table.weight"].values[::-1])
    safetensors_file.write(folder / "differs.safetensors", {**tensors, "surplus.weight": other})
    safetensors_file.write(folder / "renamed.safetensors", {name.upper(): tensor for name, tensor in tensors.items()})
    safetensors_file.write(folder / "none.safetensors", {})
    write("cut.safetensors", good[:-1])
    write("trailing.safetensors", good + b"\0")
    write("claims.safetensors", b"\xff" * 8 + good[8:])
    write("zero.safetensors", b"")

    size = struct.unpack("<Q", good[:8])[0]
    header, data = json.loads(good[8 : 8 + size]), good[8 + size :]

    def write_header(name, text):
        write(f"{name}.safetensors", struct.pack("<Q", len(text)) + text + data)

    entry = header["table.weight"]
    for name, changed in {
        "half": {"dtype": "F16"},
        "integer": {"dtype": "I32"},
        "unknown": {"dtype": "X7"},
        "below": {"data_offsets": [-4, 0]},
        "beyond": {"data_offsets": [0, 1 << 40]},
        "backwards": {"data_offsets": [100, 4]},
        "fraction": {"data_offsets": [0.5, 16384.5]},
        "negative": {"shape": [-256, -16]},
        "vast": {"shape": [1 << 40, 1 << 40]},
        "worded": {"shape": "256"},
        "flat": {"shape": [4096]},
        "deeper": {"shape": [256, 16, 1]},
    }.items():
        write_header(name, json.dumps({**header, "table.weight": {**entry, **changed}}).encode())
    other = {**header["head.weight"], "data_offsets": entry["data_offsets"]}
    write_header("overlap", json.dumps({**header, "head.weight": other}).encode())
    write_header("escape", json.dumps({**header, "a\nb\x1b[31m": entry}).encode())
    write_header("list", b"[]")
    write_header("brackets", b"[" * 200000)
    write_header("open", b'{"a":')
    write_header("bytes", b'{"\xff":1}')
    write_header("twice", json.dumps(header).encode()[:-1] + b", " + json.dumps(header).encode()[1:])
    write_header("padded", json.dumps(header).encode() + b" " * 1000)


def set_first(tensor, value):
    tensor.values[0] = value
    return tensor


def surroundings():
    return {**os.environ, "PATH": f"{BUILD / 'bin'}{os.pathsep}{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}


@contextlib.contextmanager
def hangup_arrives():
    """Gives SIGHUP its default in the body, even below nohup: npar leaves an ignored signal ignored, and a handler is not inherited."""
    before = signal.signal(signal.SIGHUP, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


def run_rows(rows, use):
    """Runs rows, a few at a time, each in a copy of the files that no row has changed; calls `use(row, got)` in the table's order."""
    with tempfile.TemporaryDirectory(prefix="npar-uses-") as name:
        originals = pathlib.Path(name) / "files"
        originals.mkdir()
        make_files(originals)

        unused = []  # copies of the files that are as they were

        def run(item):
            number, row = item
            try:
                folder = unused.pop()
            except IndexError:
                folder = pathlib.Path(name) / str(number)
                shutil.copytree(originals, folder, symlinks=True, copy_function=os.link)
            got = Got(row, folder, surroundings())
            if got.restored:
                unused.append(folder)
            else:
                shutil.rmtree(folder, ignore_errors=True)
            return got

        with hangup_arrives(), concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            for row, got in zip(rows, pool.map(run, enumerate(rows))):
                use(row, got)


class UsesTest(unittest.TestCase):
    def test_table(self):
        rows = [row for row in read_table() if isinstance(row, Row) and (LONG or not row.long)]
        self.assertGreaterEqual(len(rows), 300)

        def check(row, got):
            with self.subTest(command=row.command):
                again = f"python3 {__file__} --show '{row.command}'"
                self.assertEqual(got.faults, [], f"again: {again}\n{got.error}")
                same = got.code == row.code and matches(row.message, got.message)
                expected = f"expected {row.code}  {row.message}\ngot      {got.code}  {got.message}\nagain:   {again}"
                self.assertTrue(same, f"{row.command}\n{expected}")

        run_rows(rows, check)

    def test_every_flag_of_every_command_has_a_row(self):
        """A flag that no row uses, in one of its spellings, has no test of what it refuses."""
        words = {word.partition("=")[0] for row in read_table() if isinstance(row, Row) for word in row.command.split()}
        commands = (
            "",
            "compile",
            "train",
            "eval",
            "generate",
            "inspect",
            *(f"inspect {view}" for view in ("why", "annotate", "saved", "bytes", "hosts", "layout", "compare", "actual")),
            "verify",
            "schedule",
            "schedule diff",
            "schedule explain",
            "simulate",
            "sweep",
            "plan",
            "explain",
            "tokens",
            "import",
            "export",
            "checkpoint",
            "checkpoint show",
            "checkpoint verify",
            "checkpoint diff",
            "checkpoint consolidate",
            "checkpoint reshard",
            "machine",
            "machine measure",
            "machine show",
            "data",
            "data show",
        )
        for command in commands:
            text = subprocess.run([NPAR, *command.split(), "--help"], stdout=subprocess.PIPE, check=True, text=True).stdout
            flags = [line.split()[0].split(",") for line in text.splitlines() if re.match(r"  -{1,2}[a-zA-Z]", line)]
            self.assertIn(["-h", "--help"], flags)
            for spellings in flags:
                with self.subTest(command=command):
                    self.assertTrue(words.intersection(spellings), f"{TABLE.name} has no row with {' or '.join(spellings)}")


def record(text):
    table = read_table()
    rows = [row for row in table if isinstance(row, Row) and (row.code == "?" if text == "?" else text in row.command)]

    def write(row, got):
        for fault in got.faults:
            print(f"FAULT  {row.command}: {fault}")
        if got.code != row.code or not matches(row.message, got.message):
            print(f"{row.code} -> {got.code}  {row.command}\n  - {row.message}\n  + {got.message}")
            row.code, row.message = got.code, got.message
            for pattern, stable in VOLATILE:
                row.message = re.sub(pattern, stable, row.message)

    run_rows(rows, write)
    TABLE.write_text("\n".join(map(str, table)))
    print(f"{len(rows)} rows")


def show(text):
    def print_all(row, got):
        print(f"== {row.command}\n{got.output}{got.error}exit code {got.code} after {got.seconds:.1f} s", *got.faults, sep="\n! ")

    run_rows([row for row in read_table() if isinstance(row, Row) and text in row.command], print_all)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--record"]:
        record(" ".join(sys.argv[2:]))
    elif sys.argv[1:2] == ["--show"]:
        show(" ".join(sys.argv[2:]))
    else:
        unittest.main()
