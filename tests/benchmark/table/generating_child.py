"""transformers generating with its cache, and reading memory, in one process; leaves the random weights in the folder for npar."""

import time

import pipe

TYPES = {"f32": "float32", "bf16": "bfloat16"}


class Generating:
    def __init__(self, request):
        try:
            import torch
            import transformers
        except ImportError as error:
            raise pipe.Absent(f"{error.name} is not installed for the Python given by --python") from None
        torch.set_num_threads(request["threads"])
        torch.manual_seed(0)
        transformers.logging.set_verbosity_error()
        self.torch, small = torch, request["small"]
        if request["model"] == "gpt2":
            config = transformers.GPT2Config(**({"n_embd": 64, "n_head": 4, "n_layer": 2, "vocab_size": 500} if small else {}))
            model = transformers.GPT2LMHeadModel(config)
        else:
            sizes = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 500}
            if not small:
                sizes = {"hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24, "num_attention_heads": 14, "vocab_size": 151936}
            config = transformers.Qwen2Config(**sizes, num_key_value_heads=2, tie_word_embeddings=True, rms_norm_eps=1e-6)
            model = transformers.Qwen2ForCausalLM(config)
        model.save_pretrained(request["folder"])
        self.model = model.to(getattr(torch, TYPES[request["type"]])).eval()
        bytes = sum(parameter.numel() * parameter.element_size() for parameter in self.model.parameters())
        self.memory = torch.ones(bytes // 4)
        self.said = {"version": transformers.__version__, "bytes": bytes}

    def seconds_of(self, ids, tokens):
        begun = time.perf_counter()
        with self.torch.no_grad():
            self.model.generate(ids, max_new_tokens=tokens, min_new_tokens=tokens, do_sample=False, use_cache=True, pad_token_id=0)
        return time.perf_counter() - begun

    def generate(self, prompt, tokens, batch):
        """Of a token after the first: what two tokens took is taken off."""
        ids = self.torch.arange(3, 3 + prompt).repeat(batch, 1)
        self.seconds_of(ids, 12)
        few = self.seconds_of(ids, 2)
        return {"seconds": [(self.seconds_of(ids, tokens) - few) / (tokens - 2) / batch]}

    def read_prompt(self, prompt):
        """Of a token of a prompt, with logits for the last one only, as `generate` computes them."""
        ids, seconds = self.torch.arange(3, 3 + prompt).unsqueeze(0), []
        for _ in range(4):
            begun = time.perf_counter()
            with self.torch.no_grad():
                self.model(ids, use_cache=True, logits_to_keep=1)
            seconds.append((time.perf_counter() - begun) / prompt)
        return {"seconds": seconds[1:]}

    def read(self, bytes):
        seconds = []
        for _ in range(4):
            begun = time.perf_counter()
            self.memory.sum()
            seconds.append(time.perf_counter() - begun)
        return {"seconds": seconds[1:]}


if __name__ == "__main__":
    pipe.serve(Generating)
