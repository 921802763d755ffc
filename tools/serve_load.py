#!/usr/bin/env python3
"""Measures a server of OpenAI's completions under load.

  serve_load.py URL [--clients N] [--seconds S] [--prompt TOKENS] [--new TOKENS]
                [--temperature T] [--path PATH] [--idle N] [--slow N] [--pid PID]

N clients ask for streams, one after another, for S seconds. Prints the requests, the errors, the
tokens written per second, and the median and the 99th percentile of the time to the first token.
With --idle and --slow, as many further connections send nothing, or a byte a second. With --pid,
prints the memory of this process after a tenth of the time and at the end.
"""

import argparse
import http.client
import json
import random
import socket
import threading
import time
import urllib.parse


class Load:
    def __init__(self, options):
        self.options = options
        self.address = urllib.parse.urlparse(options.url)
        self.end = time.monotonic() + options.seconds
        self.lock = threading.Lock()
        self.first, self.done, self.errors = [], 0, 0

    def ask(self, random_numbers):
        """Asks for one stream, and returns the seconds to its first token."""
        o = self.options
        body = {"prompt": [random_numbers.randrange(o.vocabulary) for _ in range(o.prompt)],
                "max_tokens": o.new, "ignore_eos": True, "temperature": o.temperature, "stream": True,
                "seed": random_numbers.randrange(1 << 31)}
        connection = http.client.HTTPConnection(self.address.hostname, self.address.port,
                                                timeout=600)
        start, first = time.monotonic(), None
        connection.request("POST", o.path, json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        if answer.status != 200:
            raise RuntimeError(answer.read())
        for line in answer:
            if first is None and line.startswith(b"data: {"):
                first = time.monotonic() - start
        connection.close()
        return first

    def run_client(self, number):
        random_numbers = random.Random(number)
        while time.monotonic() < self.end:
            try:
                first = self.ask(random_numbers)
            except Exception:  # whatever it is, it is an error of the server
                with self.lock:
                    self.errors += 1
                continue
            with self.lock:
                self.done += 1
                self.first.append(first)


class Loiterers:
    """Connections that send nothing or a byte of a request a second; they connect again if the
    server closes them."""

    def __init__(self, address, idle, slow):
        self.address = (address.hostname, address.port)
        self.sockets = [self.connect() for _ in range(idle + slow)]
        self.slow = slow
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def connect(self):
        return socket.create_connection(self.address)

    def run(self):
        request = b"POST /v1/completions HTTP/1.1\r\nHost: slow\r\nX-Padding: " + b"x" * 100000
        second = 0
        while not self.ends.wait(1):
            for i in range(len(self.sockets)):
                try:
                    if i < self.slow:
                        self.sockets[i].send(request[second:second + 1])
                    elif self.sockets[i].recv(1, socket.MSG_DONTWAIT) == b"":
                        self.sockets[i] = self.connect()
                except BlockingIOError:
                    pass
                except OSError:
                    self.sockets[i] = self.connect()
            second += 1

    def stop(self):
        self.ends.set()
        self.thread.join()
        for one in self.sockets:
            one.close()


def memory_of(pid):
    """Returns the anonymous memory of a process in MiB: without the mapped files of the model."""
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) // 1024 for line in status if line.startswith("RssAnon"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url")
    for name, number, text in (("clients", 32, "clients at a time"), ("seconds", 30, "duration"),
                               ("prompt", 32, "tokens of a prompt"), ("new", 64, "tokens to write"),
                               ("vocabulary", 50257, "token ids are less than this")):
        parser.add_argument("--" + name, type=int, default=number, help=f"{text} (default {number})")
    for name in "idle", "slow":
        parser.add_argument("--" + name, type=int, default=0, help=f"{name} connections beside them")
    parser.add_argument("--temperature", type=float, default=1.0, help="0: take the likeliest tokens")
    parser.add_argument("--pid", type=int, help="the server's process, whose memory is printed")
    parser.add_argument("--path", default="/v1/completions")
    load = Load(parser.parse_args())
    options = load.options
    loiterers = Loiterers(load.address, options.idle, options.slow)
    start = time.monotonic()
    threads = [threading.Thread(target=load.run_client, args=(i,)) for i in
               range(load.options.clients)]
    for thread in threads:
        thread.start()
    if options.pid:
        time.sleep(options.seconds / 10)
        before = memory_of(options.pid)
    for thread in threads:
        thread.join()
    seconds = time.monotonic() - start
    loiterers.stop()
    first = sorted(load.first) or [float("nan")]
    print(f"{load.done} requests, {load.errors} errors, "
          f"{load.done * load.options.new / seconds:.0f} tokens/s, first token after "
          f"{1e3 * first[len(first) // 2]:.0f} ms (median), "
          f"{1e3 * first[min(len(first) - 1, int(0.99 * len(first)))]:.0f} ms (99th percentile)")
    if options.pid:
        print(f"memory: {before} MiB after a tenth of the time, "
              f"{memory_of(options.pid)} MiB at the end")


if __name__ == "__main__":
    main()
