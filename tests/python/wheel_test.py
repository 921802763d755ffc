"""Tests the wheel; support.py says how it is run.

The wheel is made of the library of this build, which GPT2CPP_LIBRARY names. It is installed into a
new virtual environment, where the programs of its description and of README.md run.
"""

import base64
import csv
import email
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import unittest
import venv
import zipfile

from support import CC, COMMAND, main, run

LIBRARY = os.environ["GPT2CPP_LIBRARY"]
CLEAN = {name: value for name, value in os.environ.items()
         if name not in ("GPT2CPP_LIBRARY", "PYTHONPATH", "GPT2_MODELS")}


def python_blocks(page):
    return "".join(re.findall(r"```python\n(.*?)```", page, re.S))


class WheelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.path = run(sys.executable, "tools/make_wheel.py", LIBRARY, cls.scratch.name).strip()

    def test_the_record_lists_every_file(self):
        with zipfile.ZipFile(self.path) as wheel:
            record, = [name for name in wheel.namelist() if name.endswith(".dist-info/RECORD")]
            rows = list(csv.reader(wheel.read(record).decode().splitlines()))
            self.assertEqual([name for name, _, _ in rows], wheel.namelist())
            for name, digest, size in rows[:-1]:
                data = wheel.read(name)
                expected = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
                self.assertEqual((digest, size), ("sha256=" + expected.decode(), str(len(data))))
            self.assertEqual(rows[-1], [record, "", ""])
            tag = re.search("Tag: (.*)", wheel.read(record[:-6] + "WHEEL").decode()).group(1)
        self.assertTrue(self.path.endswith(f"-{tag}.whl"), (self.path, tag))

    def test_the_tag_tells_what_the_library_needs(self):
        sys.path.insert(0, "tools")
        import make_wheel
        self.assertRegex(make_wheel.platform_tag(LIBRARY), "^linux_")  # needs libstdc++
        portable = os.path.join(self.scratch.name, "portable.so")
        with open(os.path.join(self.scratch.name, "portable.c"), "w") as file:
            file.write("#include <stdlib.h>\nint f(const char* text) { return atoi(text); }\n")
        run(CC, "-shared", "-fPIC", file.name, "-o", portable)
        self.assertRegex(make_wheel.platform_tag(portable), r"^manylinux_2_\d+_\w+$")

    def test_other_files_are_libraries_beside_the_library_or_licences(self):
        with tempfile.TemporaryDirectory() as other:
            bundled = os.path.join(other, "libother.so.1")
            os.symlink(os.path.realpath(LIBRARY), bundled)
            path = run(sys.executable, "tools/make_wheel.py", LIBRARY, other, bundled,
                       "LICENSE").strip()
            with zipfile.ZipFile(path) as wheel:
                names = " ".join(wheel.namelist())
        self.assertIn("gpt2cpp/libother.so.1", names)
        self.assertRegex(names, r"gpt2cpp-\S+\.dist-info/licenses/LICENSE")

    def test_the_same_files_give_the_same_wheel(self):
        with tempfile.TemporaryDirectory() as again:
            path = run(sys.executable, "tools/make_wheel.py", LIBRARY, again).strip()
            with open(path, "rb") as one, open(self.path, "rb") as other:
                self.assertEqual(one.read(), other.read())

    def test_the_programs_of_the_readmes_run_where_the_wheel_is_installed(self):
        with open("README.md") as file:
            program = python_blocks(file.read()) + python_blocks(self.description())
        environment = os.path.join(self.scratch.name, "environment")
        venv.create(environment)
        python = os.path.join(environment, "bin", "python")
        site = run(python, "-c", "import site; print(site.getsitepackages()[0])",
                   env=CLEAN).strip()
        self.install(site)
        text = run(python, "-W", "error", "-c", program, cwd=self.scratch.name, env=CLEAN)
        first = run(COMMAND, "-n", "40", "--no-newline", "Once upon a time")
        self.assertTrue(text.startswith(first + "\n"), (text, first))
        self.assertEqual(text.count(first), 2)  # both pages begin with it
        story = run(python, "-m", "gpt2cpp", "Once upon a time", cwd=self.scratch.name, env=CLEAN)
        self.assertTrue(story.startswith(first), story)
        named = run(python, "-c", "import gpt2cpp as g; name = 'gpt2-stories'; "
                    "m = g.Model.from_pretrained(name); "
                    "print(m.path == g.Model().path, g.Tokenizer.from_pretrained(name).decode([443]))",
                    cwd=self.scratch.name, env=CLEAN)
        self.assertEqual(named, "True Once\n")

    def description(self):
        """The text that pip's users see: the body of METADATA."""
        with zipfile.ZipFile(self.path) as wheel:
            name, = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
            metadata = email.message_from_bytes(wheel.read(name))
        self.assertEqual(metadata["Description-Content-Type"], "text/markdown")
        return metadata.get_payload()

    def install(self, site):
        """Installs with pip, which checks the wheel. Without pip, unpacks it, which is the same."""
        pip = [sys.executable, "-m", "pip"]
        if subprocess.run([*pip, "--version"], capture_output=True).returncode == 0:
            run(*pip, "install", "--quiet", "--no-index", "--no-deps", "--target", site, self.path,
                env=CLEAN)
        else:
            zipfile.ZipFile(self.path).extractall(site)


main()
