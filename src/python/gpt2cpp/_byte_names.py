"""The characters by which vocab.json names the 256 bytes."""

from __future__ import annotations

from typing import List


def _byte_names() -> List[str]:
    """GPT-2's names of the 256 bytes: printable ones unchanged, the others from U+0100 on."""
    printable = {*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    names, shifted = [], 0x100
    for byte in range(256):
        names.append(chr(byte if byte in printable else shifted))
        shifted += byte not in printable
    return names


BYTE_NAMES = _byte_names()
BYTES_BY_NAME = {name: byte for byte, name in enumerate(BYTE_NAMES)}
