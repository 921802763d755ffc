"""Shared parts of the tests of the Python package. Each test is run as

    NAME_test.py SOURCE_DIR COMMAND CC [unittest's arguments]

with src/python in PYTHONPATH and the built library in GPT2CPP_LIBRARY.
"""

import array
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy
except ImportError:
    numpy = None

SOURCE, COMMAND, CC = sys.argv[1:4]
MODEL, DATA = "models/gpt2-stories", "tests/data"
os.chdir(SOURCE)
sys.path.insert(0, "tests/support")


def run(*arguments, **options):
    """Returns the output of a program, which must succeed."""
    done = subprocess.run(arguments, capture_output=True, encoding="utf-8", **options)
    if done.returncode != 0:
        raise AssertionError(done.stdout + done.stderr)
    return done.stdout


def command(*arguments):
    """The lines of JSON that the command prints."""
    return [json.loads(line) for line in run(COMMAND, *map(str, arguments)).splitlines()]


def python(code, **environment):
    """Returns the output of a Python program."""
    return run(sys.executable, "-c", code, env={**os.environ, **environment}, timeout=120)


def bits(numbers):
    """The bytes of the numbers as floats of 32 bits."""
    return array.array("f", numbers).tobytes()


@contextlib.contextmanager
def linked_model(names=None, **contents):
    """A directory with links to the bundled model's files, or those of them that have these names.
    The keyword arguments are JSON files that it has instead."""
    with tempfile.TemporaryDirectory() as folder:
        for name in names or os.listdir(MODEL):
            os.symlink(os.path.abspath(f"{MODEL}/{name}"), f"{folder}/{name}")
        for name, content in contents.items():
            path = f"{folder}/{name}.json"
            if os.path.lexists(path):
                os.remove(path)
            with open(path, "w") as file:
                json.dump(content, file)
        yield folder


class Golden:
    """A file of HuggingFace's numbers: JSON, and tensors in the .bin file of the same name.
    tests/data/oracle/README.md describes it."""

    def __init__(self, path):
        with open(path) as file:
            self.json = json.load(file)
        with open(os.path.join(os.path.dirname(path), self.json["bin"]), "rb") as file:
            self.bytes = file.read()

    def tensor(self, name):
        """The numbers in one list."""
        entry = self.json["tensors"][name]
        count = 1
        for size in entry["shape"]:
            count *= size
        assert entry["dtype"] == "f32"
        return array.array("f", self.bytes[entry["offset"]:entry["offset"] + 4 * count]).tolist()


def flat(lists):
    return [x for one in lists for x in flat(one)] if isinstance(lists, list) else [lists]


class ModelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import gpt2cpp  # which the test of the wheel does not have
        cls.model = gpt2cpp.Model(MODEL)


def main():
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
