"""Races, time and faults in tests in Python. Each test decides what happens between two requests.

Start a server, and in another terminal the tests:

    npx lazuli --inMemoryPersistence
    python3 -m unittest
"""

import unittest
from concurrent.futures import ThreadPoolExecutor

from lazuli import Client, control

CONTAINER = "/counters?restype=container"
COUNTER = "/counters/visits"
PUT = {"operation": "Put Blob", "path": COUNTER}


def increment(client):
    """The program under test. Optimistic: whoever finds that the counter has changed begins again."""
    while True:
        _, headers, content = client.request("GET", COUNTER)
        status, _, _ = write(client, int(content) + 1, If_Match=headers["ETag"])
        if status == 201:
            return
        assert status in (412, 503), status


def increment_without_condition(client):
    """Wrong: what another client adds between the read and the write is lost."""
    _, _, content = client.request("GET", COUNTER)
    write(client, int(content) + 1)


def write(client, count, **conditions):
    content = str(count).encode()
    return client.request("PUT", COUNTER, content, x_ms_blob_type="BlockBlob", **conditions)


class CounterTest(unittest.TestCase):
    def setUp(self):
        control("POST", "reset", {})
        control("DELETE", "journal")
        control("POST", "clock", {"hold": True})
        self.addCleanup(control, "POST", "clock", {"run": True})
        setup = Client("setup")
        self.assertEqual(setup.request("PUT", CONTAINER)[0], 201)
        self.assertEqual(write(setup, 0)[0], 201)

    def count(self):
        return int(Client("setup").request("GET", COUNTER)[2])

    def race(self, program, order):
        """Lets two clients run the program; both are about to write when the first may go on."""
        barrier = control("POST", "barriers", {"at": "checked", "match": PUT, "count": 2})
        path = f"barriers/{barrier['id']}"
        self.addCleanup(control, "DELETE", path)
        with ThreadPoolExecutor() as threads:
            runs = [threads.submit(program, Client(name)) for name in ("A", "B")]
            control("GET", f"{path}?held=2")
            control("POST", f"{path}/release", {"clients": order})
            for run in runs:
                run.result(timeout=60)

    def test_both_increments_count_in_both_orders(self):
        for order in (["A", "B"], ["B", "A"]):
            before = self.count()
            self.race(increment, order)
            self.assertEqual(self.count(), before + 2)
        control("GET", "races?expectNoRaces=true")

    def test_the_race_detector_finds_the_program_without_a_condition(self):
        self.race(increment_without_condition, ["A", "B"])
        self.assertEqual(self.count(), 1)
        with self.assertRaisesRegex(AssertionError, "lost update: .*If-Match"):
            control("GET", "races?expectNoRaces=true")

    def test_a_lease_that_nobody_renews_is_free_after_a_minute(self):
        def acquire(name):
            lease = {"x_ms_lease_action": "acquire", "x_ms_lease_duration": "60"}
            return Client(name).request("PUT", f"{COUNTER}?comp=lease", b"", **lease)[0]

        self.assertEqual(acquire("A"), 201)
        self.assertEqual(acquire("B"), 409)
        control("POST", "clock", {"advance": "PT60S"})
        self.assertEqual(acquire("B"), 201)

    def test_an_increment_survives_a_busy_server(self):
        effect = {"status": 503, "code": "ServerBusy"}
        fault = control("POST", "faults", {"match": PUT, "effect": effect, "times": 1})
        self.addCleanup(control, "DELETE", f"faults/{fault['id']}")
        increment(Client("A"))
        self.assertEqual(self.count(), 1)


if __name__ == "__main__":
    unittest.main()
