"""The only device, and transformers' ways to ask for it."""

from __future__ import annotations

from typing import Any, Sequence, TypeVar

from .errors import UnsupportedError, shown

Self = TypeVar("Self", bound="OnCpu")


def require_cpu(name: str, device: Any, names: Sequence[str]) -> None:
    """Refuses a device that is not the CPU; None stands for the default."""
    if device is not None and str(device) not in names:  # str() for a torch.device
        raise UnsupportedError(f"{name}: expected {' or '.join(names)}, because gpt2cpp computes "
                               f"on the CPU alone, found {shown(device)}: leave it out")


class OnCpu:
    """What is where it should be already: x.to("cpu") is x, and so is x.to(model.device)."""

    device = "cpu"

    def to(self: Self, device: Any) -> Self:
        """Returns the object itself. Refuses any device but the CPU."""
        require_cpu("device", device, ("cpu",))
        return self
