"""PyTorch's processes of one plan, as one competitor (pipe.py): processes_torch.py, kept for all rounds."""

import argparse
import pathlib
import sys

import pipe

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import processes_torch  # noqa: E402


class Ranks:
    def __init__(self, request):
        try:
            import torch
        except ImportError as error:
            raise pipe.Absent(f"PyTorch is not installed for {sys.executable}: {error}") from None
        self.said = {"version": torch.__version__}
        self.job = processes_torch.Job(argparse.Namespace(**request))

    def steps(self, count):
        """`memory`: of all processes together."""
        answer = self.job.steps(count)
        return {"seconds": answer["seconds"], "losses": answer["losses"], "memory": sum(answer["memory_bytes"])}

    def close(self):
        self.job.close()


if __name__ == "__main__":
    pipe.serve(Ranks)
