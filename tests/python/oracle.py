"""Reads HuggingFace's numbers, which tests/data/oracle/README.md describes."""

import array
import json
import os

DATA = "tests/data"


class Golden:
    """A file of HuggingFace's numbers: JSON, and tensors in the .bin file of the same name."""

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
