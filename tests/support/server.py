"""A gpt2 serve for the tests in Python, and a server of files for the tests of pages."""

import functools
import http.server
import signal
import subprocess
import threading


class Server:
    """Listens on a free port at `url`, and writes no log."""

    def __init__(self, command, *options, **how):
        self.process = subprocess.Popen(
            [command, "serve", "--port", "0", "--quiet", *options], stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, **how)
        self.url = self.process.stdout.readline().strip()

    def end(self, by=signal.SIGTERM):
        """Returns the exit status."""
        self.process.send_signal(by)
        self.process.stdout.close()
        return self.process.wait(timeout=60)


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def serve_folder(case, folder, handler=QuietHandler):
    """Serves a folder until the tests of the class have run. Returns the server."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0),
                                             functools.partial(handler, directory=folder))
    case.addClassCleanup(server.server_close)
    case.addClassCleanup(server.shutdown)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
