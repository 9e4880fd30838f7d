"""npar checkpoint: what it shows, compares, consolidates and reshards is the checkpoint, and a run can resume from what it writes."""

import json
import shutil
import struct
import subprocess
import sys
import unittest

from driver import NPAR, SANITIZED, SMALL, DriverTest, mesh, safetensors_file, settings

MODEL = ["gpt2", *settings({**SMALL, "vocab": 256, "depth": 2})]
PLANS = {"three_d": settings(mesh(dp=2, pp=2, tp=2), zero=1), "one": ["--plan", "none"], "zero3": settings(mesh(dp=4), zero=3, compute="bf16")}


class CommandTest(DriverTest):
    def save(self, plan, steps=2, folder="run", *flags):
        program = self.folder / f"{plan}.npx"
        if not program.exists():
            self.npar("compile", *MODEL, *PLANS[plan], "-o", program)
        flags = ["--data", self.text_file(4000), "--tokens", "bytes", "--steps", steps, "--quiet", "--checkpoint", folder, *flags]
        return self.npar_json("run", program, *flags)

    def test_show(self):
        self.save("three_d")
        shown = self.npar_json("checkpoint", "show", "run")
        self.assertEqual((shown["step"], shown["world"], shown["plan"], shown["compute"]), (2, 8, "three_d", "f32"))
        self.assertEqual({axis["axis"]: axis["size"] for axis in shown["mesh"]}, {"dp": 2, "pp": 2, "tp": 2})
        self.assertEqual(shown["data"][0]["samples"], 2 * SMALL["batch"])
        files = {path.name: path.stat().st_size for path in (self.folder / "run" / "step-2").glob("*.safetensors")}
        self.assertEqual({file["name"]: file["bytes"] for file in shown["files"]}, files)
        self.assertEqual(sum(tensor["bytes"] for tensor in shown["tensors"]), shown["bytes"])
        table = self.npar("checkpoint", "show", "run/step-2").output
        for tensor in shown["tensors"]:
            self.assertIn(f"\n{tensor['name']} ", table)

    def test_diff_of_two_steps(self):
        self.save("three_d", 1)
        self.save("three_d", 2, "run", "--resume")
        result = self.npar("checkpoint", "diff", "run/step-1", "run/step-2", "--json", "--only", "parameter", code=3)
        difference = json.loads(result.output)
        self.assertFalse(difference["equal"])
        wte = next(each for each in difference["differences"] if each["name"] == "wte.weight")
        weights = [self.consolidated(f"run/step-{step}")["wte.weight"].values for step in (1, 2)]
        pairs = [(a, b) for a, b in zip(*weights)]
        self.assertEqual(wte["differing"], sum(a != b for a, b in pairs))
        self.assertAlmostEqual(wte["max_absolute"], max(abs(a - b) for a, b in pairs))
        first = next(i for i, (a, b) in enumerate(pairs) if a != b)
        self.assertEqual(wte["place"], [first // SMALL["width"], first % SMALL["width"]])

    def consolidated(self, folder):
        self.npar("checkpoint", "consolidate", folder, "-o", "all.safetensors")
        return safetensors_file.read(self.folder / "all.safetensors")

    def test_a_run_goes_on_from_any_cut(self):
        self.save("zero3")
        cuts = {"whole": None, "shards": ["--shards", 3], "one": [*MODEL, *PLANS["one"]], "three_d": [*MODEL, *PLANS["three_d"]]}
        results = {}
        for name, how in cuts.items():
            with self.subTest(cut=name):
                if how is None:
                    shutil.copytree(self.folder / "run", self.folder / name)
                else:
                    self.npar("checkpoint", "reshard", "run", *how, "-o", name)
                    self.npar("checkpoint", "verify", name)
                    self.npar("checkpoint", "diff", "run", name)
                results[name] = self.save("zero3", 4, name, "--resume")["parameter_hash"]
        self.assertEqual(len(set(results.values())), 1, results)

    def test_weights_of_a_run_are_its_checkpoint(self):
        self.save("zero3", 2, "run", "--output", "w.safetensors")  # bf16: both hold the masters
        error = self.npar("checkpoint", "diff", "run", "w.safetensors").error
        self.assertIn("tensors of state are in the checkpoint alone: left out", error)
        self.npar("checkpoint", "consolidate", "run", "--only", "parameter", "--shard-size", "40kB", "-o", "model")
        self.assertIn("model-00001-of-", " ".join(path.name for path in (self.folder / "model").iterdir()))
        self.npar("checkpoint", "diff", "w.safetensors", "model")

    @unittest.skipIf(SANITIZED, "measures memory, of which the sanitizer takes more than the limit")
    def test_memory_does_not_grow_with_the_checkpoint(self):
        """Two tensors of 256 MiB, one file each, all zeros and holes."""
        size = 256 << 20
        for name in "ab":
            header = json.dumps({"w": {"dtype": "F32", "shape": [size // 4], "data_offsets": [0, size]}}).encode()
            header += b" " * (-len(header) % 8)
            with open(self.folder / f"{name}.safetensors", "wb") as file:
                file.write(struct.pack("<Q", len(header)) + header)
                file.truncate(8 + len(header) + size)
        script = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
        command = [sys.executable, "-c", script, NPAR, "checkpoint", "diff", "a.safetensors", "b.safetensors"]
        result = subprocess.run(list(map(str, command)), cwd=self.folder, stdout=subprocess.PIPE, check=True, text=True)
        self.assertLess(int(result.stdout.split()[-1]), 200 << 10)  # KiB, the libraries' own included


if __name__ == "__main__":
    unittest.main()
