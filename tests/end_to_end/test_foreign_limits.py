"""Files of other programs that try to hang, crash or exhaust npar: each is read, or refused with its name, soon and in little memory.

The limits are those of the table "Limits of what is read" in tools/LIMITS.md.
"""

import json
import os
import resource
import struct
import subprocess
import tempfile
import threading
import unittest

from driver import NPAR, ROOT, DriverTest

ADDRESSES = 4 << 30  # bytes of address space, most of which are libraries
MEMORY = 400 << 20  # bytes that are resident, the program's own among them
SECONDS = 60  # a hang, on any machine
MODEL = "pretrain_gpt.py --num-layers $L --hidden-size 256 --num-attention-heads 4 --seq-length 128 --vocab-size 512\n"
YAML = "distributed_type: MULTI_GPU\nnum_processes: 8\n"
TOML = "[model]\nname = 'llama3'\nflavor = '8B'\n"
SMALL_LLAMA = ROOT / "tests" / "end_to_end" / "foreign" / "small.json"
ESTIMATOR = "job = PyTorch(entry_point='t.py', instance_type='ml.p3.16xlarge', distribution={'mpi': {'enabled': True}}, "
LLAMA = '{"model_type": "llama", "hidden_size": 64, %s}'


def bombs(kind):
    """Aliases, each of which names nine of the one before."""
    inside = {"lists": "[%s]", "maps": "{%s}"}[kind]
    lines = [f"a: &a {inside % ', '.join('k%d: x' % i if kind == 'maps' else 'x' for i in range(9))}"]
    for before, name in zip("abcdefghij", "bcdefghijk"):
        parts = [f"k{i}: *{before}" if kind == "maps" else f"*{before}" for i in range(9)]
        lines.append(f"{name}: &{name} {inside % ', '.join(parts)}")
    return YAML + "\n".join(lines) + "\n"


def empty_maps(levels):
    """No leaf has a value: what is counted must be visits, not settings."""
    lines = ["a0: &a0 {x: , y: }"]
    lines += [f"a{i}: &a{i} {{x: *a{i - 1}, y: *a{i - 1}}}" for i in range(1, levels)]
    return YAML + "\n".join(lines) + "\n"


def doubling(levels):
    """Dictionaries, each of which names the one before twice."""
    return "a0 = {'x': 1}\n" + "".join(f"a{i} = {{'p': a{i - 1}, 'q': a{i - 1}}}\n" for i in range(1, levels))


