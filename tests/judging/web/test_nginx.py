"""The judging page behind a real nginx: TLS, a path of its own, and a log that holds no token."""

from __future__ import annotations

import re
import shutil
import socket
import ssl
import subprocess
import time
from pathlib import Path

import httpx
import pytest

from tests.judging.web.test_page import Command, follow, port_of
from tests.judging.web.test_page_limits import certificate
from tests.judging.web.test_web import answer

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
pytestmark = pytest.mark.skipif(not (NGINX and shutil.which("openssl")), reason="nginx or openssl is not installed")

CONFIGURATION = """
daemon off; master_process off; pid nginx.pid; error_log error.log;
events {{ worker_connections 64; }}
http {{
    access_log access.log;
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    server {{
        listen 127.0.0.1:{port} ssl;
        ssl_certificate cert.pem;
        ssl_certificate_key key.pem;
        location /judging/ {{
            {location}
        }}
    }}
}}
"""
FORMS = {
    "the path taken off": "proxy_pass http://127.0.0.1:{behind}/;",
    "the path left on": "proxy_pass http://127.0.0.1:{behind}; proxy_set_header Host $http_host;",
}


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def start(folder: Path, port: int, location: str) -> subprocess.Popen[bytes]:
    (folder / "nginx.conf").write_text(CONFIGURATION.format(port=port, location=location))
    process = subprocess.Popen([str(NGINX), "-p", str(folder), "-c", "nginx.conf", "-e", "error.log"])
    end = time.monotonic() + 10
    while time.monotonic() < end:
        assert process.poll() is None, (folder / "error.log").read_text()
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            break
    return process


@pytest.mark.parametrize("form", FORMS)
def test_behind_nginx(tmp_path: Path, form: str) -> None:
    certificate(tmp_path)
    port = free_port()
    origin = f"https://localhost:{port}"
    public = f"{origin}/judging"
    server = Command(tmp_path, "--demo", "demo", "--public-url", public)
    nginx = start(tmp_path, port, FORMS[form].format(behind=port_of(server.process)))
    trust = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
    try:
        with httpx.Client(verify=trust, headers={"Origin": origin}, timeout=30) as client:
            assert server.links["judge"].startswith(f"{public}/#token=")
            page = follow(client, server.links["judge"])
            assert (page.status_code, page.headers["x-frame-options"]) == (200, "DENY")
            for link in re.findall(r"(?:src|href)=\"([\w.]+\.(?:js|css|svg))\"", page.text):
                assert client.get(f"{public}/{link}").status_code == 200
            (cookie,) = client.cookies.jar
            assert (cookie.secure, cookie.path) == (True, "/judging/")
            assert str(cookie.value) not in server.heard
            task = client.post(f"{public}/api/next", json={"name": "ann"}).json()["document"]
            foreign = client.post(f"{public}/api/grade", json=answer(task), headers={"Origin": "https://evil.example"})
            assert foreign.status_code == 403
            if "Host" in FORMS[form]:  # else nginx sets its own
                assert client.get(f"{public}/", headers={"Host": "evil.example"}).status_code == 421
            done = client.post(f"{public}/api/grade", json=answer(task))
            assert (done.status_code, done.json()["state"]["judged"]) == (200, 1)
            assert follow(client, server.links["organise"]).status_code == 200
            moved = client.get(public)
            assert moved.headers["location"] in (f"{public}/", "/judging/")
    finally:
        server.stop()
        nginx.terminate()
        nginx.wait(10)
    logged = (tmp_path / "access.log").read_text()
    assert logged.count("/judging/api/enter") == 2
    assert not any(link.partition("#token=")[2] in logged for link in server.links.values())
