#!/usr/bin/env python3
"""A complete provider adapter: local processes as "pods", in the standard library alone.

It speaks version 1 of the Thermocline provider plugin protocol. Copy it, and
replace the class Cloud by calls to your own cloud; the rest can stay.

    [providers.shed]
    kind = "plugin"
    command = ["python3", "adapter.py"]

Started by hand it listens where it is told, with the token from its environment:

    THERMOCLINE_PLUGIN_TOKEN=secret python3 adapter.py 127.0.0.1:9000
"""

import hmac
import http.server
import json
import os
import sys
import threading
import time
import urllib.parse
import uuid

BOOT_SECONDS = float(os.environ.get("SHED_BOOT_SECONDS", "0.2"))
CAPACITY = int(os.environ.get("SHED_CAPACITY", "8"))
USD_PER_HOUR = 0.25
GPUS = ["Spade 16"]
PAGE = 100
CAPABILITIES = {"protocol": 1, "name": "shed", "version": "1.0", "tiers": ["pod"], "prices": True, "lifetimes": True, "checks": True}


class Refusal(Exception):
    """An answer that is an error; `code` is one of the protocol's."""

    def __init__(self, status, code, detail):
        super().__init__(detail)
        self.status, self.code, self.detail = status, code, detail


class Backend(http.server.BaseHTTPRequestHandler):
    """What an instance serves, since this cloud has no images: it says who it is."""

    protocol_version = "HTTP/1.1"

    def answer(self):
        self.rfile.read(int(self.headers.get("content-length") or 0))
        body = json.dumps({"deployment": self.server.deployment, "path": self.path}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = answer

    def log_message(self, *_):
        pass


class Instance:
    """One thing that exists and costs money."""

    def __init__(self, key, request):
        self.id, self.key, self.owner = "shed-" + uuid.uuid4().hex[:12], key, request["owner"]
        self.ready_at = time.monotonic() + BOOT_SECONDS
        self.live_for(request.get("max_lifetime_s") or 0)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Backend)
        self.server.daemon_threads = True
        self.server.deployment = request["deployment"]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def live_for(self, seconds):
        """From now on; for ever where that is 0."""
        self.ends_at = time.monotonic() + seconds if seconds else float("inf")

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def describe(self):
        ready = time.monotonic() >= self.ready_at
        url = "http://127.0.0.1:%d" % self.server.server_port
        return {
            "id": self.id,
            "key": self.key,
            "owner": self.owner,
            "state": "ready" if ready else "starting",
            # An address exactly while it is ready.
            "address": {"url": url, "headers": {}} if ready else None,
            "usd_per_hour": USD_PER_HOUR,
            "detail": "",
        }


class Cloud:
    """The truth of what exists. A real adapter asks its cloud instead, where it
    finds an instance again by a name or tag made of owner and key."""

    def __init__(self):
        self.lock = threading.Lock()
        self.instances = {}
        threading.Thread(target=self.end_what_is_due, daemon=True).start()

    def create(self, key, request):
        """Makes the instance, or returns the one that is there: (instance, new)."""
        with self.lock:  # creates that race for one key make one instance
            for instance in self.instances.values():
                if (instance.owner, instance.key) == (request["owner"], key):
                    return instance, False
            if len(self.instances) >= CAPACITY:
                raise Refusal(503, "no_capacity", "the shed is full")
            instance = Instance(key, request)
            self.instances[instance.id] = instance
            return instance, True

    def get(self, instance_id):
        with self.lock:
            return self.instances.get(instance_id)

    def page(self, owner, cursor):
        """One page of what belongs to `owner`, and the next page's cursor."""
        with self.lock:
            mine = sorted(i.id for i in self.instances.values() if i.owner == owner)
            rest = [i for i in mine if not cursor or i > cursor]
            page = [self.instances[i] for i in rest[:PAGE]]
            return page, rest[PAGE - 1] if len(rest) > PAGE else None

    def delete(self, instance_id):
        with self.lock:
            instance = self.instances.pop(instance_id, None)
        if instance:
            instance.stop()
        return instance is not None

    def renew(self, instance_id, seconds):
        with self.lock:
            instance = self.instances.get(instance_id)
            if instance:
                instance.live_for(seconds)
            return instance is not None

    def end_what_is_due(self):
        """Ends what nobody has renewed, for the case that Thermocline never comes
        back. Where this process may end before its instances do, let the cloud
        itself end them, or do not say `lifetimes`."""
        while True:
            time.sleep(0.2)
            with self.lock:  # what is renewed meanwhile is not due
                now = time.monotonic()
                due = [i.id for i in self.instances.values() if now >= i.ends_at]
                ended = [self.instances.pop(instance_id) for instance_id in due]
            for instance in ended:
                instance.stop()


