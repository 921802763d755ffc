"""A gpt2 serve for the tests in Python."""

import signal
import subprocess


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
