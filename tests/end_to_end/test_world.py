"""The number of ranks from outside the plan: `rest`, --world, --devices, the processes of a job; and the batch that follows from --accumulate."""

import os

from driver import NPAR
from test_torchrun import TcpTest

STANDIN = NPAR.parent.parent / "lib" / "libnpar_standin_cuda.so"
TEXT = """import "mlp"

train own for Mlp {{
    {batch}
    optimizer Sgd(lr = 0.1)
}}

plan shared(dp = rest, tp = 2) for Mlp {{
    mesh dp, tp
    {micro}
    split {{
        batch  -> dp
        hidden -> tp
    }}
}}
"""
SMALL = ["--train", "own", *(word for size in ("width=16", "inner=32", "length=8", "vocab=32") for word in ("--set", size))]


class WorldTest(TcpTest):
    def setUp(self):
        super().setUp()
        self.text()

    def text(self, batch="batch 16", micro="micro 2"):
        (self.folder / "m.npar").write_text(TEXT.format(batch=batch, micro=micro))

    def ranks(self, *arguments):
        return self.npar_json("simulate", "m.npar", *SMALL, "--machine", "dgx-a100", *arguments)["ranks"]

    def test_an_axis_takes_the_rest(self):
        self.assertEqual(self.ranks("--world", 8), 8)
        self.assertEqual(self.ranks("--set", "world=8", "--set", "tp=4"), 8)
        self.assertEqual(self.ranks("--world", 4, "--set", "mesh.dp=2", "--set", "mesh.tp=rest"), 4)
        self.assertEqual(self.ranks("--set", "dp=3", "--set", "batch=12"), 6)
        error = self.npar("inspect", "m.npar", *SMALL, code=1).error
        self.assertIn("m.npar:9:10: error: mesh axis 'dp' takes the rest of the ranks, and their number is not known (tp = 2)", error)
        self.assertIn("--world 4", error)
        self.assertEqual(self.ranks("--hosts", 1), 8)
        self.npar("inspect", "hosts", "m.npar", *SMALL, "--hosts", 2, "--per-host", 4)

    def test_processes_are_ranks(self):
        """A plan with `rest` has a rank per process, and the bits of that plan in one process."""
        run = ["train", "m.npar", *SMALL, "--random-data", "--steps", 2, "--threads", 1, "--json", "--quiet"]
        alone = self.npar_json(*run[:-2], "--quiet", "--world", 4)["parameter_hash"]
        self.assertEqual(self.npar_json(*run[:-2], "--quiet", "--devices", 4)["parameter_hash"], alone)
        first, *_ = self.ended(self.start(4, *run))
        self.assertIn(alone, first[0])

    def test_devices_of_a_host(self):
        for command in (["simulate", "m.npar", *SMALL], ["plan", "mlp", "--batch", 16]):
            error = self.npar(*command, "--machine", "dgx-a100", "--devices", 9, code=2).error
            self.assertIn("--devices 9: a host of machine 'dgx_a100' has 8 devices", error)
        two = self.npar_json("simulate", "m.npar", *SMALL, "--machine", "dgx-a100", "--hosts", 2, "--devices", 2)
        self.assertEqual((two["ranks"], two["hosts"]), (4, 2))
        self.assertIn("--devices needs --machine NAME", self.npar("simulate", "m.npar", *SMALL, "--devices", 2, code=2).error)

    def test_gpus_of_this_host(self):
        devices = dict(os.environ, NPAR_CUDA_DRIVER=str(STANDIN), NPAR_STANDIN_DEVICES="4")
        run = ["train", "m.npar", *SMALL, "--random-data", "--steps", 1, "--threads", 1, "--backend", "cuda"]
        error = self.npar(*run, "--devices", 5, env=devices, code=1).error
        self.assertIn("--devices 5: this host has 4 GPUs that npar can see (npar devices shows them)", error)
        self.assertIn("cannot be used together", self.npar(*run, "--devices", 2, "--cuda-gpus", 2, env=devices, code=2).error)
        two = self.npar_json(*run, "--devices", 2, "--quiet", env=devices)
        self.assertEqual(len(two["ranks"]), 2)
        self.assertEqual(len(self.npar_json(*run, "--quiet", env=devices)["ranks"]), 4)

    def test_the_batch_of_micro_batches(self):
        """Each of batch, micro and accumulate follows from the other two."""
        run = ["train", "m.npar", *SMALL, "--world", 4, "--random-data", "--steps", 2, "--threads", 1]
        expected = self.npar_json(*run, "--quiet")["parameter_hash"]
        self.assertEqual(self.npar_json(*run, "--quiet", "--accumulate", 4)["parameter_hash"], expected)
        error = self.npar(*run, "--accumulate", 3, code=1).error
        self.assertIn("batch 16 is not dp * micro * accumulate = 2 * 2 * 3 = 12", error)
        self.text(micro="accumulate 4")
        self.assertEqual(self.npar_json(*run, "--quiet")["parameter_hash"], expected)
        self.text(batch="")
        result = self.npar(*run, "--accumulate", 4)
        self.assertIn("npar: batch 16 = 2 ranks x 2 x 4", result.error)
        self.assertIn(expected, result.output)
        self.assertIn("train block 'own' has no batch", self.npar(*run, code=1).error)
        self.npar("verify", "m.npar", *SMALL, "--world", 4, "--accumulate", 4)
        # Only a training needs the batch.
        for plan in (["--plan", "none"], ["--world", 4]):
            self.npar("compile", "m.npar", *SMALL, *plan, "--for", "eval", "-o", "eval.npx")
        self.assertIn("--set world=4 cannot change a compiled program", self.npar("train", "eval.npx", "--world", 4, "--random-data", code=2).error)
        self.npar("plan", "m.npar", *SMALL, "--batch", 16, "--machine", "dgx-a100", "--devices", 1)