# File, content, accepted exit codes, expected message (with exit code 1).
RUNS = [
    ("ends_in_a_backslash.sh", MODEL.replace("$L", "4").rstrip() + " \\", (0, 1), ""),
    ("only_a_backslash.sh", "\\", (1,), ""),
    ("backslash_and_return.sh", MODEL.replace("$L", "4").rstrip() + " \\\r", (0, 1), ""),
    ("long_arithmetic.sh", MODEL.replace("$L", "$((" + "+".join(["1"] * 200_000) + "))"), (1,), "has count 200000, the largest is"),
    ("arithmetic_in_a_variable.sh", "L=$((" + "+".join(["1"] * 200_000) + "))\n" + MODEL, (1,), "has count 200000, the largest is"),
    ("deep_parentheses.sh", "L=$((" + "(" * 50_000 + "1" + ")" * 50_000 + "))\n" + MODEL, (1,), "this flag has too many words"),
    ("open_sums.sh", "$((" * 340_000, (1,), ""),
    ("open_names.sh", "${" * 500_000, (1,), ""),
    ("sum_too_large.sh", MODEL.replace("$L", "$((999999999 * 999999999 * 999999999))"), (1,), "num_layers"),
    ("divided_by_zero.sh", MODEL.replace("$L", "$((4 / 0))"), (1,), "depends on a sum: a division by zero"),
    ("doubling.sh", "A=xxxxxxxx\n" + "".join(f"{b}=${a}${a}\n" for a, b in zip("ABCDEFGHIJKLMNOPQRSTUVWXY", "BCDEFGHIJKLMNOPQRSTUVWXYZ"))
     + "$Z$Z " * 1000 + MODEL.replace("$L", "$Z"), (1,), "it takes too many steps"),
    ("one_long_variable.sh", "A=" + "x" * 500_000 + "\n" + "$A" * 150_000 + " " + MODEL.replace("$L", "4"), (0, 1), ""),
    ("flags_in_one_quote.sh", 'ARGS="' + "--a 1 " * 150_000 + '"\n' + MODEL.replace("$L", "4"), (0,), ""),
    ("long_line.sh", MODEL.replace("$L", "4").rstrip() + " --x " * 300_000 + "\n", (1,), "1048576 bytes (1 MiB)"),
    ("many_words.sh", "a " * 500_000 + MODEL, (1,), "words, the most that are read"),
    ("layers_of_a_trillion.sh", MODEL.replace("$L", "1099511627776") + "--pipeline-model-parallel-size 1099511627776\n", (1,), "at most 1048576"),
    ("deep.json", '{"a":' * 100_000 + "1" + "}" * 100_000, (1,), "nested more than 32 deep"),
    ("lists.json", '{"a":' + "[" * 100_000 + "]" * 100_000 + "}", (1,), "nested more than 32 deep"),
    ("number.json", '{"train_batch_size": 8, "zero_optimization": {"reduce_bucket_size": 1e999}}', (1,), "this is no JSON: number overflow"),
    ("infinite.json", '{"train_batch_size": 8, "zero_optimization": {"reduce_bucket_size": "inf"}}', (1,), "must be a number"),
    ("bucket.json", '{"train_batch_size": 8, "zero_optimization": {"reduce_bucket_size": 1e300}}', (1,), "at most 1e+12"),
    ("whole.json", '{"train_batch_size": 9223372036854775808}', (1,), "train_batch_size"),
    ("hexadecimal.json", '{"train_batch_size": "0x10"}', (1,), "train_batch_size"),
    ("product.json", '{"train_micro_batch_size_per_gpu": 1048576, "gradient_accumulation_steps": 1048576, "train_batch_size": 1099511627775}', (1,), ""),
    ("twice.json", '{"train_batch_size": 8,\n "train_batch_size": 16}', (1,), ":2:2: error: the key 'train_batch_size' is there twice"),
    ("mark.json", b'\xef\xbb\xbf{"train_batch_size": 8, "bf16": {"enabled": true}}', (0,), ""),
    ("wide.json", '{"a": {' + ", ".join(f'"k{i}": 1' for i in range(60_000)) + "}}", (1,), "the most that are read"),
    ("long_names.json", '{"' + "n" * 400_000 + '": {' + ", ".join(f'"k{i}": 1' for i in range(40_000)) + "}}", (1,), "bytes, at most 500 are read"),
    ("backslashes.json", '{"' + "\\\\" * 400_000 + '": 1}', (1,), "bytes, at most 500 are read"),
    ("zeros.json", '{"train_batch_size": 8' + " " * 1_000_000 + "\n}", (0,), ""),
    ("alias_bomb.yaml", bombs("lists"), (0, 1), ""),
    ("alias_bomb_of_maps.yaml", bombs("maps"), (1,), "the most that are read"),
    ("alias_bomb_of_nothing.yaml", empty_maps(30), (1,), "the most that are read"),
    ("alias_of_itself.yaml", YAML + "a: &a {b: *a}\n", (1,), "nested more than 32 deep"),
    ("deep.yaml", "".join(" " * i + "a:\n" for i in range(1400)), (1,), "nested more than 32 deep"),
    ("dashes.yaml", YAML + "a:\n" + "- " * 200_000 + "\n", (1,), "nested more than 32 deep"),
    ("braces.yaml", YAML + "a: " + "{a: " * 100_000 + "\n", (1,), "nested more than 100 deep"),
    ("one_line.yaml", YAML + "a: [" + "x, " * 300_000 + "]\n", (1,), "more than 50000 values"),
    ("merged.yaml", "a: &a {num_processes: 8}\n<<: *a\n" + YAML, (1,), "npar does not merge mappings"),
    ("tagged.yaml", YAML + "a: !!python/object/apply:os.system ['true']\n", (1,), "npar knows no tag"),
    ("keys.yaml", YAML + "? [a, b]\n: 1\n", (1,), "this key is no word"),
    ("quoted.yaml", YAML + 'a: "' + "x\n\n" * 300_000, (0, 1), ""),
    ("dots_in_a_comment.toml", "# " + "." * 100 + "\n" + TOML + "# " + "[" * 300 + "\na = 1 # " + "." * 300 + "\nb = '" + "." * 300 + "'\n", (0,), ""),
    ("dots.toml", "a" + ".a" * 200_000 + " = 1\n", (1,), "nested more than 32 deep"),
    ("brackets.toml", "a = " + "[" * 200_000 + "\n", (1,), "nested more than 32 deep"),
    ("braces.toml", "a.b.c.d.e.f.g.h = " + "{a.b.c.d.e.f.g.h = " * 30 + "1" + "}" * 30 + "\n", (1,), "nested more than 32 deep"),
    ("many.toml", "".join(f"k{i} = 1\n" for i in range(60_000)), (1,), "the most that are read"),
    ("nan.toml", TOML + "[training]\nmax_norm = nan\n", (1,), "must be a number"),
    ("open_lists.py", ESTIMATOR + "a=" + "[" * 300_000, (1,), "which is no literal"),
    ("open_calls.py", ESTIMATOR + "a=" + "f(" * 300_000, (1,), "which is no literal"),
    ("colons.py", ESTIMATOR + "a=" + "[:" * 300_000, (1,), "which is no literal"),
    ("sums.py", "n = 1" + " + 1" * 200_000 + "\n" + ESTIMATOR + "instance_count=n)", (0,), ""),
    ("wide.py", ESTIMATOR + "hyperparameters={" + ", ".join(f"'k{i}': 1" for i in range(60_000)) + "})", (1,), "a dictionary of more than 2000 keys"),
    ("sets.py", "a = {}\n" + "".join(f"a['k{i}'] = 1\n" for i in range(50_000)) + ESTIMATOR + "hyperparameters=a)", (1,), "a dictionary of more than 2000 keys"),
    ("items.py", ESTIMATOR + "tags=[" + "1," * 400_000 + "])", (0, 1), ""),
    ("doubling.py", doubling(30) + ESTIMATOR + "hyperparameters=a29)", (1,), "the most that are read"),
    ("nested.py", "a0 = 1\n" + "".join(f"a{i} = [a{i - 1}]\n" for i in range(1, 40_000)) + ESTIMATOR + "tags=a39999)", (0, 1), ""),
    ("long_text.py", ESTIMATOR + "role='" + "x" * 900_000 + "')", (0, 1), ""),
    ("cells.ipynb", json.dumps({"cells": [{"cell_type": "code", "source": ["x = 1\n"] * 50_000}], "nbformat": 4, "instance_type": "", "entry_point": ""}), (1,), "no estimator"),
    ("length.toml", TOML + "[training]\nseq_len = 9223372036854775808\n", (1,), "this is no TOML"),
]  # fmt: skip

