"""Every name of another program's settings has a class (tools/lib/foreign: NameTable.h): taken, lacking with a note, or about the run alone. The names
and their defaults were listed by the programs' own parsers (tests/reference/foreign_names.py)."""

import json
import re
import unittest

from driver import REFERENCE, ROOT, DriverTest

FOLDER = ROOT / "tools" / "lib" / "foreign"
LISTED = json.loads((REFERENCE / "foreign_names.json").read_text())
TABLES = {"megatron": "megatron/Names.cpp", "torchtitan": "TorchtitanNames.cpp", "deepspeed": "DeepSpeedNames.cpp", "accelerate": "AccelerateNames.cpp",
          "huggingface": "huggingface/Names.cpp"}
READERS = {"megatron": "megatron/*.cpp", "torchtitan": "Torchtitan*.cpp", "deepspeed": "DeepSpeed*.cpp", "accelerate": "Accelerate.cpp",
           "huggingface": "huggingface/*.cpp"}
ROW = re.compile(r'\{Part::(\w+), (nullptr|"(?:[^"\\]|\\.)*"),((?:\s*"[^"]*")+)\}')


def rows(program):
    """[(part, what npar does instead or None, {name: value without effect or ""})]"""
    found = []
    for part, lacking, names in ROW.findall((FOLDER / TABLES[program]).read_text()):
        words = " ".join(re.findall(r'"([^"]*)"', names)).split()
        found.append((part, None if lacking == "nullptr" else lacking.strip('"'), dict((word.split("=", 1) + [""])[:2] for word in words)))
    return found


def has(table, name):
    parts = name.split(".")
    return name in table or any(".".join(parts[:count]) + ".*" in table for count in range(1, len(parts)))


class ForeignNamesTest(unittest.TestCase):
    def test_every_name_has_one_class(self):
        for program, listed in LISTED.items():
            with self.subTest(program):
                table = [name for _, _, names in rows(program) for name in names]
                self.assertEqual(sorted(set(table)), sorted(table))
                self.assertEqual([name for name in listed["names"] if not has(table, name)], [])

    def test_every_part_is_one_of_four(self):
        """What is about the run alone is never lacking."""
        for program in LISTED:
            for part, lacking, names in rows(program):
                self.assertIn(part, ("Model", "Training", "Plan", "Run"))
                self.assertTrue(part != "Run" or lacking is None, names)

    def test_values_without_effect_are_defaults(self):
        """The values in the tables are those that the programs' parsers have."""
        same = {"overlap_p2p_comm", "apply_rope_fusion", "rotary_seq_len_interpolation_factor", "zero_optimization.model_persistence_threshold", "zero_optimization.stage3_model_persistence_threshold",
                "fsdp_config.fsdp_auto_wrap_policy", "fsdp_config.fsdp_backward_prefetch"}  # changed by checks after parsing, or by hand
        for program, listed in LISTED.items():
            for _, lacking, names in rows(program):
                for name, value in names.items():
                    if value and name in listed["names"] and name not in same:
                        with self.subTest((program, name)):
                            self.assertEqual(value, listed["names"][name].replace(",", "").replace(" ", "_"))

    def test_what_is_taken_is_read(self):
        """A reader asks for each name that counts as taken."""
        for program in LISTED:
            sources = "\n".join(path.read_text() for path in sorted(FOLDER.glob(READERS[program])) if not path.name.endswith("Names.cpp"))
            words = set(re.findall(r'"([\w.]+)"', sources))
            for part, lacking, names in rows(program):
                if lacking is not None or part == "Run":
                    continue
                for name in names:
                    with self.subTest((program, name)):
                        ends = [".".join(name.split(".")[start:]) for start in range(name.count(".") + 1)]
                        ends += [re.sub(r"^(fsdp|megatron_lm|parallelism_config)_", "", end) for end in ends]
                        ends += [end.replace("offload_optimizer.", ".").replace("offload_param.", ".") for end in ends]
                        self.assertTrue(words.intersection(ends) or any('"' + end in sources for end in ends), name)


class NamedSettingsTest(DriverTest):
    """What a class means for a file."""

    FLAGS = ("torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 --hidden-size 128 --num-attention-heads 4 --seq-length 64 "
             "--max-position-embeddings 64 --vocab-size 512 --micro-batch-size 2 --global-batch-size 32 --bf16 --hidden-dropout 0 "
             "--attention-dropout 0 --overlap-grad-reduce --lr 1e-4 --train-iters 100 {}\n")

    def read(self, more):
        (self.folder / "run.sh").write_text(self.FLAGS.format(more))
        return self.npar_json("simulate", "--from", "run.sh", "--machine", "dgx-a100")["from"]

    def test_each_class(self):
        plain = self.read("")
        self.assertEqual((plain["not_taken"], plain["differences"], plain["assumed"]), ([], [], []))
        for more, key in (
            ("--log-interval 10 --save /tmp/x --tensorboard-dir y", None),
            ("--init-method-std 0.02", None),  # what it is without the flag
            ("--init-method-std 0.006", "--init-method-std"),
            ("--fp8-format hybrid", "--fp8-format"),
            ("--reset-attention-mask", "--reset-attention-mask"),
            ("--te-precision-config-file fp8.yaml", "--te-precision-config-file"),
            ("--kitchen-recipe-number 5", "--kitchen-recipe-number"),
            ("--no-masked-softmax-fusion", "--no-masked-softmax-fusion"),
            ("--window-size 128,0", "--window-size"),
            ("--frobnicate 3", "--frobnicate"),
        ):
            with self.subTest(more):
                found = self.read(more)
                self.assertEqual([one["setting"].split()[0] for one in found["not_taken"]], [key] if key else [])
        self.assertEqual(len(self.read("--window-size 128,0")["differences"]), 1)

    def test_everything_was_taken_says_that_nothing_was_assumed(self):
        def text(more, *flags):
            (self.folder / "run.sh").write_text(self.FLAGS.format(more))
            return self.npar("simulate", "--from", "run.sh", "--machine", "dgx-a100", *flags).output

        self.assertIn("everything was taken", text(""))
        self.assertNotIn("everything was taken", text("--use-distributed-optimizer"))  # without --overlap-param-gather
        self.assertNotIn("everything was taken", text("--frobnicate 1"))


if __name__ == "__main__":
    unittest.main()
