"""Estimators of SageMaker (`npar simulate --from`): the dictionary `distribution` in Python files, notebooks and JSON. Nothing is executed: literals and names
bound to them are read, and what is computed is refused by its line if it matters."""

import json
import pathlib
import unittest

from driver import LONG, DriverTest

SHORT = None if LONG else 3  # cases of a table in the short form

MACHINE = ("--machine", "p3.16xlarge")
CONFIG = ("--model-config", pathlib.Path(__file__).resolve().parent / "foreign" / "small.json")

# The estimator of a book's notebooks on SageMaker: two hosts, four processes on each, a model in two partitions.
ESTIMATOR = '''from sagemaker.pytorch import PyTorch

mpioptions = "-verbose -x orte_base_help_aggregate=0 "
#instance_type = 'ml.p2.xlarge'
instance_type = 'ml.p3.16xlarge'
instance_count = 2

smd_mp_estimator = PyTorch(
          entry_point="train_sm_mp.py",  # Pick your train script
          role=role,
          instance_type=instance_type,
          sagemaker_session=sagemaker_session,
          instance_count=instance_count,
          hyperparameters={
              "batch-size":64,
              "epochs":30,
              "sync-s3-path":f"s3://{bucket}/output",
          },
          distribution={
              "smdistributed": {
                  "modelparallel": {
                      "enabled":True,
                      "parameters": {
                          "microbatches": 8,  # Batch size must be divisible by it.
                          "placement_strategy": "cluster",
                          "pipeline": "interleaved",
                          "optimize": "speed",
                          "partitions": 2,
                          "auto_partition": True,
                          "ddp": True,
                      }
                  }
              },
              "mpi": {"enabled": True, "processes_per_host": 4, "custom_mpi_options": mpioptions},
          },
          base_job_name="SMD-MP",
      )
'''


