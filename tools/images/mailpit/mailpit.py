"""Takes all mail on port 1025, and shows what it took on port 8025 by a part of Mailpit's API."""

import email.policy
import json
import signal
import uuid
from datetime import datetime, timezone
from email import message_from_bytes
from email.utils import getaddresses
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from aiosmtpd.controller import Controller

MOST_KEPT = 500

inbox = []  # the newest first


def addresses(message, header):
    return [{"Name": name, "Address": address} for name, address in getaddresses(message.get_all(header, []))]


class Sink:
    async def handle_DATA(self, server, session, envelope):
        message = message_from_bytes(envelope.original_content, policy=email.policy.default)
        text = message.get_body(("plain",))
        html = message.get_body(("html",))
        inbox.insert(0, {
            "ID": uuid.uuid4().hex,
            "MessageID": str(message["Message-ID"] or "").strip("<>"),
            "From": (addresses(message, "From") or [None])[0],
            "To": addresses(message, "To"),
            "Subject": str(message["Subject"] or ""),
            "Created": datetime.now(timezone.utc).isoformat(),
            "Text": text.get_content() if text else "",
            "HTML": html.get_content() if html else "",
            "Headers": {name: message.get_all(name) for name in message.keys()},
        })
        del inbox[MOST_KEPT:]
        return "250 OK"


class Api(BaseHTTPRequestHandler):
    def answer(self, status, value):
        body = json.dumps(value, default=str).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        path = self.path.split("?")[0]
        if path in ("/livez", "/readyz"):
            self.answer(200, "ok")
        elif path == "/api/v1/messages":
            shown = [{k: v for k, v in mail.items() if k not in ("Text", "HTML", "Headers")} for mail in inbox]
            self.answer(200, {"total": len(inbox), "messages": shown})
        elif path.startswith("/api/v1/message/"):
            name = path.split("/")[4]
            found = inbox[:1] if name == "latest" else [mail for mail in inbox if mail["ID"] == name]
            self.answer(200, found[0]) if found else self.answer(404, {"Error": "not found"})
        else:
            self.answer(404, {"Error": "not found"})

    def do_DELETE(self):
        inbox.clear()
        self.answer(200, "ok")

    def log_message(self, *_):
        pass


Controller(Sink(), hostname="0.0.0.0", port=1025).start()
server = ThreadingHTTPServer(("0.0.0.0", 8025), Api)
signal.signal(signal.SIGTERM, lambda *_: exit(0))
print("accessible via http://localhost:8025/")
server.serve_forever()
