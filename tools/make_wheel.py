#!/usr/bin/env python3
"""Writes the wheel of the Python package: make_wheel.py LIBRARY DIRECTORY [FILE...]

The wheel (PEP 427) has the modules of src/python, the bundled model and the library, stripped. A
FILE is a shared library, which the library then has to look for beside itself, or a licence. The
wheel is tagged manylinux (PEP 600) if its libraries need nothing else but glibc, and linux
otherwise, which means that it runs where its other libraries are, such as OpenMP's (libgomp.so.1).
The same files give the same wheel. Prints its path.
"""

import base64
import hashlib
import os
import platform
import re
import subprocess
import sys
import tempfile
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PACKAGE = os.path.join(ROOT, "src", "python", "gpt2cpp")
MODEL = os.path.join(ROOT, "models", "gpt2-stories")
GLIBC = re.compile(r"(libc|libm|libdl|librt|libpthread|libgcc_s|ld-linux[-\w]*)\.so")

METADATA = """\
Metadata-Version: 2.1
Name: gpt2cpp
Version: {version}
Summary: GPT-2 on the CPU: exact, fast and small
License: MIT
License-File: LICENSE
Requires-Python: >=3.9
Classifier: Operating System :: POSIX :: Linux
Classifier: Typing :: Typed
Description-Content-Type: text/markdown

"""  # the description follows: README.md of the package

WHEEL = """\
Wheel-Version: 1.0
Generator: make_wheel.py
Root-Is-Purelib: false
Tag: {tag}
"""


def platform_tag(*libraries):
    """The tag of the systems that the libraries run on."""
    machine = platform.machine()
    bundled = [os.path.basename(library) for library in libraries]
    needed = re.findall(r"NEEDED +(\S+)", objdump("-p", *libraries))
    if not all(GLIBC.match(name) or name in bundled for name in needed):
        return f"linux_{machine}"
    versions = re.findall(r"GLIBC_(\d+)\.(\d+)", objdump("-T", *libraries))
    return "manylinux_%d_%d_%s" % (*max((int(a), int(b)) for a, b in versions), machine)


def objdump(option, *files):
    return subprocess.run(["objdump", option, *files], check=True, capture_output=True,
                          text=True).stdout


def read(*path):
    with open(os.path.join(*path), "rb") as file:
        return file.read()


def stripped(library):
    with tempfile.TemporaryDirectory() as scratch:
        copy = os.path.join(scratch, os.path.basename(library))
        subprocess.run(["strip", "--strip-unneeded", "-o", copy, library], check=True)
        return read(copy)


def contents(library, bundled, licenses, version, tag):
    """Every file of the wheel but RECORD: its name and its bytes."""
    for name in sorted(os.listdir(PACKAGE)):
        if name.endswith(".py") or name == "py.typed":
            yield "gpt2cpp/" + name, read(PACKAGE, name)
    yield "gpt2cpp/libgpt2.so", stripped(library)
    for other in bundled:
        yield "gpt2cpp/" + os.path.basename(other), read(other)
    for name in sorted(os.listdir(MODEL)):
        yield "gpt2cpp/models/gpt2-stories/" + name, read(MODEL, name)
    yield "gpt2cpp/models/ATTRIBUTION", read(ROOT, "models", "ATTRIBUTION")
    info = f"gpt2cpp-{version}.dist-info/"
    yield info + "LICENSE", read(ROOT, "LICENSE")
    for license in licenses:
        yield info + "licenses/" + os.path.basename(license), read(license)
    yield info + "METADATA", METADATA.format(version=version).encode() + read(PACKAGE, "README.md")
    yield info + "WHEEL", WHEEL.format(tag=tag).encode()


def write_wheel(path, files, record):
    """Writes the files and then the list of them, with their hashes."""
    lines = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in files:
            add(wheel, name, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            lines.append(f"{name},sha256={digest},{len(data)}\n")
        add(wheel, record, "".join([*lines, record + ",,\n"]).encode())


def add(wheel, name, data):
    entry = zipfile.ZipInfo(name)  # of 1980
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = (0o755 if name.endswith(".so") else 0o644) << 16
    wheel.writestr(entry, data)


def main(library, directory, *files):
    bundled = [file for file in files if ".so" in os.path.basename(file)]
    licenses = [file for file in files if file not in bundled]
    version = re.search(r'__version__ = "(.+)"', read(PACKAGE, "_library.py").decode()).group(1)
    tag = "py3-none-" + platform_tag(library, *bundled)
    path = os.path.join(directory, f"gpt2cpp-{version}-{tag}.whl")
    write_wheel(path, contents(library, bundled, licenses, version, tag),
                f"gpt2cpp-{version}.dist-info/RECORD")
    print(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
