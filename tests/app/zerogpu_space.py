"""A ZeroGPU Space without a GPU: CUDA's symbols and the lending server are faked, then `app/space.py` is run as a Space runs it."""

import json
import os
import runpy
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path


class Lender(BaseHTTPRequestHandler):
    """Takes every report, lends nothing, and remembers on standard output what it was asked."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        print("asked", self.path, flush=True)
        body = json.dumps({}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST

    def log_message(self, *_: object) -> None:
        """Nothing."""


def main() -> None:
    root, offload, *flags = sys.argv[1:]
    lender = HTTPServer(("127.0.0.1", 0), Lender)
    threading.Thread(target=lender.serve_forever, daemon=True).start()
    os.environ |= {
        "SPACES_ZERO_GPU": "true",
        "SPACES_ZERO_DEVICE_API_URL": f"http://127.0.0.1:{lender.server_port}",
        "ZEROGPU_OFFLOAD_DIR": offload,
        "ZEROGPU_MMAP_AUTOPRUNE_PATTERN": f"{offload}/nothing",
    }
    sys.path.insert(0, root)
    import torch

    import engine  # noqa: F401  first, as it sets how threads wait

    torch.version.cuda = "12.8"
    torch.cuda._is_in_bad_fork = bool  # asked in a forked process, so it must have a name there; bool() is False
    torch._C._cuda_init = lambda: None
    for name in ("_cuda_setDevice", "_cuda_getDevice", "_cuda_getDeviceCount", "_cuda_getCurrentRawStream"):
        if not hasattr(torch._C, name):
            setattr(torch._C, name, lambda *_: 0)
    sys.argv = ["app/space.py", *flags]
    runpy.run_path(str(Path(root) / "app" / "space.py"), run_name="__main__")


if __name__ == "__main__":
    main()
