"""Records PyTorch's StepLR and ExponentialLR, as npar's step and exponential compute them: one scheduler step for each training step."""

import json
import pathlib

import torch

CASES = {
    "step(peak = 0.1, factor = 0.1, every = 4)": (0.1, lambda o: torch.optim.lr_scheduler.StepLR(o, 4, 0.1)),
    "step(0.05, factor = 0.7, every = 1)": (0.05, lambda o: torch.optim.lr_scheduler.StepLR(o, 1, 0.7)),
    "exponential(peak = 0.02, factor = 0.9)": (0.02, lambda o: torch.optim.lr_scheduler.ExponentialLR(o, 0.9)),
}


def main():
    recorded = {}
    for text, (peak, schedule) in CASES.items():
        optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=peak)
        scheduler, rates = schedule(optimizer), []
        for _ in range(14):
            rates.append(scheduler.get_last_lr()[0])
            optimizer.step(), scheduler.step()
        recorded[text] = rates
    pathlib.Path(__file__).with_name("rates_recorded.json").write_text(json.dumps(recorded, indent=1) + "\n")


if __name__ == "__main__":
    main()