CONFIGS = [
    ("deep.json", '{"a":' * 100_000 + "1" + "}" * 100_000, "nests deeper than 16 levels"),
    ("number.json", LLAMA % '"rope_theta": 1e999', "no valid JSON at byte"),
    ("wide.json", LLAMA % ('"a": [' + "1," * 300_000 + "1]"), "more than 200000 values"),
    ("twice.json", LLAMA % '"hidden_size": 65', "occurs twice"),
    ("whole.json", LLAMA % '"num_hidden_layers": 1e300', "num_hidden_layers"),
    ("names.json", LLAMA % ('"' + "n" * 900_000 + '": {' + ", ".join(f'"k{i}": 1' for i in range(50_000)) + "}"), "key of more than 1000 bytes"),
    ("zero.json", LLAMA % '"num_attention_heads": -0, "num_hidden_layers": 9223372036854775808', "this follows from the values of configuration"),
    ("sizes.json", LLAMA % ", ".join(f'"{key}": 9223372036854775807' for key in ("num_hidden_layers", "num_attention_heads", "vocab_size", "intermediate_size",
     "max_position_embeddings")), "this follows from the values of"),
    ("family.json", '{"model_type": "' + "x" * 1_000_000 + '"}', "the name of a family has at most 200"),
    ("unknown.json", json.dumps({**json.loads(SMALL_LLAMA.read_text()), **{f"k{i}": 1 for i in range(100_000)}}), "and 99900 more"),
    ("large.json", '{"a": "' + "x" * 11_000_000 + '"}', "has 11000009 bytes"),
]


