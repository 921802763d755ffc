"""Tests tools/download_model.sh with a hub that the test runs: download_test.py SCRIPT SOURCE

The hub consists of two servers on this machine. One knows names, sizes and hashes, and redirects
requests for large files to the other one, which has them. Both can be told to misbehave.
"""

import glob
import hashlib
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

SCRIPT = SOURCE = ""
TOKEN = "hf_secretOfThisTest"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
WEIGHTS = bytes(range(256)) * 1000


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


def model(**more):
    files = {"config.json": b'{"model_type": "gpt2"}', "tokenizer.json": b'{"version": "1.0"}',
             "generation_config.json": b"{}", "README.md": b"not needed",
             "model.safetensors": WEIGHTS, **more}
    return {name: body for name, body in files.items() if body is not None}


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, respond):
        super().__init__(("127.0.0.1", 0), Handler)
        self.address = "http://127.0.0.1:%d" % self.server_port
        self.respond = respond
        self.seen = []  # (method, path, Range, Authorization)
        self.command_lines = None
        threading.Thread(target=self.serve_forever, args=[0.01], daemon=True).start()

    def handle_error(self, *_):
        pass  # a client that is cut off resets the connection


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.server.seen.append((self.command, self.path, self.headers.get("Range"),
                                 self.headers.get("Authorization")))
        if self.server.command_lines is not None:
            self.server.command_lines += seen_by_others()
        self.server.respond(self)

    do_HEAD = do_GET

    def answer(self, status, headers=(), body=b"", cut_after=None):
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body[:cut_after])
            self.close_connection = cut_after is not None

    def content(self, body, headers, ranges=True, cut_after=None):
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or "")
        begin = int(asked[1]) if asked and ranges else 0
        if begin and begin >= len(body):
            return self.answer(416)
        if begin:
            headers = {**headers,
                       "Content-Range": "bytes %d-%d/%d" % (begin, len(body) - 1, len(body))}
        self.answer(206 if begin else 200, headers, body[begin:], cut_after)


