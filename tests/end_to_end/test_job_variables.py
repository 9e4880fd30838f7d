"""Variables of other launchers: TF_CONFIG and SageMaker's lists of hosts join processes over TCP, and no launcher is ignored without a word."""

import json
import os
import subprocess

from driver import NPAR, DriverTest
from test_torchrun import free_port

RUN = ["train", "mlp", "--set", "width=16", "--set", "inner=32", "--set", "length=8", "--random-data", "--steps", "2", "--quiet", "--json", "--threads", "1"]
PLAN = """import "mlp"

plan shared for Mlp {
    mesh dp = rest
    micro 4
    split { batch -> dp }
}
"""


class JobVariablesTest(DriverTest):
    def setUp(self):
        super().setUp()
        (self.folder / "shared.npar").write_text(PLAN)
        self.run_of = ["shared.npar" if word == "mlp" else word for word in RUN]

    def started(self, *environments):
        """The output of processes that are started together, one with each environment."""
        processes = [
            subprocess.Popen([str(NPAR), *self.run_of], cwd=self.folder, env={**os.environ, **variables}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for variables in environments
        ]
        self.addCleanup(lambda: [process.kill() for process in processes])
        return [(*process.communicate(timeout=120), process.returncode) for process in processes]

    def expect_job(self, *environments):
        """Two processes train as two ranks of one process do; process 0 speaks."""
        alone = self.npar_json(*self.run_of[:-3], "--threads", 1, "--world", 2)
        first, second = self.started(*environments)
        self.assertEqual((first[2], second[2]), (0, 0), first[1] + second[1])
        self.assertEqual(second[:2], ("", ""))
        found = json.loads(first[0])
        self.assertEqual(found["parameter_hash"], alone["parameter_hash"])

    def test_tf_config(self):
        cluster = {"worker": [f"127.0.0.1:{free_port()}", "127.0.0.1:1"]}
        self.expect_job(*({"TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": "worker", "index": index}})} for index in range(2)))

    def test_hosts_of_sage_maker(self):
        hosts = ["127.0.0.1", "127.0.0.2"]
        self.expect_job(*({"SM_HOSTS": json.dumps(hosts), "SM_CURRENT_HOST": host, "NPAR_PORT": str(port)} for port in [free_port()] for host in hosts))

    def test_nothing_is_ignored(self):
        for variables, message in (
            ({"HOROVOD_RANK": "0", "HOROVOD_SIZE": "2"}, "npar: error: horovodrun has started 2 processes (HOROVOD_RANK=0, HOROVOD_SIZE=2)"),
            ({"WORLD_SIZE": "2"}, "npar: error: WORLD_SIZE is 2, so this is one of several processes, but RANK, MASTER_ADDR, MASTER_PORT are not set"),
            ({"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "a"}, "npar: error: WORLD_SIZE is 2, so this is one of several processes, but MASTER_PORT is not set"),
            ({"TF_CONFIG": '{"cluster": {"worker": ["a:1"], "ps": ["b:1"]}, "task": {"type": "ps", "index": 0}}'}, "npar: error: TF_CONFIG has parameter servers (`ps`)"),
            ({"SM_HOSTS": '["a", "b"]', "SM_CURRENT_HOST": "a", "RANK": "0", "WORLD_SIZE": "3", "MASTER_ADDR": "a", "MASTER_PORT": "1"}, "of torchrun (process 0 of 3) and of SageMaker (process 0 of 2)"),
        ):
            result = self.npar(*self.run_of, "--set", "mesh.dp=1", env={**os.environ, **variables}, code=1)
            self.assertIn(message, result.error)
            self.assertIn("--alone", result.error)
        self.npar(*self.run_of, "--set", "mesh.dp=1", "--alone", env={**os.environ, "HOROVOD_RANK": "0", "HOROVOD_SIZE": "2"})
