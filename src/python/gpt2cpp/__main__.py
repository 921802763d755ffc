"""Continues a text with the bundled model: python -m gpt2cpp "Once upon a time"."""

import sys

from .errors import Error
from .model import Model


def main() -> None:
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    text = sys.argv[1]
    try:
        stream = Model().stream(text)
        print(text, end="", flush=True)
        for piece in stream:
            print(piece, end="", flush=True)
        print()
    except Error as error:
        sys.exit(f"gpt2cpp: {error}")


if __name__ == "__main__":
    main()
