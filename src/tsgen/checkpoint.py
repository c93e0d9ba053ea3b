"""Training state on disk: weights, optimiser and progress in one safetensors file, never pickle."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from tsgen.artifact import write_beside


def save_weights(path: Path, module: torch.nn.Module) -> None:
    """A module's state, written beside and renamed."""
    with write_beside(path) as beside:
        save_file(_state(module), beside)


def load_weights(path: Path, module: torch.nn.Module) -> None:
    """Put a saved state back into a module of the same shape."""
    _restore(module, load_file(path))


def save_checkpoint(
    path: Path,
    module: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    progress: Mapping[str, Any],
) -> None:
    """Everything needed to go on: the module, the optimiser's moments, and `progress` as JSON."""
    tensors = {f"module.{name}": tensor for name, tensor in _state(module).items()}
    for index, moments in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{name}": value for name, value in moments.items()}
    with write_beside(path) as beside:
        save_file(tensors, beside, metadata={"progress": json.dumps(dict(progress))})


def load_checkpoint(
    path: Path, module: torch.nn.Module, optimizer: torch.optim.Optimizer
) -> dict[str, Any]:
    """Restore what `save_checkpoint` wrote; returns its `progress`."""
    tensors = load_file(path)
    prefix = "module."
    _restore(module, {n[len(prefix) :]: t for n, t in tensors.items() if n.startswith(prefix)})
    state = optimizer.state_dict()
    for name, value in tensors.items():
        if name.startswith("optimizer."):
            _, index, moment = name.split(".")
            state["state"].setdefault(int(index), {})[moment] = value
    optimizer.load_state_dict(state)
    with safe_open(path, framework="pt") as file:
        progress: dict[str, Any] = json.loads(file.metadata()["progress"])
    return progress


def _state(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Tensors by name; of several names for one tensor (tied embeddings) only the first."""
    first: dict[int, str] = {}
    state = module.state_dict()
    for name, tensor in state.items():
        first.setdefault(tensor.data_ptr() if tensor.numel() else id(tensor), name)
    return {name: state[name].contiguous() for name in first.values()}


def _restore(module: torch.nn.Module, state: Mapping[str, torch.Tensor]) -> None:
    """Names that are left out are those of tied tensors; anything else missing is an error."""
    module.load_state_dict(state, strict=state.keys() != _state(module).keys())
