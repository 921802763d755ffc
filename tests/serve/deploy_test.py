#!/usr/bin/env python3
"""Tests gpt2 serve behind the nginx of tools/deploy, and as process 1 of a container.

  deploy_test.py GPT2 DEPLOY

GPT2 is the command and DEPLOY the folder of the files. A test whose program is not installed is
skipped.
"""

import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from server import Server

GPT2, DEPLOY = sys.argv[1], pathlib.Path(sys.argv[2])
PATIENCE = 60  # seconds for anything that only has to start


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def await_true(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"{what} has not happened within {PATIENCE} seconds"
        time.sleep(0.05)


def listens(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def fetch(port, path, body=None):
    """Returns the status and the JSON of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("GET" if body is None else "POST", path,
                           None if body is None else json.dumps(body))
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


class Deployment(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def start(self, program, *arguments):
        """Starts a program, which ends with the test."""
        with open(self.folder / "log", "ab") as log:
            process = subprocess.Popen([program, *arguments], cwd=self.folder, stdout=log,
                                       stderr=log)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        return process

    def start_nginx(self, ports):
        """Starts nginx with the configuration of the folder, but with these ports, and returns its
        own."""
        text = (DEPLOY / "nginx.conf").read_text()
        own = free_port()
        for old, new in zip((8081, 8082, 8083, 8080), (*ports, own)):
            text = text.replace(f"127.0.0.1:{old}", f"127.0.0.1:{new}")
        paths = "".join(f"{name}_temp_path {self.folder}/{name}; " for name in
                        ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        text = text.replace("http {", f"http {{ access_log off; {paths}")
        file = self.folder / "nginx.conf"
        file.write_text(f"pid {self.folder}/pid; error_log {self.folder}/error; daemon off;\n" + text)
        self.start("nginx", "-e", str(self.folder / "error"), "-c", str(file))
        await_true(lambda: listens(own), "nginx listens")
        return own

    @unittest.skipUnless(shutil.which("nginx"), "nginx is not installed")
    def test_no_request_is_lost_when_a_replica_is_killed(self):
        replicas = [Server(GPT2) for _ in range(3)]
        ports = [urllib.parse.urlparse(replica.url).port for replica in replicas]
        port = self.start_nginx(ports)
        bodies = [{"prompt": "Once upon a time", "seed": i, "max_tokens": 60, "logprobs": 1}
                  for i in range(60)]
        answered = threading.Semaphore(0)

        def complete(body):
            status, answer = fetch(port, "/v1/completions", body)
            answered.release()
            return status, answer.get("choices")

        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            answers = [pool.submit(complete, body) for body in bodies]
            for _ in range(10):  # all replicas are at work then
                self.assertTrue(answered.acquire(timeout=PATIENCE))
            self.assertEqual(replicas[1].end(signal.SIGKILL), -signal.SIGKILL)
            answers = [answer.result() for answer in answers]
        self.assertFalse([status for status, _ in answers if status != 200])
        for body, (_, choices) in zip(bodies, answers):
            self.assertEqual(fetch(ports[0], "/v1/completions", body)[1]["choices"], choices)
        for replica in replicas[0], replicas[2]:
            self.assertEqual(replica.end(), 0)

    def test_process_1_of_a_container_ends_while_it_loads_a_model(self):
        container = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child"]
        if subprocess.run([*container, "true"], capture_output=True).returncode != 0:
            self.skipTest("no new namespace can be made")
        models = [word for i in range(8) for word in ("-m", f"{i}=gpt2-stories")]
        outside = subprocess.Popen([*container, GPT2, "serve", "--port", "0", "--dtype", "int4",
                                    *models], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(outside.kill)
        children = pathlib.Path(f"/proc/{outside.pid}/task/{outside.pid}/children")

        def asks_to_end():
            with contextlib.suppress(OSError):  # it has ended
                for child in children.read_text().split():
                    if os.readlink(f"/proc/{child}/exe") == os.path.realpath(GPT2):
                        os.kill(int(child), signal.SIGTERM)  # again, if it came before main()
            return outside.poll() is not None

        await_true(asks_to_end, "the end")
        output, _ = outside.communicate()
        self.assertEqual((outside.returncode, output), (128 + signal.SIGTERM, b""))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
