"""Processes of one job, joined over TCP, whose folders of checkpoints are not the same: they end before anything is read, with both values."""

import json
import os
import shutil
import subprocess
import unittest

import checkpoint_files
from driver import NPAR, SMALL, DriverTest, mesh, settings
from test_torchrun import free_port

MODEL = ["gpt2", *settings(SMALL, depth=2), *settings(mesh(dp=2))]


class AgreedTest(DriverTest):
    def setUp(self):
        super().setUp()
        self.text = self.text_file(600)
        for process in (0, 1):
            (self.folder / str(process)).mkdir()

    def together(self, *command, code=0):
        """Two processes of the same command, each in a folder of its own; what process 0 prints."""
        port = free_port()
        started = []
        for process in (0, 1):
            own = dict(os.environ, RANK=str(process), WORLD_SIZE="2", LOCAL_RANK=str(process), LOCAL_WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
            pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
            started.append(subprocess.Popen([str(NPAR), *map(str, command)], cwd=self.folder / str(process), env=own, **pipes))
        self.addCleanup(lambda: [process.kill() for process in started])
        said = [process.communicate(timeout=120) for process in started]
        for process, (output, error) in zip(started, said):
            self.assertEqual(process.returncode, code, output + error + said[0][1])
        return said[0]

    def checkpoints(self):
        """Steps 2 and 4 for process 0, step 2 alone for process 1."""
        self.npar("run", *MODEL, "--random-data", "--steps", 4, "--checkpoint-every", 2, "--checkpoint", "0/run", "--quiet")
        (self.folder / "1" / "run").mkdir()
        shutil.copytree(self.folder / "0/run/step-2", self.folder / "1/run/step-2")

    def hash_of(self, checkpoint):
        return json.loads(self.npar("checkpoint", "show", self.folder / checkpoint, "--json").output)["manifest_hash"]

    def test_a_run_resumes_from_one_checkpoint(self):
        self.checkpoints()
        command = ["run", *MODEL, "--random-data", "--steps", 6, "--checkpoint", "run", "--resume"]
        _, error = self.together(*command, code=1)
        self.assertIn(f"npar: error: process 0 reads the checkpoint 'run/step-4' (step 4, manifest {self.hash_of('0/run/step-4')})", error)
        self.assertIn(f"the newest one that this process found is 'run/step-2' (step 2, manifest {self.hash_of('1/run/step-2')})", error)
        self.assertRegex(error, r"npar: reported by process 1 on '.+'")
        for process, steps in ((0, ["step-2", "step-4"]), (1, ["step-2"])):
            self.assertEqual([path.name for path in checkpoint_files.committed(self.folder / str(process) / "run")], steps)

    def test_the_same_step_of_another_training(self):
        self.checkpoints()
        self.npar("run", *MODEL, "--random-data", "--seed", 5, "--steps", 4, "--checkpoint", "other", "--quiet")
        shutil.copytree(self.folder / "other/step-4", self.folder / "1/run/step-4")
        _, error = self.together("run", *MODEL, "--random-data", "--steps", 6, "--checkpoint", "run", "--resume", code=1)
        self.assertIn(f"(step 4, manifest {self.hash_of('0/run/step-4')}), this process finds another one there (step 4, manifest {self.hash_of('1/run/step-4')})", error)

    def test_only_one_process_has_checkpoints(self):
        self.checkpoints()
        shutil.rmtree(self.folder / "1/run")
        command = ["run", *MODEL, "--random-data", "--steps", 6, "--checkpoint", "run", "--resume"]
        self.assertIn("this process found no checkpoint in 'run'", self.together(*command, code=1)[1])
        shutil.move(self.folder / "0/run", self.folder / "1/run")
        self.assertIn("process 0 found no checkpoint in 'run', the newest one that this process found is 'run/step-4'", self.together(*command, code=1)[1])

    def test_weights_are_of_one_checkpoint(self):
        self.checkpoints()
        plan, data = ["--plan", "three_d", *settings(mesh(dp=2))], ["--data", self.text, "--tokens", "bytes"]
        for command in (
            ["run", *MODEL, "--random-data", "--steps", 1, "--weights", "run"],
            ["eval", *MODEL, *plan[:2], *data, "--weights", "run"],
            ["eval", "run", *plan, *data],
        ):
            with self.subTest(command=command[0]):
                error = self.together(*command, code=1)[1]
                self.assertIn("process 0 reads the checkpoint 'run/step-4' (step 4, ", error)
                self.assertIn("'run/step-2' (step 2, ", error)

    def test_a_shared_folder_steps_back_in_all_processes(self):
        """A damaged newest checkpoint, found by its bytes in one process: both continue from the one before."""
        self.npar("run", *MODEL, "--random-data", "--steps", 4, "--checkpoint-every", 2, "--checkpoint", "0/run", "--quiet")
        os.symlink(self.folder / "0/run", self.folder / "1/run")
        for file in checkpoint_files.manifest(self.folder / "0/run/step-4")["files"]:
            path = self.folder / "0/run/step-4" / file["name"]
            places = checkpoint_files.places(path)
            if "wte.weight" in places:
                raw = bytearray(path.read_bytes())
                raw[places["wte.weight"][0]] ^= 1
                path.write_bytes(raw)
        command = ["run", *MODEL, "--random-data", "--steps", 6, "--checkpoint", "run", "--resume", "--json"]
        output, error = self.together(*command)
        self.assertEqual(error.count("'run/step-4' is skipped, the training resumes from 'run/step-2'"), 1, error)
        result = json.loads(output)
        self.assertEqual(result["first_step"], 2)
        alone = self.npar_json("run", *MODEL, "--random-data", "--steps", 6, "--quiet")
        self.assertEqual(result["parameter_hash"], alone["parameter_hash"])


if __name__ == "__main__":
    unittest.main()
