"""Experts and states in several processes: the bits of one process; a killed job continues with another number of ranks that share experts."""

import json
import pathlib
import shutil
import time
import unittest

import checkpoint_files
from driver import mesh, safetensors_file, sample, settings
from test_torchrun import TcpTest

HERE = pathlib.Path(__file__).resolve().parent
STATES = [HERE / "states.npar", "--plan", "shared"]


def routed(train, plan, **chosen):
    return [HERE / "expert_plans.npar", "--train", train, "--plan", plan, *settings(**chosen)]


CASES = {  # of four ranks each
    "experts, all in shares": routed("mixtral", "samples", mesh__ep=2, mesh__dp=2, zero=3),
    "more ranks than divide the experts": routed("mixtral", "samples", mesh__ep=4, experts=6, zero=1),
    "rows come in rounds": routed("mixtral", "samples", mesh__ep=2, mesh__dp=2, zero=2, buffer=1),
    "rows are gathered": routed("mixtral", "samples", mesh__ep=2, mesh__tp=2, way="gather"),
    "experts over the ranks of heads": routed("mixtral", "tensors", mesh__ep=4, zero=1),
    "experts over the ranks of the sequence": routed("qwen", "wide", mesh__ep=2, mesh__cp=2),
    "pipeline, bf16": routed("deepseek", "samples", mesh__ep=2, mesh__pp=2, schedule="zb_v", compute="bf16"),
    "states, all in shares": [*STATES, *settings(mesh(ep=2, dp=2), zero=3, again="block")],
    "states, pipeline": [*STATES, *settings(mesh(pp=2, tp=2), schedule="zb_h1")],
    "states over the ranks of the sequence": [*STATES, *settings(mesh(ep=2, sp=2), sequences=1)],
}


class BitsTest(TcpTest):
    def test_bits_of_one_process(self):
        for name, model in sample(CASES, "more ranks than divide the experts", "rows come in rounds", "states, all in shares").items():
            command = ["run", *model, "--random-data", "--steps", 3, "--quiet", "--json"]
            alone, threads = ([json.loads(self.npar(*command, "--threads", count).output) for count in (1, 2)])
            for count in (2, 4):
                with self.subTest(name, processes=count):
                    first, *others = self.ended(self.start(count, *command, "--threads", 1))
                    for one in (threads, json.loads(first[0])):
                        for result in ("loss", "parameter_hash", *(["state_hash"] if name.startswith("states") else [])):
                            self.assertEqual(one[result], alone[result], result)
                    self.assertEqual([output + error for output, error, _ in others], [""] * (count - 1))


class KilledTest(TcpTest):
    RUN = ["run", *STATES, *settings(compute="f64"), "--random-data", "--quiet", "--json"]
    PLAN = settings(mesh(ep=2, dp=2), zero=3)
    OTHER = settings(mesh(ep=4))

    def killed(self):
        """Runs in two processes and kills one of them after its sixth step. The number of steps of the newest checkpoint."""
        jobs = self.start(2, *self.RUN, *self.PLAN, "--steps", 1_000_000, "--threads", 1, "--checkpoint", "saved", "--checkpoint-every", 2)
        begun, saved = time.monotonic(), self.folder / "saved"
        while not any(int(path.name[5:]) >= 6 for path in checkpoint_files.committed(saved)) and time.monotonic() < begun + 60:
            self.assertEqual([job.poll() for job in jobs], [None, None])
            time.sleep(0.01)
        jobs[1].kill()
        (_, error), (_, _) = [job.communicate(timeout=60) for job in jobs]
        self.assertEqual(jobs[0].returncode, 4, error)
        return int(checkpoint_files.committed(saved)[-1].name[5:])

    def test_resumed_with_another_ep(self):
        steps = self.killed() + 5
        shutil.copytree(self.folder / "saved", self.folder / "other")
        ends = ["--steps", steps, "--output"]
        whole = json.loads(self.npar(*self.RUN, *self.PLAN, *ends, "whole.safetensors").output)
        same = json.loads(self.npar(*self.RUN, *self.PLAN, *ends, "same.safetensors", "--checkpoint", "saved", "--resume").output)
        for result in ("parameter_hash", "state_hash"):
            self.assertEqual(same[result], whole[result])
        self.ended(self.start(4, *self.RUN, *self.OTHER, *ends, "moved.safetensors", "--threads", 1, "--checkpoint", "other", "--resume"))
        moved, expected = (safetensors_file.read(self.folder / f"{name}.safetensors") for name in ("moved", "whole"))
        self.assertEqual(list(moved), list(expected))
        for name, tensor in expected.items():
            difference = max(abs(a - b) for a, b in zip(moved[name].values, tensor.values, strict=True))
            self.assertLess(difference, 1e-10, name)


if __name__ == "__main__":
    unittest.main()
