"""One run in several processes, as torchrun starts them: all do the same, the first one writes.

Every process goes through the same stages in the same order. What one of them decides for all (is
this stage done?) or makes for all (a checkpoint) passes through `agreed`.
"""

import os
from datetime import timedelta
from typing import Any, TypeVar

T = TypeVar("T")
PATIENCE = timedelta(days=30)  # the others wait while the first one searches or writes


def rank() -> int:
    """The number of this process; 0 is the one that writes and prints."""
    return int(os.environ.get("RANK", "0")) if count() > 1 else 0


def count() -> int:
    """How many processes there are."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def agreed(value: T) -> T:
    """The first process's value, in every process; the others wait until it is there."""
    if count() == 1:
        return value
    from accelerate.utils import broadcast_object_list

    state()
    values = [value]
    broadcast_object_list(values)
    return values[0]


def state() -> Any:
    """The processes' connection, made when first asked for: NCCL on GPUs, gloo on CPUs."""
    import torch
    from accelerate import PartialState

    return PartialState(cpu=not torch.cuda.is_available(), timeout=PATIENCE)


def leave() -> None:
    """Close the connection, if there is one: a thread of it that outlives the interpreter aborts
    the process after its work is done."""
    if count() == 1:
        return
    from torch import distributed

    if distributed.is_available() and distributed.is_initialized():
        distributed.destroy_process_group()
