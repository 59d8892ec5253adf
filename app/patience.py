"""The server's start, waited for as long as it takes: Gradio gives it five seconds, and then says that no port is free.
A machine that is busy, or fetches modules from a slow disk meanwhile, needs more."""

import threading
import time

from gradio import http_server

LONGEST, LOOKS = 300.0, 0.005  # seconds: until it is given up, and between two looks


class Patient(http_server.Server):
    """Gradio's server, which is given up where it has ended, not where it is slow."""

    def run_in_thread(self) -> None:
        """Return once it listens.

        Raises:
            ServerFailedToStartError: it cannot, as where the port is taken.
        """
        self.thread = threading.Thread(target=self.run, daemon=True)
        if self.reloader:  # on a Space
            self.watch_thread = threading.Thread(target=self.watch, daemon=True)
            self.watch_thread.start()
        self.thread.start()
        end = time.monotonic() + LONGEST
        while not self.started:
            self.thread.join(LOOKS)
            if not self.started and (not self.thread.is_alive() or time.monotonic() > end):
                raise http_server.ServerFailedToStartError("The server did not start.")