class Adapter(http.server.BaseHTTPRequestHandler):
    """The six calls, and those of lifetimes and checks."""

    protocol_version = "HTTP/1.1"
    timeout = 60

    def handle_call(self):
        try:
            status, answer = self.dispatch()
        except Refusal as refusal:
            status = refusal.status
            answer = {"title": refusal.code, "status": status, "code": refusal.code, "detail": refusal.detail}
        except Exception as error:  # a defect of ours says nothing about what exists
            print("a call failed: %r" % error, file=sys.stderr, flush=True)
            status, answer = 500, {"title": "error", "status": 500, "code": "unavailable", "detail": "see the log"}
        self.send(status, answer)

    do_GET = do_PUT = do_DELETE = do_POST = handle_call

    def dispatch(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        given = self.headers.get("authorization", "").encode()
        if not hmac.compare_digest(given, b"Bearer " + self.server.token):
            raise Refusal(401, "auth", "the token is missing or wrong")
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        parts = [urllib.parse.unquote(part) for part in url.path.strip("/").split("/")]
        if (self.command, parts) == ("GET", ["v1", "capabilities"]):
            return 200, CAPABILITIES
        if (self.command, parts) == ("GET", ["v1", "offers"]):
            return 200, {"offers": self.offers(query)}
        if (self.command, parts) == ("GET", ["v1", "instances"]):
            page, following = self.server.cloud.page(query.get("owner", ""), query.get("cursor"))
            return 200, {"instances": [i.describe() for i in page], "next": following, "complete": True}
        if (self.command, parts) == ("POST", ["v1", "check"]):
            return 200, {"mistakes": self.mistakes(self.read(body))}
        if len(parts) == 3 and parts[:2] == ["v1", "instances"]:
            return self.instance(parts[2], body)
        if self.command == "PUT" and len(parts) == 4 and parts[:2] == ["v1", "instances"] and parts[3] == "lifetime":
            return self.renew(parts[2], body)
        raise Refusal(404, "invalid", "there is no such call")

    def offers(self, query):
        if query.get("tier") != "pod" or int(query.get("vram_mib") or 0) > 0:
            return []
        offer = {"id": "shed", "gpu": GPUS[0], "vram_mib": 0, "region": "here"}
        return [dict(offer, usd_per_hour=USD_PER_HOUR, available=True)]

    def mistakes(self, request):
        """What can never be done of a request; nothing is made."""
        message = "is no GPU of the shed; it has " + ", ".join(GPUS)
        unknown = [i for i, name in enumerate(request.get("gpu") or []) if name not in GPUS]
        return [{"place": "tier", "field": "gpu[%d]" % i, "message": message} for i in unknown]

    def instance(self, name, body):
        cloud = self.server.cloud
        if self.command == "PUT":
            instance, new = cloud.create(name, self.request_in(body))
            return (201 if new else 200), instance.describe()
        if self.command == "DELETE":
            return (204 if cloud.delete(name) else 404), None
        found = cloud.get(name)
        if found is None:
            raise Refusal(404, "not_found", "no such instance")
        return 200, found.describe()

    def renew(self, name, body):
        seconds = self.read(body).get("max_lifetime_s")
        if not isinstance(seconds, int) or seconds < 0:
            raise Refusal(400, "invalid", "max_lifetime_s is needed, a number of seconds or 0")
        return (204 if self.server.cloud.renew(name, seconds) else 404), None

    def read(self, body):
        try:
            read = json.loads(body)
        except ValueError:
            raise Refusal(400, "invalid", "the body is no JSON") from None
        if not isinstance(read, dict):
            raise Refusal(400, "invalid", "the body is no JSON object")
        return read

    def request_in(self, body):
        request = self.read(body)
        if not all(request.get(f) for f in ("owner", "deployment", "image", "port")):
            raise Refusal(400, "invalid", "owner, deployment, image and port are needed")
        if request.get("tier") != "pod":
            raise Refusal(400, "invalid", "there are pods alone")
        return request

    def send(self, status, answer):
        body = b"" if answer is None else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json" if status < 400 else "application/problem+json")
        if status != 204:
            self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass  # one line for each call would be too many


class Shed(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        # A caller that leaves before its answer is no fault of ours.
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def end_with_thermocline():
    """Standard input ends when Thermocline does."""
    sys.stdin.buffer.read()
    os._exit(0)


def main():
    token = os.environ.get("THERMOCLINE_PLUGIN_TOKEN")
    if not token:
        sys.exit("THERMOCLINE_PLUGIN_TOKEN must hold the token that callers know")
    started = len(sys.argv) == 1
    host, _, port = ("127.0.0.1:0" if started else sys.argv[1]).rpartition(":")
    server = Shed((host, int(port)), Adapter)
    server.cloud, server.token = Cloud(), token.encode()
    if started:
        threading.Thread(target=end_with_thermocline, daemon=True).start()
    print("THERMOCLINE-PLUGIN 1 http://%s:%d" % (host, server.server_port), flush=True)
    print("the shed is open", file=sys.stderr, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
