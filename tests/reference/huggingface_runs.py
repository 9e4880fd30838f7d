#!/usr/bin/env python3
"""Values that transformers itself makes of command lines of its Trainer, in huggingface_runs.json: fields of TrainingArguments after parsing, learning
rates of its schedules, and what it puts into a DeepSpeed file for "auto". test_foreign_huggingface.py compares npar's.

Needs transformers, torch, accelerate and deepspeed. To record again: python3 huggingface_runs.py
"""

import json
import pathlib

HERE = pathlib.Path(__file__).resolve().parent

# Flags of the Trainer; the scripts' own are left out.
COMMANDS = {
    "defaults": "--output_dir o",
    "linear": "--output_dir o --learning_rate 3e-4 --warmup_steps 20 --max_steps 200 --weight_decay 0.1 --adam_beta2 0.95 --max_grad_norm 0.5 --seed 7 --bf16",
    "cosine": "--output_dir o --lr_scheduler_type cosine --warmup_steps 0.05 --max_steps 150 --per_device_train_batch_size 4 --gradient_accumulation_steps 2 --fp16 True",
    "polynomial": "--output_dir o --lr_scheduler_type polynomial --max_steps 50 --optim sgd --no_dataloader_pin_memory",
    "warm": "--output_dir o --lr_scheduler_type constant_with_warmup --warmup_steps 10 --max_steps 40 --gradient_checkpointing",
    "smallest": "--output_dir o --lr_scheduler_type cosine_with_min_lr --lr_scheduler_kwargs {\"min_lr\":1e-5} --max_steps 100 --learning_rate 1e-4",
}
FIELDS = ("per_device_train_batch_size", "gradient_accumulation_steps", "learning_rate", "adam_beta1", "adam_beta2", "adam_epsilon", "weight_decay", "max_grad_norm", "seed", "bf16", "fp16",
          "gradient_checkpointing", "num_train_epochs", "max_steps")
DEEPSPEED = {
    "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto", "train_batch_size": "auto", "gradient_clipping": "auto", "bf16": {"enabled": "auto"},
    "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": "auto", "eps": "auto", "weight_decay": "auto"}},
    "scheduler": {"type": "WarmupDecayLR", "params": {"warmup_min_lr": "auto", "warmup_max_lr": "auto", "warmup_num_steps": "auto", "total_num_steps": "auto", "warmup_type": "linear"}},
    "zero_optimization": {"stage": 2},
}


def main():
    import torch
    import transformers
    from transformers.integrations.deepspeed import HfTrainerDeepSpeedConfig

    recorded = {"version": transformers.__version__, "runs": {}}
    for name, command in COMMANDS.items():
        (arguments,) = transformers.HfArgumentParser(transformers.TrainingArguments).parse_args_into_dataclasses([word.strip("'") for word in command.split()] + ["--use_cpu"])
        run = {field: getattr(arguments, field) for field in FIELDS}
        if arguments.max_steps > 0:
            parameter = torch.nn.Parameter(torch.zeros(1))
            optimizer = torch.optim.SGD([parameter], lr=arguments.learning_rate)
            schedule = transformers.get_scheduler(arguments.lr_scheduler_type, optimizer, num_warmup_steps=arguments.get_warmup_steps(arguments.max_steps),
                                                  num_training_steps=arguments.max_steps, scheduler_specific_kwargs=arguments.lr_scheduler_kwargs)
            rates = []
            for _ in range(arguments.max_steps):
                rates.append(optimizer.param_groups[0]["lr"])
                optimizer.step()
                schedule.step()
            run["rates"] = rates[:: max(1, len(rates) // 10)]
            run["every"] = max(1, len(rates) // 10)
        if name == "linear":
            config = HfTrainerDeepSpeedConfig(json.loads(json.dumps(DEEPSPEED)))
            config.trainer_config_process(arguments)
            config.trainer_config_finalize(arguments, None, arguments.max_steps)
            run["deepspeed"] = config.config
        recorded["runs"][name] = run
    (HERE / "huggingface_runs.json").write_text(json.dumps(recorded, indent=1) + "\n")


if __name__ == "__main__":
    main()
