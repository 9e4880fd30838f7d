"""The readers of untrusted data: every corpus is replayed, each file also with damage.

The long form builds them under g++'s sanitizers for addresses and undefined behaviour, replays more damage and, where clang is installed, runs
libFuzzer for minutes per reader. What it finds becomes a file of tests/fuzz/corpus.
By hand: cmake -G Ninja -S tests/fuzz -B build/fuzz && ninja -C build/fuzz && build/fuzz/npar_fuzz_replay ModelText 0 stdlib/models/*.npar
"""

import base64
import importlib.util
import json
import os
import pathlib
import shutil
import struct
import subprocess
import unittest

from driver import BUILD, LONG, ROOT, DriverTest, settings

CORPUS = ROOT / "tests" / "fuzz" / "corpus"
TABLE = ROOT / "tests" / "engine" / "safetensors"
SMALL = {"vocab": 17, "width": 8, "heads": 2, "depth": 2, "length": 4, "batch": 8}
SECONDS = 120  # of libFuzzer for each target


def build(folder, *flags):
    """Configures and builds tests/fuzz; returns what went wrong, or nothing."""
    for command in (["cmake", "-G", "Ninja", "-S", ROOT / "tests" / "fuzz", "-B", folder, *flags], ["ninja", "-C", folder]):
        result = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if result.returncode:
            return result.stdout.decode(errors="replace")[-4000:]
    return None


def hostile_safetensors(folder):
    """The files of hostile_safetensors.tsv, except for long ones."""
    rules = importlib.util.spec_from_file_location("expand", TABLE / "hostile_files.py")
    hostile = importlib.util.module_from_spec(rules)
    rules.loader.exec_module(hostile)
    for number, row in enumerate(hostile.rows(TABLE / "hostile_safetensors.tsv")):
        if len(content := hostile.content(*row[1:4])) < 100_000:
            (folder / f"{number}.safetensors").write_bytes(content)


def numbered(tokenizer):
    """A tokenizer.json whose added tokens have the ids that follow from its vocabulary, which was made smaller."""
    vocabulary, new = tokenizer["model"]["vocab"], {}
    ids, size = vocabulary if isinstance(vocabulary, dict) else {}, len(vocabulary)
    for token in tokenizer["added_tokens"]:
        id = ids[token["content"]] if token["content"] in ids else size
        size += id == size
        new[token["id"]] = token["id"] = id

    def filled(part):
        if isinstance(part, dict):
            return {key: filled(value) for key, value in part.items()}
        return [new.get(each, each) if isinstance(each, int) else filled(each) for each in part] if isinstance(part, list) else part

    return {**tokenizer, "post_processor": filled(tokenizer["post_processor"])}


