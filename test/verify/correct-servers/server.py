"""The API on Python's http.server, written from the specification alone."""

import json
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

KEY = sys.argv[1]
STATUSES = ("available", "pending", "sold")
LARGEST_BODY = 1_000_000

pets = []
lock = threading.Lock()


class Failure(Exception):
    def __init__(self, status, code, message):
        self.status, self.code, self.message = status, code, message


def not_json(text):
    raise ValueError(text)


def is_int64(value):
    return type(value) is int and -(2**63) <= value < 2**63


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer(self.get)

    do_HEAD = do_GET

    def do_POST(self):
        self.answer(self.post)

    def answer(self, operation):
        try:
            body = self.read_body()
            self.authenticate()
            path = urlsplit(self.path).path
            status, value = operation(path, body)
        except Failure as failure:
            status = failure.status
            value = {"code": failure.code, "message": failure.message, "status": status}
        self.reply(status, value)

    def read_body(self):
        if self.headers["Transfer-Encoding"]:
            self.close_connection = True
            raise Failure(411, "length_required", "Send Content-Length.")
        digits = self.headers["Content-Length"] or "0"
        if not re.fullmatch("[0-9]+", digits):
            self.close_connection = True
            raise Failure(400, "bad_request", "Content-Length is no number.")
        if int(digits) > LARGEST_BODY:
            self.close_connection = True
            raise Failure(413, "too_large", "The body is too large.")
        return self.rfile.read(int(digits))

    def authenticate(self):
        scheme, _, key = (self.headers["Authorization"] or "").partition(" ")
        if scheme.lower() != "bearer" or key != KEY:
            raise Failure(401, "unauthorized", "Send a valid API key.")

    def get(self, path, _):
        if path == "/v1/pets":
            return 200, self.list_pets()
        found = re.fullmatch("/v1/pets/([1-9][0-9]{0,18})", path)
        for pet in pets:
            if found and pet["id"] == int(found[1]):
                return 200, pet
        raise Failure(404, "not_found", "There is no such animal.")

    def list_pets(self):
        query = parse_qs(urlsplit(self.path).query, keep_blank_values=True)
        status = query.get("status", [None])[0]
        limit = query.get("limit", ["20"])[0]
        if not re.fullmatch("[0-9]{1,9}", limit) or not 1 <= int(limit) <= 100:
            raise Failure(400, "bad_limit", "`limit` is from 1 to 100.")
        if status is not None and status not in STATUSES:
            raise Failure(400, "bad_status", "`status` is one of three.")
        found = [pet for pet in pets if status in (None, pet.get("status"))]
        return found[: int(limit)]

    def post(self, path, body):
        if path != "/v1/pets":
            raise Failure(404, "not_found", "There is nothing here.")
        if self.headers["Content-Encoding"]:
            raise Failure(415, "unsupported", "Send no Content-Encoding.")
        try:
            sent = json.loads(body.decode("utf-8"), parse_constant=not_json)
        except (ValueError, RecursionError):
            raise Failure(400, "bad_json", "The body is no JSON.") from None
        if type(sent) is not dict or type(sent.get("name")) is not str or not is_int64(sent.get("categoryId")):
            raise Failure(400, "bad_animal", "`name` and `categoryId` are required.")
        if "status" in sent and sent["status"] not in STATUSES:
            raise Failure(400, "bad_status", "`status` is one of three.")
        fields = {name: sent[name] for name in ("name", "categoryId", "status") if name in sent}
        with lock:
            pet = {"id": len(pets) + 1, **fields}
            pets.append(pet)
        return 201, pet

    def reply(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        # The limits do not apply here: nothing is counted.
        self.send_header("X-RateLimit-Limit", "1000")
        self.send_header("X-RateLimit-Remaining", "1000")
        self.send_header("X-RateLimit-Reset", str(int(time.time()) + 60))
        if status == 401:
            self.send_header("WWW-Authenticate", "Bearer")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    def handle_error(self, *_):
        pass


server = Server(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
