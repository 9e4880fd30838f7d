#!/usr/bin/env python3
"""PyTorch's groups of parameters (param_groups, requires_grad) beside rules of train blocks: GPT-2 under AdamW, the MLP under SGD, in float64.

Needs PyTorch; the tests need only the files it wrote. Run gpt2_reference.py and mlp_reference.py first, then in this folder:
    python3 rules_reference.py
"""

import fnmatch
import json
import struct

import torch

import gpt2_reference
import mlp_reference
import safetensors_file
from gpt2_reference import HERE, run_steps, save

# The rules of a train block: patterns to freeze, and rules (group, patterns, factor of the learning rate, decay). The last rule that matches
# is a parameter's group; of each value the last that is given holds.
CASES = {
    "gpt2": {
        "freeze": ["wpe.*", "h.0.*"],
        "rules": [["no decay", ["*.bias", "*ln_*"], None, 0.0], ["table", ["wte.weight"], 10.0, None], ["last", ["h.1.mlp.*"], 0.5, 0.3]],
    },
    "gpt2_tied": {"freeze": ["wte.weight", "*.bias"], "rules": []},
    "mlp": {"freeze": ["table.weight"], "rules": [["no decay", ["*.bias"], None, 0.0], ["head", ["head.*"], 2.0, None]]},
}


def groups_of(model, case, decay):
    """Groups for the optimizer, and the parameters of each group of the log; freezes the others."""
    groups, titled = {}, {}
    for name, parameter in model.named_parameters():
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in case["freeze"]):
            parameter.requires_grad_(False)
            continue
        group, factor, own = "other", 1.0, decay
        for title, patterns, times, value in case["rules"]:
            if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
                group, factor, own = title, factor if times is None else times, own if value is None else value
        groups.setdefault((factor, own), []).append(parameter)
        titled.setdefault(group, []).append(parameter)
    return [{"params": list_, "factor": factor, "weight_decay": own} for (factor, own), list_ in groups.items()], titled


def main():
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    content = (HERE / "tokens.u16").read_bytes()
    tokens = torch.tensor(struct.unpack(f"<{len(content) // 2}H", content))
    recorded = {"torch": torch.__version__.split("+")[0]}
    for name, case in CASES.items():
        reference = mlp_reference if name == "mlp" else gpt2_reference
        train = reference.TRAIN
        model = reference.Mlp(**reference.MODEL) if name == "mlp" else reference.Gpt2(**reference.MODEL)
        initial = safetensors_file.read(HERE / ("mlp_initial.safetensors" if name == "mlp" else "initial.safetensors"))
        model.load_state_dict({path: torch.tensor(tensor.values).reshape(tuple(tensor.shape)) for path, tensor in initial.items()})
        groups, titled = groups_of(model, case, train["decay"])
        if name == "mlp":
            optimizer = torch.optim.SGD(groups, lr=0.0, momentum=train["momentum"], foreach=False)
        else:
            optimizer = torch.optim.AdamW(groups, betas=(train["beta1"], train["beta2"]), eps=train["epsilon"], foreach=False)
        log = run_steps(model, optimizer, tokens, reference.MODEL["length"], train, reference.learning_rate, groups=titled if case["rules"] else None)
        save(f"rules_{name}_final.safetensors", {path: value.detach() for path, value in model.named_parameters() if value.requires_grad})
        recorded[name] = {"model": reference.MODEL, "train": train, **case, "log": log}
        print(f"{name}: loss {log[0]['loss']:.4f} to {log[-1]['loss']:.4f}, norms of {list(titled)}")
    (HERE / "rules_recorded.json").write_text(json.dumps(recorded, indent=1) + "\n")


if __name__ == "__main__":
    main()
