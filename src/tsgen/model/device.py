"""Where a model runs, and in which precision it is trained."""

from typing import Literal

import torch


def best_device() -> torch.device:
    """The GPU if there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def mixed_precision(device: torch.device) -> Literal["bf16", "no"]:
    """bf16 where it is fast, as accelerate names it: on GPUs that compute in it natively.

    Weights stay in float32 everywhere. CPUs without native bf16 are a hundred times slower in it.
    """
    native = device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    return "bf16" if native else "no"
