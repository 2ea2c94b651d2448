import urllib.error

import pytest
from conftest import send


def pets(world, **request):
    return send(url=world["baseUrl"] + "/pets", Authorization="Bearer " + world["apiKeys"]["free"], **request)


@pytest.mark.parametrize("name", ["Ada", "Bo"])
def test_creates_an_animal(world, name):
    pets(world, method="POST", body={"name": name, "categoryId": 1})
    assert [pet["name"] for pet in pets(world, method="GET")] == [name]


def test_waits_as_told(world):
    send("POST", world["controlUrl"] + "/clock", {"auto": True})
    for _ in range(62):
        try:
            pets(world, method="GET")
        except urllib.error.HTTPError as refused:
            # The clock has gone to the time that Retry-After names: no need to sleep.
            assert refused.status == 429
    assert send("GET", world["controlUrl"] + "/report")["ok"]
