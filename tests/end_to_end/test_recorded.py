"""Files that earlier versions of npar wrote, in tests/recorded: what is kept is read with the recorded results, what is not is refused in words."""

import json
import re
import shutil
import unittest

import json_schema
from driver import ROOT, DriverTest

RECORDED = ROOT / "tests" / "recorded"
DATA = ["--data", "data.bin", "--tokens", "bytes", "--quiet"]
ANOTHER_CPU = "need CPU features that this machine lacks"


def formats_of_this_npar():
    """The numbers that the sources write."""
    program = re.search(r"formatVersion = (\d+);", (ROOT / "engine" / "program" / "Loader.cpp").read_text())
    checkpoint = re.search(r"uint64_t version = (\d+);", (ROOT / "engine" / "checkpoint" / "Manifest.h").read_text())
    return {"program": int(program.group(1)), "checkpoint": int(checkpoint.group(1))}


class RecordedTest(DriverTest):
    def recordings(self):
        """Yields the expectations of each recording; npar runs in a copy of it."""
        above = self.folder
        for expected in sorted(RECORDED.glob("*/expected.json")):
            self.folder = shutil.copytree(expected.parent, above / expected.parent.name)
            with self.subTest(expected.parent.name):
                yield json.loads(expected.read_text())

    def train(self, model, steps, *flags):
        return self.npar_json("train", model, *DATA, "--steps", steps, *flags)

    def test_checkpoints_resume_under_any_plan(self):
        for expected in self.recordings():
            saved = expected["checkpoint"]
            for plan in (["--plan", "first"], ["--plan", "second"], ["--plan", "none", "--set", "compute=f64"]):
                with self.subTest(plan=plan):
                    resume = [*plan, "--checkpoint", shutil.copytree(self.folder / "checkpoint", self.folder / plan[1]), "--resume"]
                    self.assertEqual(self.train("model.npar", saved["steps"], *resume)["parameter_hash"], saved["parameter_hash"])
                    self.assert_close(self.train("model.npar", 5, *resume)["loss"], saved["loss_after_5"], 1e-10)
            self.npar("checkpoint", "verify", "checkpoint")

    def test_weights_load(self):
        for expected in self.recordings():
            weights = expected["weights"]
            self.npar("checkpoint", "diff", "checkpoint", "weights.safetensors", "--only", "parameter")
            self.assert_close(self.train("model.npar", 1, "--plan", "second", "--weights", "weights.safetensors")["loss"], weights["loss_after_1"], 1e-10)

    def test_programs_of_this_format_train_and_others_are_refused(self):
        now = formats_of_this_npar()["program"]
        for expected in self.recordings():
            program = expected["program"]
            if program["format"] != now:
                self.assert_refused("program.npx", program["format"], now)
                continue
            result = self.npar("train", "program.npx", *DATA, "--steps", 2, "--json", code=None)
            if ANOTHER_CPU in result.error:
                self.skipTest("the recorded program needs AVX2")
            self.assert_close(json.loads(result.output)["loss"], program["loss_after_2"], 1e-10)
            content = bytearray((self.folder / "program.npx").read_bytes())
            for other in (now - 1, now + 1):
                content[8:12] = other.to_bytes(4, "little")
                (self.folder / "other.npx").write_bytes(content)
                self.assert_refused("other.npx", other, now)

    def assert_refused(self, name, number, now):
        error = self.npar("train", name, *DATA, "--steps", 2, code=1).error
        self.assertIn(f"{name}': format version {number}, this npar reads version {now}; compile the model again with this npar", error)

    def test_documents_still_have_their_schemas(self):
        """A member that a schema does not have any more, or has with another type, needs a new number. New members may appear."""
        for _ in self.recordings():
            documents = sorted((self.folder / "json").glob("*.json"))
            self.assertGreater(len(documents), 5)
            for path in documents:
                wrong = [error for error in json_schema.validate(json.loads(path.read_text()), path.stem) if not error.endswith("is missing")]
                self.assertEqual(wrong, [], path.name)

    def test_formats_of_this_npar_are_recorded(self):
        """A new number needs a recording: tests/recorded/README.md."""
        for kind, number in formats_of_this_npar().items():
            self.assertIn(number, [expected[kind]["format"] for expected in self.recordings()])


if __name__ == "__main__":
    unittest.main()
