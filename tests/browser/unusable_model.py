"""A chat model with unusable responses, so that each conversation fails permanently."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class UnusableModel(BaseHTTPRequestHandler):
    """Responds to each request with prose in place of operations."""

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        body = json.dumps({"choices": [{"message": {"content": "Lovely weather today."}}]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextmanager
def serve_unusable_model():
    """Yields the address of the model."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), UnusableModel)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