class ForeignLimitsTest(DriverTest):
    def limited(self, *arguments, stdin=None):
        """Returns exit code and messages; fails if npar took too much memory or did not end."""

        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        with tempfile.TemporaryFile() as said:
            process = subprocess.Popen([str(NPAR), *map(str, arguments)], cwd=self.folder, stdin=stdin or subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=said, preexec_fn=limit)  # fmt: skip
            hang = threading.Timer(SECONDS, process.kill)
            hang.start()
            _, status, usage = os.wait4(process.pid, 0)
            hang.cancel()
            process.returncode = os.waitstatus_to_exitcode(status)
            said.seek(0)
            text = said.read().decode(errors="replace")
        self.assertGreaterEqual(process.returncode, 0, f"{arguments}: ended by a signal (9: it hung)\n{text[:2000]}")
        self.assertLess(usage.ru_maxrss << 10, MEMORY, arguments)
        self.assertNotIn("internal error", text)
        self.assertLess(len(text), 20_000, arguments)
        return process.returncode, text

    def write(self, name, content):
        (self.folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    def refused(self, name, expected, *command):
        code, text = self.limited(*command)
        self.assertIn(code, (1, 2), text[:2000])
        self.assertIn(name, text)
        self.assertIn(expected, text)

    def test_runs_of_other_programs(self):
        small = self.write("model.json", SMALL_LLAMA.read_bytes())
        for name, content, codes, expected in RUNS:
            with self.subTest(name=name):
                self.write(name, content)
                flags = ["--world", 8, "--machine", "dgx-a100", "--print-plan"]
                if name.endswith((".json", ".yaml", ".py")):
                    flags += ["--model-config", small]
                if name.endswith(".sh"):  # whatever the first line looks like
                    flags += ["--from-format", "megatron"]
                code, text = self.limited("simulate", "--from", name, *flags)
                self.assertIn(code, codes, text[:2000])
                if code:
                    self.assertIn(name, text[:300])
                    self.assertIn(expected, text)

    def test_configurations(self):
        for name, content, expected in CONFIGS:
            with self.subTest(name=name):
                self.refused(name, expected, "import", self.write(name, content))

    def test_files_without_an_end(self):
        """A device and a pipe that never end, a folder, a pipe whose writer comes late."""
        os.mkfifo(self.folder / "pipe")
        for file in ("/dev/zero", "/dev/full"):
            self.refused(file, "1048576 bytes (1 MiB)", "simulate", "--from", file, "--world", 8)
            self.refused(file, "33554432 bytes (32 MiB)", "schedule", "--from-csv", file)
        self.refused(".", "it is a directory", "simulate", "--from", ".", "--world", 8)
        with subprocess.Popen(["yes", "--", "--num-layers 4"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as endless:
            code, text = self.limited("simulate", "--from", "/dev/stdin", "--world", 8, stdin=endless.stdout)
            self.assertEqual(code, 1)
            self.assertIn("1048576 bytes (1 MiB)", text)
            endless.stdout.close()
        with subprocess.Popen(["sh", "-c", f"sleep 0.2; printf '%s' '{MODEL.replace('$L', '4').strip()}' > pipe"], cwd=self.folder):
            self.assertEqual(self.limited("simulate", "--from", "pipe", "--world", 8, "--machine", "dgx-a100", "--print-plan")[0], 0)

    def test_schedules(self):
        for name, content, expected in [
            ("wide.csv", "0F0," * 4_000_000, "actions, the most that are read"),
            ("numbers.csv", "99999999999999999999F0\n", "above 16383"),
            ("micros.csv", "0F99999999999999999999\n", "above 1048575"),
            ("rows.csv", "\n" * 1_000_000 + "0F0,0B0\n", "has no compute action"),
            ("last.csv", "0F1048575,0B1048575\n", "is missing"),
            ("parts.csv", "16383F0,16383B0\n", "has no compute action"),
        ]:
            with self.subTest(name=name):
                self.refused(name, expected, "schedule", "--from-csv", self.write(name, content))

    def test_texts_of_models_and_machines(self):
        for name, content in [
            ("deep.npar", "model M { x = " + "(" * 100_000 + ")" * 100_000 + "}"),
            ("number.npar", "model M(a = 1e999) {}"),
            ("large.npar", "#" * (1 << 21)),
        ]:
            with self.subTest(name=name):
                self.refused(name, "error: ", "inspect", self.write(name, content))
                self.refused(name, "error: ", "inspect", "gpt2", "--machine", name)

    def test_traces(self):
        """Of a trace no tree is made, and what is nested deep is none."""
        small = ["mlp", "--plan", "none"]
        for flag in ("vocab=17", "width=8", "inner=8", "depth=1", "length=4", "batch=8"):
            small += ["--set", flag]
        for name, content, expected in [
            ("deep.json", '{"traceEvents":' + "[" * 100_000, "is not a trace"),
            ("number.json", '{"traceEvents":[{"ph":"X","name":"a","pid":0,"ts":1e999,"dur":1,"args":{}}]}', "is not a trace"),
            ("wide.json", '{"traceEvents":[{"ph":"X","junk":[' + "0," * 3_000_000 + "0]}]}", "event 0 lacks"),
        ]:
            with self.subTest(name=name):
                self.refused(name, expected, "inspect", "actual", *small, self.write(name, content))

    def test_tokenizers(self):
        for name, content, expected in [
            ("deep.json", '{"model":' + "[" * 100_000, "nested deeper than 32"),
            ("ids.json", '{"model": {"type": "BPE", "vocab": {"a": 1e999}, "merges": []}}', "no valid JSON"),
        ]:
            with self.subTest(name=name):
                self.refused(name, expected, "tokens", self.write(name, content), "--text", name, "--json")

    def test_flight_records(self):
        """A header that claims much takes no memory for it."""
        os.mkdir(self.folder / "flights")
        for tables in (1 << 40, 1 << 29, 1 << 20, 0):
            header = struct.pack("<8sQQ", b"NPARFLT3", tables, 0)
            path = self.folder / "flights" / "process-0.flight"
            with open(path, "wb") as file:
                file.write(header)
                file.truncate(1 << 30)
            self.refused("process-0.flight", "", "autopsy", "flights")
            path.unlink()

    def test_numbers_of_flags(self):
        """Digits are decimal: 010 is neither 8 nor taken for 10 in silence."""
        for flags in (["--stages", "010", "--microbatches", 16], ["--stages", 4, "--microbatches", "0x10"], ["--stages", "1e999", "--microbatches", 4]):
            code, text = self.limited("schedule", "--kind", "1f1b", *flags)
            self.assertEqual(code, 2, text)
        for flag, value in (("--steps", "010"), ("--seed", "-010"), ("--steps", "18446744073709551616"), ("--steps", "1e999"), ("--threads", "nan")):
            code, text = self.limited("run", "gpt2", "--random-data", flag, value)
            self.assertEqual(code, 2, text)
            self.assertIn(value, text)

    def test_indexes(self):
        """An index that names files without number, and one that is a list."""
        for content, expected in [
            ('{"weight_map": {' + ", ".join(f'"t{i}": "f{i}"' for i in range(20_000)) + "}}", "more than 10000 files"),
            ('{"weight_map": [' + "0," * 2_100_000 + "0]}", "more than 2000000 values"),
        ]:
            os.makedirs(self.folder / "weights", exist_ok=True)
            self.write("weights/model.safetensors.index.json", content)
            self.write("weights/config.json", SMALL_LLAMA.read_bytes())
            self.refused("weights", expected, "import", "weights")

    def test_names_that_are_no_text(self):
        """Names of files are bytes; JSON has them with other letters in place, and a plan is made of such a file all the same."""
        name = os.fsdecode(b"caf\xe9")
        os.makedirs(os.fsencode(self.folder) + b"/caf\xe9")
        with open(os.fsencode(self.folder) + b"/caf\xe9/config.json", "wb") as file:
            file.write(SMALL_LLAMA.read_bytes())
        with open(os.fsencode(self.folder) + b"/caf\xe9.sh", "wb") as file:
            file.write(MODEL.replace("$L", "4").strip().encode() + b" --data-path \xe9\n")
        self.assertEqual(self.limited("import", name, "--json")[0], 0)
        for flags in (["--json"], []):
            code, text = self.limited("simulate", "--from", name + ".sh", "--world", 8, "--machine", "dgx-a100", *flags)
            self.assertEqual(code, 0, text)

    def test_best_checkpoint(self):
        """The file that names the best checkpoint may be any: it is then as if there were none."""
        for content in ('{"step": 1e999}', "[" * 100_000, json.dumps({"step": 1 << 63, "loss": 1})):
            os.makedirs(self.folder / "run", exist_ok=True)
            self.write("run/best.json", content)
            code, text = self.limited("run", "mlp", "--plan", "none", "--set", "vocab=17", "--set", "width=8", "--set", "inner=8", "--set", "depth=1",
                                      "--set", "length=4", "--set", "batch=8", "--random-data", "--steps", 1, "--checkpoint", "run")  # fmt: skip
            self.assertIn(code, (0, 1), text)


if __name__ == "__main__":
    unittest.main()
