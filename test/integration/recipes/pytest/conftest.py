import json
import os
import subprocess
import urllib.request

import pytest


def send(method, url, body=None, **headers):
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", **headers}
    with urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method)) as answer:
        return json.loads(answer.read() or "null")


@pytest.fixture(scope="session")
def control():
    # Not npx: it would not forward the signal that stops the server.
    command = os.environ.get("ADOPTION_STORE", "node_modules/.bin/animal-adoption-store").split()
    options = ["--control", "--port", "0", "--json", "--quiet"]
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE) as server:
        yield json.loads(server.stdout.readline())["control"]
        server.terminate()


@pytest.fixture
def world(control):
    world = send("POST", control + "/worlds")
    yield world
    send("DELETE", control + "/worlds/" + world["id"])
