"""Experts in runs of other programs: what is read, written back, and refused by name."""

import unittest

from driver import DriverTest, settings

RUN = """torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py --num-layers 4 --hidden-size 256 --num-attention-heads 8 \\
  --group-query-attention --num-query-groups 4 --seq-length 128 --max-position-embeddings 128 --vocab-size 512 --swiglu \\
  --normalization RMSNorm --position-embedding-type rope --disable-bias-linear --untie-embeddings-and-output-weights \\
  --hidden-dropout 0 --attention-dropout 0 --ffn-hidden-size 512 --num-experts 8 --moe-router-topk 2 --moe-grouped-gemm \\
  --tensor-model-parallel-size 2 --expert-model-parallel-size 4 --micro-batch-size 1 --global-batch-size 32 --bf16 --lr 1e-4 """
REFUSED = {
    "--moe-router-score-function sigmoid": "npar reads routers with 'softmax' scores, not 'sigmoid'",
    "--moe-router-pre-softmax": "'moe_router_pre_softmax'",
    "--moe-router-num-groups 4 --moe-router-group-topk 2": "'moe_router_num_groups'",
    "--moe-router-topk-scaling-factor 2.5": "'moe_router_topk_scaling_factor'",
    "--moe-router-enable-expert-bias": "'moe_router_enable_expert_bias'",
    "--moe-expert-capacity-factor 1.5": "the loss depends on the number of ranks",
    "--moe-shared-expert-intermediate-size 512": "'moe_shared_expert_intermediate_size'",
    "--moe-layer-freq 2": "npar reads models whose layers all have experts",
    "--moe-router-topk 9": "a token goes to 9 of 8 experts",
    "--expert-tensor-parallel-size 1": "npar's plan of this run splits experts like other layers, over tp 2",
    "--expert-model-parallel-size 3": "ep 3 does not divide the 8 experts",
    "--num-experts 16 --expert-model-parallel-size 16": "ep 16 does not divide the 8 data-parallel ranks",
    "--num-experts 0": "ranks share experts, and the model has none",
    "--moe-router-load-balancing-type sinkhron": "global_aux_loss, sinkhorn or none, not 'sinkhron'",
    "--moe-token-dispatcher-type all2all": "'moe_token_dispatcher_type' is allgather, alltoall or flex, not 'all2all'",
    "--add-bias-linear --normalization LayerNorm": "npar's models with experts have",
}


class ForeignExpertsTest(DriverTest):
    def simulate(self, text, *arguments, **options):
        (self.folder / "run.sh").write_text(text + "\n")
        return self.npar("simulate", "--from", "run.sh", "--machine", "dgx-a100", "--hosts", 2, *arguments, **options)

    def test_megatron_reads_and_writes_expert_parallelism(self):
        """The ranks that share experts have other samples; dispatchers are those of the plan."""
        for more, way in (("", ""), ("--moe-token-dispatcher-type alltoall", " by all_to_all"), ("--moe-token-dispatcher-type allgather", " by gather")):
            with self.subTest(more):
                plan = self.simulate(RUN + more, "--print-plan").output
                for line in (f"expert +-> ep{way} in op grouped", "batch +-> dp, ep", "mesh dp = 2, ep = 4, tp = 2"):
                    self.assertRegex(plan, line)
                self.assertRegex(plan, "for Mixtral")
                flags = self.simulate(RUN + more + " --use-distributed-optimizer", "--as", "megatron").output.splitlines()
                for flag in ("--num-experts 8", "--moe-router-topk 2", "--expert-model-parallel-size 4", "--expert-tensor-parallel-size 2", "--use-distributed-optimizer"):
                    self.assertIn(flag, flags)
        self.assertIn("for Qwen3Moe", self.simulate(RUN + "--qk-layernorm", "--print-plan").output)
        self.assertIn("dp 8, ep 4 of these", self.simulate(RUN).output)

    def test_context_parallelism_keeps_the_order_of_positions(self):
        """Experts need rows in this order; Megatron-LM's zigzag order gives the same results."""
        run = RUN.replace("--tensor-model-parallel-size", "--context-parallel-size") + "--use-distributed-optimizer"
        plan = self.simulate(run, "--print-plan").output
        self.assertRegex(plan, r"seq +-> cp by ring\n")
        self.assertIn("results are the same", plan)
        written = self.simulate(run, "--as", "megatron")
        for flag in ("--context-parallel-size 2", "--cp-comm-type p2p"):
            self.assertIn(flag, written.output.splitlines())
        self.assertIn("a piece of both ends of the sequence", written.error)
        self.assertRegex(self.simulate(run + " --cp-comm-type all_gather", "--print-plan").output, r"seq +-> cp by gather\n")

    def test_the_planner_tries_each_way_of_context_parallelism(self):
        sizes = {"vocab": 512, "context": 4096, "width": 64, "mlp": 64, "heads": 8, "kv_heads": 8, "depth": 2}
        fixes = [word for one in ("mesh.cp=2", "mesh.pp=1", "mesh.tp=1", "zero=0", "recompute=none") for word in ("--fix", one)]
        for context, flag in (("ring", "p2p"), ("gather", "all_gather")):
            written = self.npar("plan", "mixtral", *settings(sizes), "--machine", "dgx-a100", "--hosts", 1, "--batch", 16, *fixes, "--fix", f"context={context}", "--as", "megatron")
            self.assertIn(f"--cp-comm-type {flag}", written.output.splitlines())

    def test_plans_are_written(self):
        text = ("mixtral", "--plan", "four_d", *settings({"mesh.dp": 2, "mesh.ep": 4, "vocab": 512, "context": 64, "width": 64, "mlp": 64, "heads": 4, "kv_heads": 2,
                "depth": 2, "batch": 8, "compute": "bf16", "mesh.tp": 1}))  # fmt: skip
        flags = self.npar("inspect", *text, "--as", "megatron").output
        for flag in ("--expert-model-parallel-size 4", "--num-experts 8", "--moe-ffn-hidden-size 64"):
            self.assertIn(flag, flags)
        self.assertIn("has no buffer for rows of experts", self.npar("inspect", *text, *settings(buffer=1.5), "--as", "megatron").error)
        error = self.npar("inspect", *text, "--as", "deepspeed", code=1).error
        self.assertIn("DeepSpeed has no expert parallelism", error)

    def test_what_no_model_of_npar_computes_is_refused(self):
        for flags, message in REFUSED.items():
            with self.subTest(flags):
                self.assertIn(message, self.simulate(RUN + flags, code=1).error)
        for flags in ("--moe-aux-loss-coeff 0.01", "--moe-z-loss-coeff 1e-3", "--moe-input-jitter-eps 0.1"):
            with self.subTest(flags):
                self.assertIn(flags.split()[0], self.simulate(RUN + flags).output)


if __name__ == "__main__":
    unittest.main()
