"""Where outputs go: every command that writes makes the folder that its output is, and none above it; a name says the format."""

import shutil
import unittest

from driver import SMALL, DriverTest, safetensors_file, settings

import pytorch_file  # of tests/reference, as the driver has it on the path

ONE = ["gpt2", "--plan", "none", *settings(SMALL, depth=1)]
TRAIN = ["run", *ONE, "--random-data", "--steps", 1, "--quiet"]


class OutputsTest(DriverTest):
    def setUp(self):
        super().setUp()
        self.npar(*TRAIN, "--checkpoint", "run", "--output", "w.safetensors")
        self.text = self.text_file(600)
        (self.folder / "s.csv").write_text("0F0,0B0\n")

    def files(self):
        """Commands that end in the name of a file to write."""
        measure = ["eval", "run", "--data", self.text, "--tokens", "bytes"]
        simulate = ["simulate", *ONE, "--machine", "p4d"]
        return {
            "run --log": [*TRAIN, "--log"],
            "run --trace": [*TRAIN, "--trace"],
            "run --output": [*TRAIN, "--output"],
            "eval --log": [*measure, "--log"],
            "compile -o": ["compile", *ONE, "-o"],
            "inspect --svg": ["inspect", *ONE, "--svg"],
            "inspect --html": ["inspect", *ONE, "--html"],
            "inspect --trace": ["inspect", *ONE, "--trace"],
            "simulate --svg": [*simulate, "--svg"],
            "simulate --trace": [*simulate, "--trace"],
            "simulate --html": [*simulate, "--html"],
            "sweep --csv": ["sweep", *ONE[: ONE.index("batch=16") - 1], "--machine", "p4d", "--over", "batch=16", "--csv"],
            "tokens --output": ["tokens", "bytes", "--text", self.text, "--output"],
            "consolidate -o": ["checkpoint", "consolidate", "run", "-o"],
        }

    def folders(self):
        """Commands that end in the name of a folder to write."""
        return {
            "run --checkpoint": [*TRAIN, "--checkpoint"],
            "run --log": [*TRAIN, "--log"],
            "eval --log": ["eval", "run", "--data", self.text, "--tokens", "bytes", "--log"],
            "reshard -o": ["checkpoint", "reshard", "run", "--shards", 2, "-o"],
            "consolidate --shard-size -o": ["checkpoint", "consolidate", "run", "--shard-size", "1MB", "-o"],
            "export --output": ["export", "run", "--output"],
        }

    def test_a_folder_above_an_output_is_never_made(self):
        """A mistyped path, or a mount that is away, must not become a new folder."""
        for name, command in self.files().items():
            ending = ".u16" if name.startswith("tokens") else ".csv" if name.endswith("csv") else ""
            with self.subTest(command=name):
                self.assertIn(f"no/out{ending}", self.npar(*command, f"no/out{ending}", code=1).error)
        for name, command in self.folders().items():
            with self.subTest(command=name):
                self.assertIn("no", self.npar(*command, "no/out/", code=1).error)
        self.assertFalse((self.folder / "no").exists())

    def test_an_output_that_is_a_folder_is_made(self):
        for name, command in self.folders().items():
            with self.subTest(command=name):
                self.npar(*command, "out/")
                self.assertTrue(any((self.folder / "out").iterdir()))
                shutil.rmtree(self.folder / "out")

    def test_safetensors_have_no_other_name(self):
        for flag, command in {
            "--output": [*TRAIN, "--output"],
            "-o": ["checkpoint", "consolidate", "run", "-o"],
            "--outputs": ["eval", "run", "--data", self.text, "--tokens", "bytes", "--outputs"],
        }.items():
            for name in ("full.pt", "full.npz", "model.bin"):
                with self.subTest(flag=flag, name=name):
                    stem, ending = name.split(".")
                    error = self.npar(*command, name, code=2).error
                    self.assertIn(f"{flag} writes a safetensors file, not '.{ending}': name the file '{stem}.safetensors' instead of '{name}'", error)
                    self.assertFalse((self.folder / name).exists())
        self.npar(*TRAIN, "--output", "/dev/null")
        self.npar("checkpoint", "consolidate", "run", "-o", "plain")

    def test_consolidate_takes_parameters(self):
        parameters = self.npar("checkpoint", "consolidate", "run", "-o", "p.safetensors").error
        self.assertRegex(parameters, r"; left out \d+ tensors that are not of kind 'parameter' \(--only all includes them\)")
        self.npar("checkpoint", "diff", "p.safetensors", "w.safetensors")
        sizes = {}
        for only in ("parameter", "state", "all"):
            result = self.npar_json("checkpoint", "consolidate", "run", "--only", only, "-o", f"{only}.safetensors")
            sizes[only] = (result["tensors"], result["left_out"])
        self.assertEqual(sizes["parameter"][0] + sizes["state"][0], sizes["all"][0])
        self.assertEqual(sizes["all"][1], 0)
        self.assertEqual((self.folder / "p.safetensors").read_bytes(), (self.folder / "parameter.safetensors").read_bytes())

    def test_consolidate_for_pytorch(self):
        """The same tensors in the same order, in a file that holds nothing but calls that PyTorch allows; a pipe gets the same bytes."""
        for only in ("parameter", "all"):
            self.npar("checkpoint", "consolidate", "run", "--only", only, "-o", f"{only}.safetensors")
            report = self.npar_json("checkpoint", "consolidate", "run", "--only", only, "--format", "pytorch", "-o", f"{only}.pt")
            expected, found = safetensors_file.read(self.folder / f"{only}.safetensors"), pytorch_file.read(self.folder / f"{only}.pt")
            self.assertEqual(list(found), list(expected))
            self.assertEqual(report["tensors"], len(found))
            for name, tensor in expected.items():
                self.assertEqual(found[name], (tuple(tensor.shape), tensor.values), name)
        piped = self.npar("checkpoint", "consolidate", "run", "--format", "pytorch", "-o", "/dev/stdout").stdout
        self.assertEqual(piped, (self.folder / "parameter.pt").read_bytes())
        for name, said in (
            ("m.safetensors", "--format pytorch writes a PyTorch file, not '.safetensors': name the file 'm.pt' instead of 'm.safetensors'"),
            ("m.pt", "name the file 'm.safetensors' instead of 'm.pt', or give --format pytorch"),
        ):
            flags = ["--format", "pytorch"] if name == "m.safetensors" else []
            self.assertIn(said, self.npar("checkpoint", "consolidate", "run", *flags, "-o", name, code=2).error)
        error = self.npar("checkpoint", "consolidate", "run", "--format", "pytorch", "--shard-size", "1MB", "-o", "m.pt", code=2).error
        self.assertIn("--format pytorch writes one file: leave out --shard-size", error)
        error = self.npar(*TRAIN, "--weights", "parameter.pt", code=1).error
        self.assertIn("cannot read weights 'parameter.pt': it is a file of torch.save", error)
        self.assertIn("save_file(torch.load('parameter.pt', weights_only=True), 'parameter.safetensors')", error)


if __name__ == "__main__":
    unittest.main()
