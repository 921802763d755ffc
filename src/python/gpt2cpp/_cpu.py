"""The only device, and transformers' ways to ask for it."""

from __future__ import annotations

from typing import Any, TypeVar

from .errors import UnsupportedError, shown

Self = TypeVar("Self", bound="OnCpu")


class OnCpu:
    """What is where it should be already: x.to("cpu") is x, and so is x.to(model.device)."""

    device = "cpu"

    def to(self: Self, device: Any) -> Self:
        """Returns the object itself. Refuses any device but the CPU."""
        if device is not None and str(device) != "cpu":  # str() for a torch.device
            raise UnsupportedError("device: expected cpu, because gpt2cpp computes on the CPU "
                                   f"alone, found {shown(device)}: leave it out")
        return self
