#!/usr/bin/env python3
"""What TensorBoard's own writer makes of the rows that LogFormatsTest.cpp logs: `events_recorded.bin`, byte for byte what npar is to write.

Needs the package `tensorboard`; the test needs only the file. Run it in this folder:
    python3 record_events.py
"""

import pathlib

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter

# time, step and values by tag, as LogFormatsTest.cpp gives them.
ROWS = [
    (1700000000.25, 0, [("loss", 5.5), ("grad_norm", 1.25), ("lr", 3e-4), ("tokens_per_second", 1000.0)]),
    (
        1700000001.5,
        1,
        [
            ("loss", 4.125), ("grad_norm", 0.1), ("lr", 6e-4), ("tokens_per_second", 1e6), ("flops_per_second", 1.5e12), ("peak_share", 0.75),
            ("loss_scale", 65536.0), ("skipped", 1.0), ("valid_tokens", 4000.0), ("epoch", 2.0), ("grad_norm/other", 0.08),
            ("grad_norm/no decay", 0.06),
        ],
    ),
    (1700000002.0, 300, [("loss", float("nan")), ("grad_norm", float("inf")), ("lr", 0.0), ("tokens_per_second", 0.0)]),
    (1700000003.0, 301, [("eval/loss", 1.5), ("eval/perplexity", 4.481689)]),
]  # fmt: skip


def main():
    with open(pathlib.Path(__file__).resolve().parent / "events_recorded.bin", "wb") as file:
        writer = RecordWriter(file)
        writer.write(Event(file_version="brain.Event:2").SerializeToString())
        for time, step, values in ROWS:
            summary = Summary(value=[Summary.Value(tag=tag, simple_value=value) for tag, value in values])
            writer.write(Event(wall_time=time, step=step, summary=summary).SerializeToString())


if __name__ == "__main__":
    main()