class FuzzTest(DriverTest):
    def corpus(self, target):
        """The files of a target: the repository's, and some that are generated now."""
        folder = self.folder / target
        folder.mkdir()
        if (CORPUS / target).is_dir():
            shutil.copytree(CORPUS / target, folder, dirs_exist_ok=True)
        getattr(self, target, lambda folder: None)(folder)
        return sorted(folder.iterdir())

    def ModelText(self, folder):
        for pattern in ("stdlib/*/*.npar", "tests/dsl/wrong/*.npar", "tests/end_to_end/*.npar"):
            for path in ROOT.glob(pattern):
                shutil.copy(path, folder / f"{path.parent.name}-{path.name}")

    def Program(self, folder):
        self.npar("compile", "mlp", *settings(vocab=17, width=8, inner=8, depth=1, length=4, batch=8), "-o", folder / "mlp.npx")
        self.npar("compile", "gpt2", *settings(SMALL, mesh__dp=2, mesh__pp=2), "-o", folder / "gpt2.npx")
        self.npar("compile", "gpt2", *settings(SMALL, mesh__dp=2, mesh__pp=2), "--for", "eval", "-o", folder / "eval.npx")
        states = settings(width=4, inner=4, length=2, batch=4, sequences=1, mesh__ep=2)
        self.npar("compile", ROOT / "tests" / "end_to_end" / "states.npar", "--plan", "shared", *states, "-o", folder / "states.npx")

    def Machine(self, folder):
        for path in (ROOT / "stdlib" / "machines").glob("*.npar"):
            shutil.copy(path, folder)

    def Foreign(self, folder):
        """The runs of other programs that test_foreign.py reads."""
        for path in (ROOT / "tests" / "end_to_end" / "foreign").iterdir():
            shutil.copy(path, folder / f"run-{path.name}")

    def Schedule(self, folder):
        for kind in ("1f1b", "interleaved", "zb_h1", "dualpipe_v"):
            (folder / f"{kind}.csv").write_text(self.npar("schedule", "--kind", kind, "--stages", 4, "--microbatches", 8, "--format", "csv").output)

    def Picture(self, folder):
        for path in (ROOT / "tests" / "reference" / "pictures").iterdir():
            if path.suffix != ".txt":
                shutil.copy(path, folder)

    def Safetensors(self, folder):
        hostile_safetensors(folder)
        shutil.copy(ROOT / "tests" / "reference" / "llama_initial.safetensors", folder)

    def Config(self, folder):
        for path in (ROOT / "tests" / "reference").glob("huggingface/*/config.json"):
            shutil.copy(path, folder / f"{path.parent.name}.json")

    def Frames(self, folder):
        """Messages between processes of a group: gathers up and down the tree, broadcasts in blocks, an envelope, early frames."""
        def frame(kind, body, tag=0, stream=0):
            return struct.pack("<4I", kind, stream, tag, len(body)) + body

        def numbers(*values):
            return struct.pack(f"<{len(values)}Q", *values)

        def run(size, times, tag=0):
            return struct.pack("<QII", size, times, tag)

        def group(count, process, *frames):
            return bytes([count - 2, process]) + b"".join(struct.pack("<BH", sender, len(content)) + content for sender, content in frames)

        given, block = run(3, 1) + b"\1\2\3", 4 << 20
        files = {
            "below": group(5, 0, *((sender, frame(0, numbers(0, len(given)) + given)) for sender in range(1, 5))),
            "above": group(5, 1, (0, frame(0, numbers(0, 19) + run(3, 5) + b"\1\2\3"))),
            "apart": group(5, 1, (0, frame(0, numbers(0, 35) + run(3, 4) + b"\1\2\3" + run(20000, 1, 9)))),
            "large": group(5, 0, (1, frame(0, numbers(0, 5000), tag=7))),
            "blocks": group(5, 1, (0, frame(1, numbers(block + 9, 0, block), tag=3)), (0, frame(1, numbers(block + 9, block, 9), tag=4))),
            "empty": group(5, 1, (0, frame(1, numbers(0, 0, 0), tag=3))),
            "envelope": group(2, 0, (1, frame(2, bytes(96) + struct.pack("<2I", 2, 1) + bytes(100), tag=3, stream=1))),
            "early": group(2, 0, *((1, frame(2, bytes(8), stream=4)) for _ in range(20))),
        }
        for name, content in files.items():
            (folder / name).write_bytes(content)

    def Handshake(self, folder):
        """Hello, claim and answer, with a secret and without one, in small pieces and whole."""
        number = 0xCBF29CE484222325
        for byte in b"a job":
            number = (number ^ byte) * 0x100000001B3 % 2**64
        for secret in (0, 1):
            def hello(connects):
                return struct.pack("<IHBB", 0x4850524E, 1, connects, secret) + bytes(range(32))

            for pieces in (0, 252):
                accepts = bytes([pieces | secret]) + hello(1) + struct.pack("<QIIII", number, 1, 3, 4711, 0) + bytes(32)
                connects = bytes([pieces | 2 | secret]) + hello(0) + struct.pack("<4I", 0, 0, 3, 0) + bytes(32)
                (folder / f"accepts-{secret}-{pieces}").write_bytes(accepts)
                (folder / f"connects-{secret}-{pieces}").write_bytes(connects)

    def Wire(self, folder):
        """A buffer of each format from its schema, after the number of the format in WireFuzz.cpp."""
        place = {"rank": 3, "training_step": 12, "micro": 1, "task": "B0:1", "operation": "all_reduce h.3.attn", "source": "gpt2.npar:14:3"}
        meeting = {"round": 12, "first": 0, "last": 3, "event": 5, "micro": 1, "session": 0, "transfer": True}
        wait = {"place": place, "meeting": meeting, "missing": [7, 8], "lost": True}
        state = {"progress": 99, "late_seconds": 0.25, "phase": "loading", "ranks": [{"place": place, "in_step": True, "waits": [wait, wait], "more_waits": 4}]}
        report = {"cause": 3, "code": 5, "message": "rank 3 is slow", "place": place, "host": "left", "process": 1, "lost": [1, 2]}
        report["waiting"] = [{"wait": wait, "process": 1, "host": "left"}]
        messages = [{"kind": 0, "ranks": [4, 5]}, {"kind": 1, "round": 9, "state": state}, {"kind": 2, "state": {"late_seconds": 0.5}}]
        messages += [{"kind": 3, "told": {"code": 4, "text": "a kernel failed", "place": place, "accused": 2}}, {"kind": 4, "round": 9}]
        messages += [{"kind": 5, "questions": [{"rank": 3, "meeting": meeting}]}, {"kind": 6, "answers": [3, 1]}, {"kind": 7, "report": report}]
        node = {"task": 0, "operation": 1, "source": 1, "micro": 0, "event": 2, "group": 0, "rank": 0, "session": 0, "kind": "Collective"}
        flight = {"process": 1, "processes": 2, "host": "left", "ring_entries": 4096, "ranks": [3], "sessions": [{"number": 0, "evaluates": False}]}
        flight.update({"names": ["B0:1", "join"], "group_sizes": [2], "members": [3, 4], "nodes": [node, node]})
        news = {"state": "Written", "message": "", "tag": "abc", "shards": [{"rank": 3, "bytes": 9, "hashes": 2}], "hashes": ["0" * 32, "f" * 32]}
        own = {"host": "left", "executable": "f" * 32, "arguments": ["run", "gpt2"], "features": "avx avx2", "products": "pairs", "processors": [1, 0]}
        note = {"stop": "SIGTERM", "rows": [{"row": 3, "low": 5, "high": 7}]}
        files = [(0, "control/Message", message) for message in messages]
        files += [(2, "control/FlightTables", flight), (3, "checkpoint/SessionNews", news), (4, "job/Introduction", own), (5, "training/StepNote", note)]
        files += [(6, "job/Verdict", {"code": 1, "errors": ["cannot read 'x'"]})]
        files += [(7, "job/ReadFiles", {"files": [{"path": "data.u16", "bytes": 9, "parts": [{"what": "first 9 bytes", "hash": "0" * 32}]}]})]
        for number, (kind, schema, content) in enumerate(files):
            path = self.folder / f"wire-{number}.json"
            path.write_text(json.dumps(content))
            subprocess.run(["flatc", "--binary", "-o", self.folder, ROOT / "engine" / f"{schema}.fbs", path], check=True)
            (folder / str(number)).write_bytes(bytes([kind]) + path.with_suffix(".bin").read_bytes())
        (folder / "record").write_bytes(bytes([1]) + struct.pack("<8sQQ", b"NPARFLT3", 40, 0) + bytes(40))

    def Index(self, folder):
        for path in (ROOT / "tests" / "reference").glob("huggingface/*/*.index.json"):
            shutil.copy(path, folder / f"{path.parent.name}.json")

    def Manifest(self, folder):
        text = self.text_file()
        flags = ["--data", text, "--tokens", "bytes", "--steps", 1, "--quiet"]
        model = ["gpt2", *settings(SMALL, vocab=256, mesh__dp=2, mesh__tp=2, zero=1)]
        self.npar("run", *model, *flags, "--checkpoint", self.folder / "run")
        shutil.copy(next((self.folder / "run").glob("step-*/manifest.json")), folder)

    def Tokenizer(self, folder):
        """The tokenizers of the reference, with all parts of the JSON files but few tokens, so that damage reaches more than the
        vocabulary."""
        tokenizers = ROOT / "tests" / "reference" / "tokenizers"
        for name in ("llama2", "unigram"):
            shutil.copy(tokenizers / name / "tokenizer.model", folder / f"{name}.model")
        for name in ("llama3", "tinyllama"):
            content = json.loads((tokenizers / name / "tokenizer.json").read_text())
            model, added = content["model"], content["added_tokens"]
            model["merges"] = [pair for pair in model["merges"] if all(len(word) < 3 for word in pair)][:8]
            needed = {"".join(pair) for pair in model["merges"]} | {word for pair in model["merges"] for word in pair} | {token["content"] for token in added}
            kept = [word for word in model["vocab"] if len(word) == 1 or word.startswith("<0x") or word in needed]
            model["vocab"] = {word: id for id, word in enumerate(kept)}
            (folder / f"{name}.json").write_text(json.dumps(numbered(content), ensure_ascii=False))
        forms = json.loads((tokenizers / "forms.json").read_text())
        for name in ("falcon", "qwen3", "gemma", "bert_uncased", "minilm", "albert", "t5"):
            content = forms["forms"][name]["file"]
            vocabulary = forms["vocabularies"][forms["forms"][name]["vocabulary"]]["vocab"]
            few = vocabulary[:60] if isinstance(vocabulary, list) else {word: id for word, id in vocabulary.items() if id < 330}
            content["model"].update({"vocab": few, **({"merges": []} if content["model"]["type"] == "BPE" else {})})
            (folder / f"{name}.json").write_text(json.dumps(numbered(content), ensure_ascii=False))
        tokens = [bytes([byte]) for byte in range(256)] + [b"he", b"ll", b"hell"]
        (folder / "tiktoken.model").write_text("".join(f"{base64.b64encode(token).decode()} {rank}\n" for rank, token in enumerate(tokens)))

    # Damaged forms of each file.
    TARGETS = {"Config": 150, "Foreign": 25, "Frames": 50, "Handshake": 150, "Index": 150, "Manifest": 150, "ModelText": 1, "Picture": 60, "Program": 75, "Safetensors": 10, "Tokenizer": 20, "Wire": 150}
    TARGETS.update({"Machine": 5, "Schedule": 50})

    def test_corpora(self):
        replay = BUILD / "bin" / "npar_fuzz_replay"
        if LONG:
            self.assertIsNone(build(BUILD / "fuzz"))
            replay = BUILD / "fuzz" / "npar_fuzz_replay"
        for target, damaged in self.TARGETS.items():
            with self.subTest(target=target):
                files = self.corpus(target)
                self.assertTrue(files)
                command = [replay, target, damaged * (40 if LONG else 1), *files]
                result = subprocess.run(list(map(str, command)), cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=1800)
                self.assertEqual(result.returncode, 0, result.stderr.decode(errors="replace")[-4000:])
                print("   ", result.stdout.decode().strip(), flush=True)

    def fuzzing_clang(self):
        """A clang that has libFuzzer and takes ANTLR's headers (14 does not, for a constant member without a value); else the test is skipped."""
        probe = b'#include <antlr4-runtime.h>\nextern "C" int LLVMFuzzerTestOneInput(const unsigned char *, unsigned long) { return 0; }'
        reasons = []
        for clang in filter(None, map(shutil.which, ["clang++-22", "clang++", "clang++-19", "clang++-16"])):
            command = [clang, "-std=c++17", "-fsanitize=fuzzer", "-isystem", "/usr/include/antlr4-runtime", "-x", "c++", "-", "-o", self.folder / "probe"]
            result = subprocess.run(command, stderr=subprocess.PIPE, input=probe)
            if result.returncode == 0:
                return clang
            reasons.append(f"{clang}: {result.stderr.decode(errors='replace')[:200]}")
        return self.skipTest("; ".join(reasons) or "clang++ is not installed")

    @unittest.skipUnless(LONG, "NPAR_LONG is not set")
    def test_libfuzzer(self):
        clang = self.fuzzing_clang()
        self.assertIsNone(build(BUILD / "libfuzzer", f"-DCMAKE_CXX_COMPILER={clang}", "-DCMAKE_C_COMPILER=" + clang.replace("++", ""), "-DNPAR_LIBFUZZER=ON"))
        only = os.environ.get("NPAR_FUZZ_TARGETS", "").split() or self.TARGETS
        for target in only:
            with self.subTest(target=target):
                self.corpus(target)
                found = self.folder / f"{target}-found"
                found.mkdir()
                command = [BUILD / "libfuzzer" / f"npar_fuzz_{target}", f"-max_total_time={SECONDS}", "-timeout=60", "-rss_limit_mb=4096",
                           "-max_len=200000", f"-artifact_prefix={self.folder}/{target}-", found, self.folder / target]  # fmt: skip
                result = subprocess.run(list(map(str, command)), cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                log = result.stdout.decode(errors="replace")
                for path in self.folder.glob(f"{target}-crash-*"):  # kept, for it is the next file of the corpus
                    shutil.copy(path, BUILD)
                self.assertEqual(result.returncode, 0, log[-6000:])
                print("   ", target, log.strip().splitlines()[-1], flush=True)


if __name__ == "__main__":
    unittest.main()
