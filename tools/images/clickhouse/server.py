"""ClickHouse's HTTP interface in front of its engine, which PyPI's chdb-core has as a library.

Statements, formats, settings and parameters of a query are the engine's own work. One user, no TLS, no native protocol.
"""

import base64
import gzip
import os
import re
import select
import signal
import socket
import threading
import uuid
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import LifoQueue
from urllib.parse import parse_qsl, urlsplit

from chdb.state.sqlitelike import Connection

DATA = os.environ.get("CLICKHOUSE_DATA", "/var/lib/clickhouse")
PORT = int(os.environ.get("HTTP_PORT", "8123"))
USER = os.environ.get("CLICKHOUSE_USER") or "default"
PASSWORD = os.environ.get("CLICKHOUSE_PASSWORD", "")
if "CLICKHOUSE_PASSWORD_FILE" in os.environ:
    with open(os.environ["CLICKHOUSE_PASSWORD_FILE"], encoding="utf-8") as password_file:
        PASSWORD = password_file.read().strip()
CONNECTIONS = int(os.environ.get("CONNECTIONS", "8"))

# Parameters of the interface; every other one is a setting of the engine.
INTERFACE_PARAMETERS = {
    "buffer_size", "client_protocol_version", "compress", "database", "decompress", "default_format",
    "enable_http_compression", "http_headers_progress_interval_ms", "http_zlib_compression_level", "password",
    "query", "query_id", "quota_key", "readonly", "role", "send_progress_in_http_headers", "session_check", "session_id",
    "session_timeout", "stacktrace", "user", "wait_end_of_query",
}
SETTING_NAME = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*$")
INSERT = re.compile(r"^\s*INSERT\s", re.IGNORECASE)
FORMAT = re.compile(r"\bFORMAT\s+([A-Za-z]+)\s*;?\s*$", re.IGNORECASE)
ERROR_CODE = re.compile(r"Code: (\d+)\.")
# What the official server answers by the engine's error code; 400 for most.
STATUS_OF_CODE = {"47": 404, "60": 404, "81": 404, "159": 408, "241": 500, "49": 500}
LEAST_COMPRESSED_BYTES = 1000


def quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


class Pool:
    """Connections to the engine, each used by one request at a time."""

    def __init__(self):
        self.free = LifoQueue()
        self.lock = threading.Lock()
        self.count = 0

    def take(self):
        with self.lock:
            if self.free.empty() and self.count < CONNECTIONS:
                self.count += 1
                return Connection(DATA)
        return self.free.get()

    def give_back(self, connection):
        self.free.put(connection)

    def close(self):
        while not self.free.empty():
            self.free.get().close()


class Request:
    """What a request asks for, read from its URL and body."""

    def __init__(self, query_string, body):
        self.interface, self.settings, self.parameters = {}, {}, {}
        for name, value in parse_qsl(query_string, keep_blank_values=True):
            if name.startswith("param_"):
                self.parameters[name] = value
            elif name in INTERFACE_PARAMETERS:
                self.interface[name] = value
            elif SETTING_NAME.match(name):
                self.settings[name] = value
        text = body.decode("utf-8", "surrogateescape")
        self.sql = "\n".join(part for part in (self.interface.get("query", ""), text) if part)
        self.query_id = self.interface.get("query_id") or str(uuid.uuid4())

    def format(self, header):
        written = None if INSERT.match(self.sql) else FORMAT.search(self.sql)
        return written.group(1) if written else header or self.interface.get("default_format") or "TabSeparated"


class ClosedClients:
    """Stops the statements of clients that close their connection, for those that ask for it."""

    SETTING = "cancel_http_readonly_queries_on_client_close"

    def __init__(self):
        self.lock = threading.Lock()
        self.connection = None

    def kill(self, query_id):
        with self.lock:
            self.connection = self.connection or Connection(DATA)
            self.connection.query(f"KILL QUERY WHERE Settings['log_comment'] = {quoted(query_id)}", "TSV")

    def watch(self, client, request):
        """Returns a function that ends the watch."""
        if request.settings.get(self.SETTING) != "1" or request.interface.get("readonly", "0") == "0":
            return lambda: None
        # The engine gives statements ids of its own.
        request.settings["log_comment"] = request.query_id
        ended, end = os.pipe()

        def wait():
            while True:
                readable, _, _ = select.select([client, ended], [], [])
                if ended in readable:
                    return os.close(ended)
                try:
                    if client.recv(1, socket.MSG_PEEK):
                        # A following request; the client is there.
                        select.select([ended], [], [])
                        return os.close(ended)
                except OSError:
                    pass
                # Again and again: the statement may not have begun.
                while not select.select([ended], [], [], 0.05)[0]:
                    self.kill(request.query_id)
                return os.close(ended)

        threading.Thread(target=wait, daemon=True).start()
        return lambda: os.close(end)


