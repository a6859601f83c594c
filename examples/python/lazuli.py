"""What the tests need of Lazuli: its control over HTTP, and clients with names. Only Python's own library is used."""

import base64
import hashlib
import hmac
import json
import os
import urllib.error
import urllib.request
from email.utils import formatdate
from urllib.parse import quote

ADMIN = os.environ.get("LAZULI_ADMIN", "http://127.0.0.1:10010")
BLOBS = os.environ.get("LAZULI_BLOBS", "http://127.0.0.1:10000")
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


def control(method, path, body=None):
    """Sees or steers the server; its API is described at /api/openapi.json."""
    content = None if body is None else json.dumps(body).encode()
    status, _, answer = send(
        method, f"{ADMIN}/api/{path}", content, {"Content-Type": "application/json"}
    )
    if status >= 400:
        raise AssertionError(f"{method} {path}: {status} {answer.decode()}")
    return json.loads(answer)


class Client:
    """A client of the Blob service with a name; Azure's SDK does the same if it sends the header x-lazuli-client."""

    def __init__(self, name):
        self.name = name

    def request(self, method, path, body=None, **given):
        """`path`: "/container/blob", with a query. `given`: headers, with underscores for dashes."""
        headers = {name.replace("_", "-"): value for name, value in given.items()}
        headers["x-lazuli-client"] = self.name
        headers["x-ms-version"] = "2025-01-05"
        headers["x-ms-date"] = formatdate(usegmt=True)
        if body is not None:
            headers["Content-Type"] = "text/plain"
        headers["Authorization"] = f"SharedKey {ACCOUNT}:{self.sign(method, path, body, headers)}"
        return send(method, f"{BLOBS}/{ACCOUNT}{path}", body, headers)

    def sign(self, method, path, body, headers):
        resource, _, query = path.partition("?")
        fields = sorted(field.split("=") for field in query.split("&") if field)
        lines = [
            method, "", "", str(len(body)) if body else "", "", headers.get("Content-Type", ""),
            "", "", headers.get("If-Match", ""), headers.get("If-None-Match", ""), "", "",
            *(f"{name}:{headers[name]}" for name in sorted(headers) if name.startswith("x-ms-")),
            f"/{ACCOUNT}/{ACCOUNT}{quote(resource)}",
            *(f"{name}:{value}" for name, value in fields),
        ]  # fmt: skip
        digest = hmac.new(base64.b64decode(KEY), "\n".join(lines).encode(), hashlib.sha256)
        return base64.b64encode(digest.digest()).decode()


def send(method, url, body, headers):
    """The status, headers and body, also of a refusal."""
    request = urllib.request.Request(url, data=body, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, response.headers, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()