class SageMakerTest(DriverTest):
    def write(self, text, name="job.py"):
        (self.folder / name).write_text(text)
        return name

    def run_of(self, text, *flags, name="job.py"):
        return self.npar_json("simulate", "--from", self.write(text, name), *MACHINE, *CONFIG, *flags)["from"]

    def plan(self, text, *flags):
        return self.npar("simulate", "--from", self.write(text), *CONFIG, *flags, "--print-plan").output

    def error(self, text, *flags, name="job.py"):
        return self.npar("simulate", "--from", self.write(text, name), *MACHINE, *CONFIG, *flags, code=1).error

    def changed(self, *pairs):
        text = ESTIMATOR
        for old, new in pairs:
            self.assertEqual(text.count(old), 1, old)
            text = text.replace(old, new)
        return text

    def test_model_parallel(self):
        run = self.run_of(ESTIMATOR)
        self.assertEqual((run["program"], run["mesh"]["pp"], run["mesh"]["dp"], run["batch"], run["micro"], run["micros"]), ("SageMaker", 2, 4, 256, 8, 8))
        self.assertEqual([(one["line"], one["setting"]) for one in run["not_taken"]], [(17, "hyperparameters.sync_s3_path: ?")])
        plan = self.plan(ESTIMATOR)
        for line in ("mesh dp = 4, pp = 2\n", "-> pp by 1f1b\n", "The run has its ranks on 2 hosts, 4 on each."):
            self.assertIn(line, plan)
        self.assertIn("mesh pp = 2, dp = 4\n", self.plan(self.changed(('"cluster"', '"spread"'))))
        self.assertIn("-> pp by gpipe\n", self.plan(self.changed(('"interleaved"', '"simple"'))))

    def test_groups_are_those_of_the_documentation(self):
        """ranks [0, 1] hold the model under "cluster", [0, 4] under "spread", and with tensor parallelism the letters decide."""
        for strategy, mesh in (("cluster", "dp = 2, pp = 2, tp = 2"), ("spread", "tp = 2, pp = 2, dp = 2"), ("PTD", "pp = 2, tp = 2, dp = 2"), ("DPT", "dp = 2, pp = 2, tp = 2")):
            text = self.changed(('"cluster"', f'"{strategy}", "tensor_parallel_degree": 2'))
            self.assertIn(f"mesh {mesh}\n", self.plan(text))

    def test_shares(self):
        run = self.run_of(self.changed(('"partitions": 2', '"pipeline_parallel_degree": 1, "sharded_data_parallel_degree": 4, "fp16": True, "offload_activations": True')))
        self.assertEqual((run["zero"], run["mesh"]["dp"], run["mesh"]["replicas"], run["compute"]), (3, 4, 2, "fp16"))
        self.assertIn("offload_activations: true", [one["setting"] for one in run["not_taken"]])
        self.assertEqual(self.run_of(self.changed(('"ddp": True', '"ddp": True, "shard_optimizer_state": True')))["zero"], 1)

    def test_other_ways(self):
        start, end = ESTIMATOR.index("distribution={"), ESTIMATOR.index("          base_job_name")
        ways = (('{"smdistributed": {"dataparallel": {"enabled": True}}}', 16), ('{"torch_distributed": {"enabled": True}}', 16), ('{"pytorchddp": dict(enabled=True)}', 16),
                           ('{"mpi": {"enabled": True, "processes_per_host": 4 * 2 // 1}}', 16), ('{"multi_worker_mirrored_strategy": {"enabled": True}}', 16))
        for way, ranks in ways[:SHORT]:
            with self.subTest(way):
                run = self.run_of(ESTIMATOR[:start] + f"distribution={way},\n" + ESTIMATOR[end:])
                self.assertEqual((run["mesh"]["dp"], run["batch"], run["zero"]), (ranks, 64 * ranks, 0))
        for way, message in (('{"parameter_server": {"enabled": True}}', "npar has no parameter servers"), ("{}", "the file leaves open how processes work together"),
                             ("ways[0]", "the file leaves open how processes work together")):
            self.assertIn(message, self.error(ESTIMATOR[:start] + f"distribution={way},\n" + ESTIMATOR[end:]))

    def test_notebooks_and_json(self):
        """A notebook's lines are those of its file; other cells and outputs do not count."""
        lines = [line + "\n" for line in ESTIMATOR.replace('"partitions": 2', '"partitions": parts').splitlines()]
        cells = [{"cell_type": "markdown", "source": ["distribution = 1\n"]}, {"cell_type": "code", "outputs": [{"text": ["instance_type\n"]}], "source": ["!pip install x\n", "parts = 2"]},
                 {"cell_type": "code", "outputs": [], "source": lines}]
        notebook = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}, indent=1)
        self.assertEqual(self.run_of(notebook, name="job.ipynb")["mesh"], self.run_of(ESTIMATOR)["mesh"])
        broken = notebook.replace("parts = 2", "parts = count()")
        place = next(number for number, line in enumerate(broken.splitlines(), 1) if "partitions" in line)
        self.assertIn(f"job.ipynb:{place}:", self.error(broken, name="job.ipynb"))
        settings = {"distribution": {"mpi": {"enabled": True, "processes_per_host": 8}, "smdistributed": {"modelparallel": {"enabled": True, "parameters": {"partitions": 4, "ddp": True}}}},
                    "instance_type": "ml.p4d.24xlarge", "instance_count": 1}
        self.assertEqual(self.run_of(json.dumps(settings), name="job.json")["mesh"]["pp"], 4)
        options = "smp = {'enabled': True, 'parameters': {'partitions': 2}}\nsame = smp\nsame['parameters']['ddp'] = True\ndistribution = {'smdistributed': {'modelparallel': smp}}\n"
        self.assertEqual(self.run_of(options, "--world", 8)["mesh"]["dp"], 4)

    def test_what_is_no_literal(self):
        pairs = (
            (("instance_count = 2", "instance_count = 2\nfrom sizes import instance_count"), "depends on what line 7 imports"),
            (("instance_count = 2", "instance_count = args.hosts"), "depends on 'args.hosts', which is no literal"),
            (("instance_count = 2", "if big:\n    instance_count = 4"), "depends on what line 6 decides: 'instance_count' is set below it"),
            (("instance_count = 2", "instance_count = 2\nfor instance_count in [1, 2]:\n    pass"), "depends on what line 7 sets 'instance_count' to"),
            (("instance_count = 2", "sizes = {'n': 2}\nsizes.pop('n')\ninstance_count = sizes"), "depends on a change of 'sizes' that npar does not follow"),
            (("instance_count = 2", ""), "depends on 'instance_count', which the file does not set to a literal"),
            (("instance_count = 2", "instance_count = 2\ninstance_count += 1"), "which npar does not compute"),
            (('"partitions": 2', '"partitions": f"{n}"'), "whose braces are filled in when it runs"),
        )
        for pair, message in pairs[:SHORT]:
            with self.subTest(pair):
                error = self.error(self.changed(pair))
                self.assertIn(message, error)
                self.assertIn("help: put the value itself there", error)

    def test_refused(self):
        two = ESTIMATOR + ESTIMATOR
        refusals = (
            (two, "this file has 2 estimators: line 8 and line 45"),
            (self.changed(("'ml.p3.16xlarge'", "'ml.p99.large'")), "npar does not know how many devices an instance 'ml.p99.large' has"),
            (self.changed(('"processes_per_host": 4', '"processes_per_host": 16')), "16 processes per host are more than the 8 devices"),
            (self.changed(('"ddp": True', '"ddp": False')), "8 processes are more than the 2 of one model replica, and ddp is not true"),
            (self.changed(('"microbatches": 8', '"microbatches": 7')), "64 samples of a model replica are not divisible into 7 micro-batches"),
            (self.changed(('"cluster"', '"DD"')), "an order of the letters D, P and T, not 'DD'"),
            (self.changed(('"interleaved"', '"zigzag"')), "pipeline is 'interleaved' or 'simple'"),
            (self.changed(('"speed"', '"money"')), "optimize is 'memory' or 'speed'"),
            (self.changed(('"partitions": 2', '"partitions": 1, "sharded_data_parallel_degree": 3')), "8 data-parallel ranks are not divisible into groups of 3"),
            ("smp = {'smdistributed': {}}\nmpi = {'mpi': {}}\n", "several dictionaries"),
        )
        for text, message in refusals[:SHORT]:
            with self.subTest(message):
                self.assertIn(message, self.error(text))

    def test_the_trainers_script(self):
        """The arguments of an example script of transformers are read as its command line is."""
        text = self.changed(('"batch-size":64,\n              "epochs":30,', '"per_device_train_batch_size": 8, "model_name_or_path": "gpt2", "num_train_epochs": 2,'), ("train_sm_mp.py", "run_clm.py"))
        (self.folder / "job.py").write_text(text)
        run = self.npar_json("simulate", "--from", "job.py", *MACHINE)["from"]
        self.assertEqual((run["model"]["depth"], run["batch"], run["micro"]), ("12", 32, 1))
        # Later calls replace arguments.
        (self.folder / "job.py").write_text(text + "smd_mp_estimator.set_hyperparameters(per_device_train_batch_size=16)\n")
        self.assertEqual(self.npar_json("simulate", "--from", "job.py", *MACHINE)["from"]["batch"], 64)


if __name__ == "__main__":
    unittest.main()
