"""Tests that type checkers accept programs that use the Python package; support.py says how it is
run. Skipped without mypy and pyright.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import unittest

from support import main


class TypesTest(unittest.TestCase):
    def check(self, *checker):
        path = os.path.abspath("src/python")
        done = subprocess.run([*checker, "tests/python/typed.py"], capture_output=True, text=True,
                              env={**os.environ, "MYPYPATH": path, "PYTHONPATH": path})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    @unittest.skipIf(importlib.util.find_spec("mypy") is None, "there is no mypy")
    def test_mypy(self):
        self.check(sys.executable, "-m", "mypy", "--strict", "--follow-imports", "silent",
                   "--cache-dir", os.devnull)

    @unittest.skipIf(shutil.which("pyright") is None, "there is no pyright")
    def test_pyright(self):
        self.check("pyright", "--pythonpath", sys.executable)


if __name__ == "__main__":
    main()
