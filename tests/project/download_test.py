"""Tests tools/download_model.sh with a hub that the test runs: download_test.py SCRIPT

The hub consists of two servers on this machine. One knows names, sizes and hashes, and redirects
requests for large files to the other one, which has them. Both can be told to misbehave.
"""

import glob
import hashlib
import http.server
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

SCRIPT = ""
TOKEN = "hf_secretOfThisTest"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def git_hash(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def seen_by_others():
    """The command lines of all processes, which other users see while curl waits."""
    lines = b""
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as file:
                lines += file.read()
        except OSError:
            pass
    return lines


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # a client that is cut off resets the connection

    def __init__(self, handler):
        super().__init__(("127.0.0.1", 0), handler)
        self.address = "http://127.0.0.1:%d" % self.server_port
        self.seen = []  # (method, path, Range, Authorization)
        self.is_watched, self.command_lines = False, b""
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.handle_request()

    def do_GET(self):
        self.handle_request()

    def handle_request(self):
        self.server.seen.append((self.command, self.path, self.headers.get("Range"),
                                 self.headers.get("Authorization")))
        if self.server.is_watched:
            self.server.command_lines += seen_by_others()
        self.respond()

    def answer(self, status, headers=(), body=b""):
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def content(self, body, headers, ranges=True, cut_after=None):
        begin = 0
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or "")
        if asked and ranges:
            begin = int(asked[1])
            if begin >= len(body):
                return self.answer(416, {"Content-Range": "bytes */%d" % len(body)})
            headers = {**headers,
                       "Content-Range": "bytes %d-%d/%d" % (begin, len(body) - 1, len(body))}
        self.send_response(206 if begin else 200)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) - begin))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body[begin:] if cut_after is None else body[begin:begin + cut_after])
            if cut_after is not None and begin + cut_after < len(body):
                self.close_connection = True


class HubHandler(Handler):
    def respond(self):
        hub = self.server
        match = re.fullmatch(r"/(.+)/resolve/([^/]+)/([^/]+)", self.path)
        name, revision, file = match.groups()
        if name in hub.renamed:
            to = "/%s/resolve/%s/%s" % (hub.renamed[name], revision, file)
            return self.answer(307, {"Location": to})
        if name in hub.gated and self.headers.get("Authorization") != "Bearer " + TOKEN:
            return self.answer(403 if self.headers.get("Authorization") else 401,
                               {"X-Error-Code": "GatedRepo"})
        if name not in hub.models:
            return self.answer(hub.status_of_unknown, {"X-Error-Code": "RepoNotFound"})
        if revision not in ("main", COMMIT, "v1%2F0"):
            return self.answer(404, {"X-Error-Code": "RevisionNotFound"})
        headers = {"X-Repo-Commit": COMMIT}
        if file in hub.redirects:
            return self.answer(302, {**headers, "Location": hub.redirects[file]})
        if file not in hub.models[name]:
            return self.answer(404, {**headers, "X-Error-Code": "EntryNotFound"})
        body = hub.models[name][file]
        if file in hub.large:
            headers["X-Linked-Size"] = hub.sizes.get(file, str(len(body)))
            digest = hub.hashes.get(file, hashlib.sha256(body).hexdigest())
            headers["X-Linked-Etag"] = '"%s"' % digest
            return self.answer(302, {**headers, "Location": "%s/%s/%s?signature=\"a\\b" %
                                     (hub.cdn.address, name, file)})
        headers["ETag"] = '"%s"' % hub.hashes.get(file, git_hash(body))
        self.content(body, headers)


class CdnHandler(Handler):
    def respond(self):
        cdn = self.server
        _, name, file = self.path.split("?")[0].rsplit("/", 2)
        owner = self.path.split("?")[0][1:-len(file) - 1]
        cut = cdn.cuts.pop(0) if cdn.cuts else None
        if cut == "refuse":
            return self.answer(403)
        if cut == "busy":
            return self.answer(503)
        self.content(cdn.hub.models[owner][file], {}, cdn.ranges, cut)


def model(**more):
    files = {"config.json": b'{"model_type": "gpt2"}', "tokenizer.json": b'{"version": "1.0"}',
             "generation_config.json": b"{}", "README.md": b"not needed",
             "model.safetensors": bytes(range(256)) * 1000}
    files.update({name.replace("__", "."): body for name, body in more.items()})
    return {name: body for name, body in files.items() if body is not None}


class DownloadTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """Makes a `sleep` that is short, so that the script does not wait before it tries again."""
        programs = tempfile.TemporaryDirectory()
        cls.addClassCleanup(programs.cleanup)
        cls.programs = programs.name
        with open(cls.programs + "/sleep", "w") as file:
            file.write("#!/bin/sh\nexec %s 0.05\n" % shutil.which("sleep"))
        os.chmod(file.name, 0o755)

    def setUp(self):
        self.hub = Server(HubHandler)
        self.cdn = Server(CdnHandler)
        self.hub.cdn, self.cdn.hub = self.cdn, self.hub
        self.hub.models = {"owner/tiny": model()}
        self.hub.large = {"model.safetensors", "pytorch_model.bin"}
        self.hub.renamed, self.hub.gated, self.hub.redirects = {}, set(), {}
        self.hub.sizes, self.hub.hashes, self.hub.status_of_unknown = {}, {}, 404
        self.cdn.cuts, self.cdn.ranges = [], True
        self.home = tempfile.mkdtemp()

    def tearDown(self):
        for server in (self.hub, self.cdn):
            server.shutdown()
            server.server_close()
        shutil.rmtree(self.home)

    def run_script(self, *arguments, token=None, before=None, **environment):
        env = {"PATH": self.programs + ":" + os.environ["PATH"], "HOME": self.home,
               "HF_ENDPOINT": self.hub.address + "/",
               "GPT2_MODELS": self.home, "no_proxy": "*", **environment}
        if token:
            env["HF_TOKEN"] = token
        return subprocess.run([SCRIPT, *arguments], env=env, text=True, capture_output=True,
                              timeout=120, preexec_fn=before)

    def path(self, *parts):
        return os.path.join(self.home, *parts)

    def files(self, *parts):
        result = {}
        for name in os.listdir(self.path(*parts)):
            with open(self.path(*parts, name), "rb") as file:
                result[name] = file.read()
        return result

    def succeed(self, *arguments, **options):
        done = self.run_script(*arguments, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def refused(self, words, *arguments, status=1, **options):
        done = self.run_script(*arguments, **options)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertIn(words, done.stderr.splitlines()[-1])
        self.assertNotRegex(done.stderr, r"[^\n -~]")
        return done

    def has_weights(self, *parts):
        """Checks that the weights are whole and that no part of a file is left."""
        files = self.files(*(parts or ("owner", "tiny")))
        expected = self.hub.models["owner/tiny"]["model.safetensors"]
        self.assertEqual(files["model.safetensors"], expected)
        self.assertFalse([name for name in files if name.endswith(".part")])

    def ranges(self):
        """Returns the ranges that the second server was asked for, and forgets them."""
        seen = [seen[2] for seen in self.cdn.seen]
        self.cdn.seen.clear()
        return seen

    # -- Files that are fetched

    def test_a_model_arrives_whole_and_a_second_run_fetches_nothing(self):
        done = self.succeed("owner/tiny")
        self.assertEqual(done.stdout, self.path("owner", "tiny") + "\n")
        expected = {name: body for name, body in self.hub.models["owner/tiny"].items()
                    if name != "README.md"}
        self.assertEqual(self.files("owner", "tiny"), expected)
        paths = [seen[1] for seen in self.hub.seen]
        self.assertIn("/resolve/main/config.json", paths[0])
        self.assertTrue(all("/resolve/%s/" % COMMIT in path for path in paths[2:]), paths)
        self.hub.seen.clear()
        self.cdn.seen.clear()
        again = self.succeed("owner/tiny")
        self.assertNotIn("GET", [seen[0] for seen in self.hub.seen + self.cdn.seen])
        self.assertEqual(again.stdout, done.stdout)
        self.assertEqual(self.files("owner", "tiny"), expected)

    def test_places(self):
        done = self.succeed("owner/tiny@v1/0")  # a revision has a directory of its own
        self.assertEqual(done.stdout, self.path("owner", "tiny@v1", "0") + "\n")
        self.assertIn("/resolve/v1%2F0/config.json", self.hub.seen[0][1])
        self.succeed("owner/tiny", self.path("a new", "place"))
        self.has_weights("a new", "place")
        os.makedirs(self.path("elsewhere", "here"))
        self.succeed("owner/tiny", "here", CDPATH=self.path("elsewhere"),
                     before=lambda: os.chdir(self.home))
        self.has_weights("here")

    def test_other_forms_of_weights_and_tokenizers(self):
        index = json.dumps({"metadata": {"total_size": 3, "format": "pt"}, "weight_map": {
            "h.0": "model-00001-of-00002.safetensors", "h.1": "model-00002-of-00002.safetensors",
            "wte": "model-00001-of-00002.safetensors"}}, indent=2).encode()
        shards = {"model-0000%d-of-00002.safetensors" % i: b"shard %d" % i for i in (1, 2)}
        pair = {"tokenizer.json": None, "vocab.json": b"{}", "merges.txt": b""}
        cases = {
            "bin": ({"model.safetensors": None, "pytorch_model.bin": b"PK"}, set()),
            "both": ({"pytorch_model.bin": b"PK"}, {"pytorch_model.bin"}),
            "pair": (pair, set()),
            "shards": ({"model.safetensors": None, "model.safetensors.index.json": index, **shards},
                       set()),
            "bin_shards": ({"model.safetensors": None, "pytorch_model.bin.index.json":
                            b'{"weight_map":{"a":"p-1.bin"}}', "p-1.bin": b"x"}, set()),
            "none": ({"tokenizer.json": None}, set()),
        }
        for name, (more, unwanted) in cases.items():
            with self.subTest(name):
                self.hub.models[name] = model(**more)
                done = self.succeed(name)
                self.assertEqual(self.files(name), {
                    file: body for file, body in self.hub.models[name].items()
                    if file not in unwanted | {"README.md"}})
                self.assertEqual("has no tokenizer" in done.stderr, name == "none")

    # -- Names

    def test_hostile_arguments(self):
        for name in ("../x", "/x", "a/b/c", "a b", "x@../y", "x@", ".x", "a\nb", "x?y", "é", ""):
            with self.subTest(name):
                self.refused("is not a model's name", name)
        self.assertEqual(os.listdir(self.home), [])
        self.refused("HF_TOKEN is no token", "owner/tiny", token='x"\nurl = "file:///etc/passwd')
        self.refused("not a web address", "owner/tiny", HF_ENDPOINT="file:///etc")

    def test_hostile_shard_names(self):
        for shard in ("../evil.safetensors", "/tmp/evil.safetensors", ".hidden.safetensors",
                      "a/b.safetensors", "evil.sh", "-o.safetensors", "\x1b[31m.safetensors",
                      "\\u002e.safetensors"):
            with self.subTest(shard):
                index = '{"weight_map": {"a": "good.safetensors", "b": "%s"}}' % shard
                self.hub.models["owner/tiny"] = model(**{
                    "model.safetensors": None, "model.safetensors.index.json": index.encode(),
                    "good.safetensors": b"x", "evil.sh": b"x"})
                self.refused("names the file", "owner/tiny")
        for index in (b"[]", b"{}", b'{"weight_map": {}}', b'{"metadata": {"a": "b.safetensors"}}'):
            self.hub.models["owner/tiny"]["model.safetensors.index.json"] = index
            self.refused("names no files", "owner/tiny")

    def test_usage(self):
        for arguments in ((), ("--what",), ("a", "b", "c")):
            self.assertEqual(self.run_script(*arguments).returncode, 2)

    # -- Refusals

    def test_what_is_not_there(self):
        self.refused("no model 'owner/none'", "owner/none")
        self.refused("has no revision 'v9'", "owner/tiny@v9")
        self.hub.status_of_unknown = 401  # what the hub answers without a token
        self.refused("set HF_TOKEN", "owner/none")
        for missing, words in (("config.json", "has no config.json"),
                               ("model.safetensors", "has no weights")):
            self.hub.models["owner/tiny"] = model(**{missing: None})
            self.refused(words, "owner/tiny")
        self.hub.models["owner/tiny"] = model(**{"tokenizer.json": None, "vocab.json": b"{}"})
        self.refused("no merges.txt", "owner/tiny")
        self.refused("cannot reach http://127.0.0.1:1: ", "owner/tiny",
                     HF_ENDPOINT="http://127.0.0.1:1")
        self.assertEqual(os.listdir(self.home), [])  # no attempt leaves anything behind

    def test_a_directory_that_cannot_be_written(self):
        with open(self.path("file"), "w"):
            pass
        for place in (self.path("file", "x"), "/proc/self"):
            self.refused(place, "owner/tiny", place)

    def test_a_gated_model_needs_the_token_which_stays_between_us_and_the_hub(self):
        self.hub.gated = {"owner/tiny"}
        self.hub.is_watched = self.cdn.is_watched = True
        self.hub.renamed = {"tiny": "owner/tiny"}  # the token follows the model to its new name
        self.refused("set HF_TOKEN", "owner/tiny")
        self.refused("HF_TOKEN does not grant access", "owner/tiny", token="hf_wrong")
        done = self.succeed("tiny", token=TOKEN)
        self.has_weights("tiny")
        self.assertTrue(any(seen[3] == "Bearer " + TOKEN for seen in self.hub.seen))
        self.assertEqual([seen[3] for seen in self.cdn.seen], [None])
        for server in (self.hub, self.cdn):
            self.assertIn(b"--user-agent", server.command_lines)  # curl was seen
            self.assertNotIn(TOKEN.encode(), server.command_lines)
            self.assertNotIn(b"signature", server.command_lines)
        self.assertNotIn(TOKEN, done.stderr)

    def test_redirects_to_nowhere(self):
        for place in ("file:///etc/passwd", "ftp://x/y", "what", ""):
            self.hub.redirects = {"model.safetensors": place}
            self.refused("leads nowhere", "owner/tiny")
        self.hub.redirects = {"model.safetensors": "/owner/tiny/resolve/main/model.safetensors"}
        self.refused("leads in circles", "owner/tiny")

    # -- Broken downloads

    def test_a_cut_is_gone_on_from(self):
        self.cdn.cuts = [1000, 0, "busy", 5000]
        self.succeed("owner/tiny")
        self.assertEqual(self.ranges(), [None, "bytes=1000-", "bytes=1000-", "bytes=1000-",
                                         "bytes=6000-"])
        self.has_weights()
        self.hub.models["owner/tiny"]["model.safetensors"] += b"."  # another version
        self.cdn.ranges = False  # begins again
        self.cdn.cuts = [1000]
        self.succeed("owner/tiny")
        self.has_weights()

    def test_after_too_many_cuts_the_next_run_goes_on_unless_the_version_is_another(self):
        for body, expected in ((bytes(range(256)) * 1000, "bytes=1000-"), (b"another" * 1000, None)):
            shutil.rmtree(self.path("owner"), ignore_errors=True)
            self.hub.models["owner/tiny"] = model()
            self.cdn.cuts = [1000, 0, 0, 0]
            self.refused("run this again", "owner/tiny")
            self.assertNotIn("model.safetensors", self.files("owner", "tiny"))
            self.ranges()
            self.hub.models["owner/tiny"] = model(model__safetensors=body)
            self.succeed("owner/tiny")
            self.assertEqual(self.ranges(), [expected])
            self.has_weights()

    def test_a_refusing_server_is_not_asked_again(self):
        self.cdn.cuts = ["refuse"]
        self.refused("model.safetensors: the server answered with status 403", "owner/tiny")
        self.assertEqual(len(self.cdn.seen), 1)

    def test_what_is_damaged_never_takes_a_files_place(self):
        self.succeed("owner/tiny")
        good = self.files("owner", "tiny")
        for file, digest in (("model.safetensors", "a" * 64), ("config.json", "b" * 40)):
            with self.subTest(file):
                self.hub.hashes = {file: digest}
                self.refused(file + ": its hash is ", "owner/tiny")
                self.assertEqual(self.files("owner", "tiny"), good)
        self.hub.hashes = {}
        self.hub.sizes = {"model.safetensors": "99"}
        self.refused("got 256000 bytes, expected 99", "owner/tiny")
        self.assertEqual(self.files("owner", "tiny"), good)

    def test_a_full_disk(self):
        self.hub.sizes = {"model.safetensors": "9" * 15}
        self.refused("free; make room", "owner/tiny")
        self.assertEqual(self.cdn.seen, [])
        self.hub.sizes = {}

        def at_most_a_little():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))

        self.refused("model.safetensors: cannot write to ", "owner/tiny", before=at_most_a_little)
        self.assertNotIn("model.safetensors", self.files("owner", "tiny"))
        self.succeed("owner/tiny")

    def test_two_at_a_time(self):
        os.makedirs(self.path("owner", "tiny"))
        with subprocess.Popen(["flock", self.path("owner", "tiny"), "-c", "echo; read x"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
            other.stdout.readline()
            self.refused("another download into", "owner/tiny")
            other.communicate(b"\n")


if __name__ == "__main__":
    for tool in ("curl", "flock"):
        if not shutil.which(tool):
            print("skipped: no %s" % tool)
            sys.exit(4)
    SCRIPT = sys.argv.pop(1)
    unittest.main(verbosity=2)