def execute(connection, request, output_format):
    """Runs a statement with its settings and parameters, which do not outlive it."""
    database = request.interface.get("database", "default")
    assignments = {**request.settings, **request.parameters}
    try:
        if database != "default":
            connection.query(f"USE `{database.replace('`', '')}`", "TSV")
        if assignments:
            # The engine converts each parameter to the type that the statement gives it.
            connection.query("SET " + ", ".join(f"{name} = {quoted(value)}" for name, value in assignments.items()), "TSV")
        result = connection.query(request.sql, output_format)
        return bytes(result.bytes()) if result is not None and result.size() else b""
    finally:
        if database != "default":
            connection.query("USE default", "TSV")
        if request.settings:
            connection.query("SET " + ", ".join(f"{name} = DEFAULT" for name in request.settings), "TSV")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def log_message(self, *_):
        pass

    def read_body(self):
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            data = self.read_chunks()
        else:
            data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        encoding = self.headers.get("Content-Encoding", "").lower()
        if encoding == "gzip":
            return gzip.decompress(data)
        return zlib.decompress(data) if encoding == "deflate" else data

    def read_chunks(self):
        chunks = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline() not in (b"\r\n", b"\n", b""):
            pass
        return b"".join(chunks)

    def answer(self, status, data, headers=None, compress=False):
        headers = dict(headers or {})
        accepts = "gzip" in self.headers.get("Accept-Encoding", "")
        if compress and accepts and len(data) >= LEAST_COMPRESSED_BYTES:
            data = gzip.compress(data, 1)
            headers["Content-Encoding"] = "gzip"
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def credentials(self, interface):
        header = self.headers.get("Authorization", "")
        if header.startswith("Basic "):
            user, _, password = base64.b64decode(header[6:]).decode().partition(":")
            return user, password
        user = interface.get("user", self.headers.get("X-ClickHouse-User", "default"))
        return user, interface.get("password", self.headers.get("X-ClickHouse-Key", ""))

    def fail(self, status, code, message, query_id):
        headers = {"X-ClickHouse-Exception-Code": code, "X-ClickHouse-Query-Id": query_id}
        self.answer(status, message.encode(), headers)

    def do_GET(self):
        url = urlsplit(self.path)
        if url.path in ("/ping", "/replicas_status"):
            return self.answer(200, b"Ok.\n")
        request = Request(url.query, self.read_body())
        if self.credentials(request.interface) != (USER, PASSWORD):
            return self.fail(403, "516", "Code: 516. DB::Exception: Authentication failed. (AUTHENTICATION_FAILED)", request.query_id)
        output_format = request.format(self.headers.get("X-ClickHouse-Format"))
        connection = pool.take()
        end_watch = closed_clients.watch(self.connection, request)
        try:
            data = execute(connection, request, output_format)
        except Exception as error:
            message = str(error)
            found = ERROR_CODE.search(message)
            code = found.group(1) if found else "1001"
            return self.fail(STATUS_OF_CODE.get(code, 400 if found else 500), code, message, request.query_id)
        finally:
            end_watch()
            pool.give_back(connection)
        kind = "application/json" if output_format.startswith("JSON") else "text/plain"
        headers = {
            "Content-Type": f"{kind}; charset=UTF-8",
            "X-ClickHouse-Format": output_format,
            "X-ClickHouse-Query-Id": request.query_id,
        }
        self.answer(200, data, headers, compress=request.interface.get("enable_http_compression") == "1")

    do_HEAD = do_POST = do_GET


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256


pool = Pool()
closed_clients = ClosedClients()
pool.give_back(pool.take())
server = Server(("0.0.0.0", PORT), Handler)
signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
print(f"Ready for connections on port {PORT}", flush=True)
server.serve_forever()
pool.close()
