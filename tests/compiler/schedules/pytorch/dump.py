"""Writes dumps of PyTorch's pipeline schedules next to this file. Needs PyTorch (2.15 wrote them), no GPU and no process group."""

import pathlib

import torch
import torch.distributed.pipelining.schedules as pipelining
from torch.distributed.pipelining.stage import _PipelineStageBase

FOLDER = pathlib.Path(__file__).resolve().parent


class Stage(_PipelineStageBase):
    """What a schedule asks of a stage to make its order; it computes nothing."""

    def __init__(self, index, ranks, total):
        self.stage_index, self.num_stages = index, total
        self.group_size, self.group_rank, self.group = ranks, 0, None
        self.submod, self.device, self.has_backward = torch.nn.Module(), torch.device("cpu"), True

    def _create_grad_recv_info(self, *arguments):
        return None

    def _prepare_forward_infra(self, *arguments):
        return None

    def _prepare_backward_infra(self, *arguments):
        return None


def dump(name, kind, ranks, micros, chunks=2, form="compute_only"):
    v_shaped = kind in (pipelining.ScheduleZBVZeroBubble, pipelining.ScheduleDualPipeV)
    own = [0, 2 * ranks - 1] if v_shaped else range(0, ranks * chunks, ranks)
    stages = [Stage(index, ranks, ranks * chunks) for index in own]
    schedule = kind(stages, n_microbatches=micros, loss_fn=lambda output, target: output)
    schedule._dump_csv(FOLDER / f"{name}.csv", format=form)


if __name__ == "__main__":
    dump("interleaved_4x8x2", pipelining.ScheduleInterleaved1F1B, 4, 8)
    dump("interleaved_zero_bubble_4x8x2", pipelining.ScheduleInterleavedZeroBubble, 4, 8)
    dump("looped_bfs_2x4x2", pipelining.ScheduleLoopedBFS, 2, 4)
    dump("zbv_zero_bubble_4x8", pipelining.ScheduleZBVZeroBubble, 4, 8)
    dump("dualpipe_v_4x10", pipelining.ScheduleDualPipeV, 4, 10)
    dump("zbv_zero_bubble_4x8_comms", pipelining.ScheduleZBVZeroBubble, 4, 8, form="compute_comms")
