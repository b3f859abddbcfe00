#!/usr/bin/env python3
"""The most talkative of adapters: whatever it is told, it repeats, in its errors,
its details and on its standard error.

Without an argument it is a plugin that was started; with HOST:PORT one that is
found there; with a path a Docker daemon that makes nothing, at that socket.
"""

import http.server
import json
import os
import socketserver
import sys
import threading

# What every request to an instance must carry.
HEADER = "-".join(["Kq7vCanary", "header", "of", "an", "instance"])
TOKEN = "Bearer " + os.environ.get("THERMOCLINE_PLUGIN_TOKEN", "")


class Talker(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        size = int(self.headers.get("content-length") or 0)
        if self.headers.get("transfer-encoding") == "chunked":
            self.body = b""
            while size := int(self.rfile.readline(), 16):
                self.body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            self.body = self.rfile.read(size)
        print("told:", self.path, self.body.decode(errors="replace"), file=sys.stderr, flush=True)
        status, answer = self.reply()
        text = b"" if answer is None else json.dumps(answer).encode()
        self.send_response(status)
        problem = "application/problem+json" if status >= 400 else "application/json"
        self.send_header("content-type", problem)
        if status != 204:
            self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = answer

    def log_message(self, *_):
        pass

    def address_string(self):
        return "somebody"


class Backend(Talker):
    """What an instance serves: its environment, to those with its token."""

    def reply(self):
        if self.headers.get("x-instance-token") != HEADER:
            return 403, {"not with": self.headers.get("x-instance-token")}
        return 200, self.server.env


class Plugin(Talker):
    instances = {}

    def reply(self):
        given = self.headers.get("authorization", "")
        if given != TOKEN:
            return self.refusal(401, "auth", "not with " + given)
        parts = self.path.split("?")[0].strip("/").split("/")[1:]
        if parts == ["capabilities"]:
            return 200, {"protocol": 1, "name": "talker", "version": "1", "tiers": ["pod"], "prices": True}
        if parts == ["offers"]:
            return 200, {"offers": []}
        if parts == ["instances"]:
            return 200, {"instances": list(self.instances.values()), "next": None, "complete": True}
        if self.command == "PUT":
            return self.create(parts[1], json.loads(self.body))
        if self.command == "DELETE":
            return (204 if self.instances.pop(parts[1], None) else 404), None
        found = self.instances.get(parts[1])
        return (200, found) if found else self.refusal(404, "not_found", "no such instance")

    def refusal(self, status, code, detail):
        return status, {"title": code, "status": status, "code": code, "detail": detail}

    def create(self, key, request):
        said = json.dumps(request["env"])
        if request["deployment"] == "refused":
            return self.refusal(400, "invalid", "this is of no use: " + said)
        if key in self.instances:
            return 200, self.instances[key]
        fails = request["deployment"] == "fails"
        backend = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Backend)
        backend.env = request["env"]
        threading.Thread(target=backend.serve_forever, daemon=True).start()
        url = "http://127.0.0.1:%d" % backend.server_port
        self.instances[key] = {
            "id": key, "key": key, "owner": request["owner"],
            "state": "failed" if fails else "ready",
            "address": None if fails else {"url": url, "headers": {"x-instance-token": HEADER}},
            "usd_per_hour": 0.25, "detail": "it was given " + said,
        }
        return 201, self.instances[key]


class Docker(Talker):
    def reply(self):
        path = self.path.split("?")[0]
        if path.endswith("/version"):
            return 200, {"Version": "28.0.0", "ApiVersion": "1.44", "MinAPIVersion": "1.24"}
        if path.endswith("/_ping") or path.endswith("/events"):
            return 200, None
        if path.endswith("/containers/json"):
            return 200, []
        if path.endswith("/containers/create"):
            return 400, {"message": "cannot use " + self.body.decode()}
        return 404, {"message": "not here: " + self.path}


class Socket(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


def end_with_thermocline():
    sys.stdin.buffer.read()
    os._exit(0)


def main():
    place = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:0"
    if place.startswith("/"):
        server = Socket(place, Docker)
        print("listening", flush=True)
        return server.serve_forever()
    host, _, port = place.rpartition(":")
    server = http.server.ThreadingHTTPServer((host, int(port)), Plugin)
    threading.Thread(target=end_with_thermocline, daemon=True).start()
    print("THERMOCLINE-PLUGIN 1 http://%s:%d" % (host, server.server_port), flush=True)
    print("my token is", TOKEN, file=sys.stderr, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