class DownloadTest(unittest.TestCase):
    def setUp(self):
        self.hub, self.cdn = Server(self.respond), Server(self.respond_with_content)
        self.models = {"owner/tiny": model()}
        self.renamed, self.redirects, self.hashes, self.status_of_unknown = {}, {}, {}, 404
        self.gated, self.cuts, self.ranges = set(), [], True
        self.home = tempfile.mkdtemp()
        os.mkdir(self.path("bin"))  # a `sleep` that is short
        with open(self.path("bin/sleep"), "w") as file:
            file.write("#!/bin/sh\nexec %s 0.05\n" % shutil.which("sleep"))
        os.chmod(file.name, 0o755)

    def tearDown(self):
        for server in (self.hub, self.cdn):
            server.shutdown()
            server.server_close()
        shutil.rmtree(self.home)

    # -- The hub

    def respond(self, request):
        name, revision, file = re.fullmatch(r"/(.+)/resolve/([^/]+)/([^/]+)", request.path).groups()
        authorization = request.headers.get("Authorization")
        if name in self.renamed:
            to = "/%s/resolve/%s/%s" % (self.renamed[name], revision, file)
            return request.answer(307, {"Location": to})
        if name in self.gated and authorization != "Bearer " + TOKEN:
            return request.answer(403 if authorization else 401, {"X-Error-Code": "GatedRepo"})
        if name not in self.models:
            return request.answer(self.status_of_unknown, {"X-Error-Code": "RepoNotFound"})
        if revision not in ("main", COMMIT, "v1%2F0"):
            return request.answer(404, {"X-Error-Code": "RevisionNotFound"})
        headers = {"X-Repo-Commit": COMMIT}
        if file in self.redirects:
            return request.answer(302, {**headers, "Location": self.redirects[file]})
        body = self.models[name].get(file)
        if body is None:
            return request.answer(404, {**headers, "X-Error-Code": "EntryNotFound"})
        if file.endswith((".safetensors", ".bin")):
            digest = self.hashes.get(file, hashlib.sha256(body).hexdigest())
            return request.answer(302, {
                **headers, "X-Linked-Size": str(len(body)), "X-Linked-Etag": '"%s"' % digest,
                "Location": '%s/%s/%s?signature="a\\b' % (self.cdn.address, name, file)})
        digest = hashlib.sha1(b"blob %d\0" % len(body) + body).hexdigest()
        headers["ETag"] = 'W/"%s"' % self.hashes.get(file, digest)
        request.content(body, headers)

    def respond_with_content(self, request):
        name, file = request.path[1:].split("?")[0].rsplit("/", 1)
        cut = self.cuts.pop(0) if self.cuts else None
        if isinstance(cut, str):
            return request.answer(int(cut))
        request.content(self.models[name][file], {}, self.ranges, cut)

    # -- The script

    def path(self, *parts):
        return os.path.join(self.home, *parts)

    def run_script(self, *arguments, token=None, **environment):
        env = {"PATH": self.path("bin") + ":" + os.environ["PATH"], "HOME": self.home,
               "HF_ENDPOINT": self.hub.address + "/", "no_proxy": "*", **environment}
        if token:
            env["HF_TOKEN"] = token
        return subprocess.run([SCRIPT, *arguments], env=env, text=True, capture_output=True,
                              timeout=120)

    def succeed(self, *arguments, **options):
        """Returns the content of the files in the directory that the script prints."""
        done = self.run_script(*arguments, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.place = done.stdout.rstrip("\n")
        return self.files(self.place)

    def files(self, place):
        result = {}
        for name in os.listdir(place):
            with open(os.path.join(place, name), "rb") as file:
                result[name] = file.read()
        return result

    def refused(self, words, *arguments, **options):
        done = self.run_script(*arguments, **options)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertIn(words, done.stderr.splitlines()[-1])
        self.assertNotRegex(done.stderr, r"[^\n -~]")

    def whole(self, files):
        self.assertEqual(files, {name: body for name, body in self.models["owner/tiny"].items()
                                 if name != "README.md"})

    def asked_ranges(self):
        """Returns the ranges that the second server was asked for, and forgets them."""
        seen = [seen[2] for seen in self.cdn.seen]
        self.cdn.seen.clear()
        return seen

    # -- Files and places

    def test_the_cache(self):
        for environment, cache in (({}, ".cache/huggingface/hub"), ({"HF_HOME": "~/a"}, "a/hub"),
                                   ({"HF_HOME": "$HOME/d e"}, "d e/hub"),
                                   ({"HF_HUB_CACHE": "${HOME}/$unset/f"}, "$unset/f"),
                                   ({"XDG_CACHE_HOME": self.path("x")}, "x/huggingface/hub"),
                                   ({"HOME": self.path("g&h"), "HF_HOME": "~"}, "g&h/hub"),
                                   ({"HOME": "", "HF_HUB_CACHE": self.path("i")}, "i"),
                                   ({"HF_HOME": "/x", "HF_HUB_CACHE": self.path("b c")}, "b c")):
            self.whole(self.succeed("owner/tiny@v1/0", **environment))
            repository = self.path(cache, "models--owner--tiny")
            self.assertEqual(self.place, os.path.join(repository, "snapshots", COMMIT))
            with open(repository + "/refs/v1/0") as file:
                self.assertEqual(file.read(), COMMIT)
            self.assertEqual(os.readlink(self.place + "/model.safetensors"),
                             "../../blobs/" + hashlib.sha256(WEIGHTS).hexdigest())
            self.assertEqual(len(os.listdir(repository + "/blobs")), 4)
        self.assertIn("/resolve/v1%2F0/", self.hub.seen[0][1])
        self.cdn.seen.clear()
        self.whole(self.succeed("owner/tiny"))
        self.whole(self.succeed("owner/tiny@" + COMMIT))
        self.assertEqual(self.cdn.seen, [])  # complete already
        self.assertEqual(os.listdir(self.path(".cache/huggingface/hub/models--owner--tiny/refs")),
                         ["v1", "main"])

    def test_a_directory(self):
        for _ in range(2):
            self.whole(self.succeed("owner/tiny", self.path("a new", "place")))
            self.assertEqual(self.place, self.path("a new", "place"))
        self.assertEqual(len(self.cdn.seen), 1)

    def test_the_files_that_are_fetched_are_those_that_are_read(self):
        def text(file):
            with open(os.path.join(SOURCE, file)) as opened:
                return opened.read()

        def names(pattern, page):
            found = re.search(pattern, page, re.DOTALL)[0]
            name = r'["`](\w[\w.-]*\.(?:json|txt|model|pt|pkl|bin|safetensors))["`]'
            return set(re.findall(name, found))

        tokenizers = names(r"kTokenizerFiles\[\] = .*?;", text("src/formats/model_files.h"))
        self.assertTrue(names(r"kMainFiles\[\] = .*?;", text("src/text/load_tokenizer.cpp")) <=
                        tokenizers)
        weights = names(r"kWeights\[\] = .*?;", text("src/formats/model_files.cpp"))
        adapter = names(r"Checkpoint open_tensors.*?\n}", text("src/model/loading/adapter.cpp"))
        self.models["owner/tiny"] = {"config.json": b"{}"}
        self.refused("has no weights", "owner/tiny")
        self.assertEqual({seen[1].split("/")[-1] for seen in self.hub.seen}, weights | adapter)
        chat = re.findall(r'"(\w+\.jinja)"', text("src/serve/served_model.cpp"))
        others = {*chat, "config.json", "generation_config.json"}
        all_files = tokenizers | weights | adapter | others
        self.models["owner/tiny"] = {name: b"x" for name in all_files | {"tf_model.h5"}}
        files = set(self.succeed("owner/tiny"))
        self.assertEqual(files, tokenizers | others | {"model.safetensors"})
        page = names(r"\| what loads.*?\n\n", text("README.md"))
        self.assertTrue({"vocab.txt", "spiece.model", "ckpt.pt"} <= page <= all_files)

    def test_kinds_of_weights(self):
        index = json.dumps({"metadata": {"total_size": 3}, "weight_map": {
            "a": "a-1.safetensors", "b": "a-2.safetensors", "c": "a-1.safetensors"}}, indent=2)
        none = {"model.safetensors": None}
        for more in ({"pytorch_model.bin": b"PK"}, {"ckpt.pt": b"PK", "config.json": None},
                     {"model.safetensors.index.json": index.encode(), "a-1.safetensors": b"1",
                      "a-2.safetensors": b"2"},
                     {"pytorch_model.bin.index.json": b'{"weight_map":{"a":"p.bin"}}',
                      "p.bin": b"x"}):
            self.models["owner/tiny"] = model(**none, **more)
            shutil.rmtree(self.path(".cache"), ignore_errors=True)
            self.whole(self.succeed("owner/tiny"))

    def test_an_adapter_and_its_base(self):
        self.models["me/adapter"] = adapter = {
            "adapter_config.json": b'{"r": 1,\n "base_model_name_or_path": "owner/tiny"}',
            "adapter_model.safetensors": b"x"}
        self.assertEqual(self.succeed("me/adapter"), adapter)
        self.whole(self.files(self.place.replace("me--adapter", "owner--tiny")))
        for name in ("../x", "/x", "a/b/c", "\x1b[31m"):
            adapter["adapter_config.json"] = b'{"base_model_name_or_path": "%s"}' % name.encode()
            self.assertEqual(self.succeed("me/adapter"), adapter)
        adapter["adapter_config.json"] = b'{"base_model_name_or_path": "me/adapter"}'
        self.refused("is an adapter, too", "me/adapter")

    # -- Refusals

    def test_hostile_words(self):
        for name in ("../x", "a/b/c", "a b", "x@../y", "x@", ".x", "a\nb", "x?y", "é", ""):
            self.refused("is not a model's name", name)
        self.refused("HF_TOKEN is no token", "owner/tiny", token='x"\nurl = "file:///etc/passwd')
        self.refused("not a web address", "owner/tiny", HF_ENDPOINT="file:///etc")
        for arguments in ((), ("--what",), ("a", "b", "c")):
            self.assertEqual(self.run_script(*arguments).returncode, 2)
        self.hub.seen.clear()
        for shard in ("../evil.safetensors", "/tmp/evil.safetensors", ".hidden.safetensors",
                      "a/b.safetensors", "evil.sh", "-o.safetensors", "\x1b[31m.safetensors"):
            index = '{"weight_map": {"a": "%s"}}' % shard
            self.models["owner/tiny"] = model(**{
                "model.safetensors": None, "model.safetensors.index.json": index.encode()})
            self.refused("names the file", "owner/tiny")
        for index in (b"[]", b"{}", b'{"weight_map": {}}', b'{"metadata": {"a": "b.safetensors"}}'):
            self.models["owner/tiny"]["model.safetensors.index.json"] = index
            self.refused("names no files", "owner/tiny")

    def test_what_is_not_there(self):
        self.refused("no model 'owner/none'", "owner/none")
        self.refused("has no revision 'v9'", "owner/tiny@v9")
        self.status_of_unknown = 401  # what the hub answers without a token
        self.refused("set HF_TOKEN", "owner/none")
        self.models["owner/tiny"] = model(**{"config.json": None})
        self.refused("has no config.json", "owner/tiny")
        self.refused("cannot reach http://127.0.0.1:1: ", "owner/tiny",
                     HF_ENDPOINT="http://127.0.0.1:1")
        for place in ("file:///etc/passwd", "ftp://x/y", "//x/y", ""):
            self.redirects = {"model.safetensors": place}
            self.refused("does not report", "owner/tiny")
        self.redirects = {"model.safetensors": "/owner/tiny/resolve/main/model.safetensors"}
        self.refused("leads in circles", "owner/tiny")
        self.assertEqual(os.listdir(self.home), ["bin"])  # no attempt leaves anything behind

    def test_the_token_stays_between_us_and_the_hub(self):
        self.gated = {"owner/tiny"}
        self.hub.command_lines = self.cdn.command_lines = b""
        self.renamed = {"tiny": "owner/tiny"}  # the token follows the model to its new name
        self.refused("set HF_TOKEN", "owner/tiny")
        self.refused("accept the terms", "owner/tiny", token="hf_wrong")
        self.whole(self.succeed("tiny", token=TOKEN + "\n"))
        self.assertEqual([seen[3] for seen in self.cdn.seen], [None])
        lines = self.hub.command_lines + self.cdn.command_lines
        self.assertIn(b"--user-agent", lines)  # curl was seen
        self.assertNotIn(TOKEN.encode(), lines)
        with open(self.path("token"), "w") as file:
            file.write(TOKEN + "\n")
        self.whole(self.succeed("tiny", HF_HOME=self.home))

    # -- Broken downloads

    def test_a_cut_is_gone_on_from(self):
        self.cuts = [1000, 0, "503", 5000]
        self.whole(self.succeed("owner/tiny"))
        self.assertEqual(self.asked_ranges(), [None] + 3 * ["bytes=1000-"] + ["bytes=6000-"])
        self.models["owner/tiny"]["model.safetensors"] += b"."  # another version
        self.ranges, self.cuts = False, [1000]
        self.whole(self.succeed("owner/tiny"))

    def test_after_too_many_cuts_the_next_run_goes_on(self):
        for arguments in (("owner/tiny",), ("owner/tiny", self.path("here"))):
            self.cuts = [1000, 0, 0, 0]
            self.refused("run this again", *arguments)
            found = glob.glob(self.home + "/**/config.json", recursive=True)
            self.assertNotIn(self.path("here/config.json"), found)
            self.asked_ranges()
            self.whole(self.succeed(*arguments))
            self.assertEqual(self.asked_ranges(), ["bytes=1000-"])
        self.models["owner/tiny"]["model.safetensors"] += b"."
        self.ranges, self.cuts = False, 20 * [1000]
        self.refused("run this again", "owner/tiny")
        self.assertEqual(self.asked_ranges(), 2 * [None, "bytes=1000-"])
        self.models["owner/tiny"]["model.safetensors"] = b"another"
        self.ranges, self.cuts = True, ["403"]
        self.refused("model.safetensors: the server answered with status 403", "owner/tiny")
        self.assertEqual(self.asked_ranges(), [None])

    def test_what_is_damaged_never_takes_a_files_place(self):
        good = self.succeed("owner/tiny")
        for file, digest in (("model.safetensors", "a" * 64), ("config.json", "b" * 40)):
            self.hashes = {file: digest}
            self.refused(file + ": its size or hash is not", "owner/tiny")
            self.assertEqual(self.files(self.place), good)
        self.hashes = {"config.json": "5f-3a"}  # a mirror may have ETags of its own
        self.whole(self.succeed("owner/tiny"))
        self.refused("cannot make the directory", "owner/tiny", self.path("bin/sleep/x"))
        self.refused("cannot write to", "owner/tiny", "/proc/self")
        self.assertNotIn("line ", self.run_script("owner/tiny", "/proc/self").stderr)  # of bash

    def test_two_at_a_time(self):
        place = self.path("here")
        repository = self.path(".cache/huggingface/hub/models--owner--tiny")
        for held, arguments in ((place, [place]), (repository, [])):  # the revisions share blobs
            os.makedirs(held)
            with subprocess.Popen(["flock", held, "-c", "echo; read x"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
                other.stdout.readline()
                self.refused("another download into", "owner/tiny", *arguments)
                other.communicate(b"\n")


if __name__ == "__main__":
    for tool in ("curl", "flock"):
        if not shutil.which(tool):
            print("skipped: no %s" % tool)
            sys.exit(4)
    SCRIPT, SOURCE = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main(verbosity=2)
