"""Reads schedules with PyTorch's own parser, lowers them to transfers and runs PyTorch's simulation: read.py FILE.csv MICRO_BATCHES ...

Shows that what `npar schedule --format=csv` prints is a schedule for PyTorch. Needs PyTorch, no GPU and no process group.
"""

import csv
import sys

import torch.distributed.pipelining.schedules as pipelining

from dump import Stage


def read(path, micros):
    with open(path, newline="") as file:
        rows = [[pipelining._Action.from_str(cell) for cell in row] for row in csv.reader(file)]
    total = 1 + max(action.stage_index for row in rows for action in row if action)
    own = sorted({action.stage_index for action in rows[0] if action})
    stages = [Stage(index, len(rows), total) for index in own]
    schedule = pipelining._PipelineScheduleRuntime(stages, n_microbatches=micros, loss_fn=lambda output, target: output)
    schedule._load_csv(path, format="compute_only")  # runs PyTorch's validation
    rank_of = {action.stage_index: rank for rank, row in enumerate(rows) for action in row if action}
    lowered = pipelining._add_send_recv(schedule.pipeline_order, rank_of.__getitem__, total)
    simulated = pipelining._simulate_comms_compute(lowered, rank_of.__getitem__, total)
    print(f"{path}: {len(rows)} ranks, {total} virtual stages, {max(len(row) for row in simulated.values())} steps with transfers")


if __name__ == "__main__":
    for path, micros in zip(sys.argv[1::2], sys.argv[2::2]):
        read(path, int(micros))
