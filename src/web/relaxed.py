#!/usr/bin/env python3
"""Gives the multiply-add of relaxed SIMD its final code: relaxed.py MODULE

Debian's emscripten knows a draft of relaxed SIMD, in which this instruction has another code of the
same length. The script fails if the bytes of the draft's code are also somewhere else, such as in a
table: the disassembler tells how many instructions there are."""

import pathlib
import subprocess
import sys

DRAFT, FINAL = b"\xfd\xaf\x01", b"\xfd\x85\x02"
path = pathlib.Path(sys.argv[1])
module = path.read_bytes()
disassemble = ["wasm-dis", "--all-features", path]
text = subprocess.run(disassemble, check=True, stdout=subprocess.PIPE).stdout
found, expected = module.count(DRAFT), text.count(b"(f32x4.relaxed_fma")
if found != expected or expected == 0:
    path.unlink()  # so that the next build tries again
    sys.exit(f"{path}: expected {expected} codes of a multiply-add, found {found} times its bytes")
path.write_bytes(module.replace(DRAFT, FINAL))
