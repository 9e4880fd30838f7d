"""Counted bytes that emitted programs send, against the known volumes of each form of parallelism."""

import unittest

import volume
from driver import SMALL, DriverTest, mesh, settings

MLP = {"vocab": 33, "width": 16, "inner": 32, "length": 8, "batch": 16}
SCALARS = 8  # bytes of the loss, which is reduced with the gradients


class DataParallelVolumeTest(DriverTest):
    def test_two_psi_whatever_the_micro_batches(self):
        """Gradients are reduced once per training step: 2 P bytes, P those of all gradients in float32."""
        for micro in (4, 2, 1):
            summary = self.npar_json("inspect", "mlp", *settings(MLP, mesh(dp=4, tp=1), micro=micro))
            found = volume.counts(summary, over="dp")
            self.assertEqual(list(found), ["all_reduce"])
            self.assertEqual(found["all_reduce"].bytes, 4 * summary["parameters"] + SCALARS)
            self.assertEqual(volume.volume(summary), 2 * (4 * summary["parameters"] + SCALARS))

    def test_a_tied_weight_is_reduced_once_per_use(self):
        """Each use of a tied weight is accumulated and reduced alone (RULES.md#N2): the table of tokens is sent twice."""
        summary = self.npar_json("inspect", "gpt2", *settings(SMALL, mesh(dp=2, pp=1, tp=1), micro=8))
        table = SMALL["vocab"] * SMALL["width"]
        self.assertEqual(volume.counts(summary)["all_reduce"].bytes, 4 * (summary["parameters"] + table) + SCALARS)


class TensorParallelVolumeTest(DriverTest):
    """Two blocks more, one micro-batch: 2 * what the papers say of one block."""

    def added(self, **more):
        summaries = [
            self.npar_json("inspect", "gpt2", *settings(SMALL, mesh(dp=1, pp=1, tp=2), {"depth": depth, "micro": 16}, more)) for depth in (4, 6)
        ]
        return [
            volume.added(*(volume.counts(summary, over="tp", phase=phase) for summary in summaries)) for phase in ("forward", "backward", "update")
        ]

    ACTIVATION = 4 * SMALL["batch"] * SMALL["length"] * SMALL["width"]  # bytes of [batch, seq, embed] in float32

    def test_megatron(self):
        """Four all-reduces of a whole activation: two forward, two backward, and nothing once per step."""
        forward, backward, update = self.added()
        for phase in (forward, backward):
            self.assertEqual(list(phase), ["all_reduce"])
            self.assertEqual(phase["all_reduce"][:2], (2 * 2, 2 * 2 * self.ACTIVATION))
        self.assertEqual(update, {})

    def test_sequence_parallelism_moves_the_same_bytes(self):
        """Four all-gathers and four reduce-scatters instead, of the same volume; the backward pass gathers again what it kept split (RULES.md#P6)."""
        forward, backward, _ = self.added(sequence="true")
        megatron, _, _ = self.added()
        for phase in (forward, backward):
            self.assertEqual(phase["reduce_scatter"][:2], (2 * 2, 2 * 2 * self.ACTIVATION))
            self.assertNotIn("all_reduce", phase)
        self.assertEqual(forward["all_gather"].count, 2 * 2)
        self.assertEqual(backward["all_gather"].count, 2 * (2 + 2))  # the gradients of two reduce-scatters, and two gathers repeated
        self.assertEqual(sum(one.volume for one in forward.values()), megatron["all_reduce"].volume)
        again = 2 * 2 * self.ACTIVATION
        self.assertEqual(sum(one.volume for one in backward.values()), megatron["all_reduce"].volume + again)


if __name__ == "__main__":
    unittest.main()
