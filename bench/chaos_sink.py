"""Where the bots of bench.chaos deliver to."""

import json
import re
import threading
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

NUMBER = re.compile(r"\d+")


class Sink(ThreadingHTTPServer):
    """Where the bot delivers to: keeps every delivery in the order of arrival."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Receive)
        self.deliveries: list[dict] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def inversions(self) -> int:
        """Deliveries after a later one of the same chat; repeats are not counted again."""
        seen, last, wrong = set(), defaultdict(int), 0
        for delivery in self.deliveries:
            if (delivery["chat"], delivery["key"]) in seen:
                continue
            seen.add((delivery["chat"], delivery["key"]))
            if not (told := NUMBER.search(delivery["text"])):
                continue  # of a chat beside
            number = int(told[0])
            wrong += number < last[delivery["chat"]]
            last[delivery["chat"]] = max(number, last[delivery["chat"]])
        return wrong


class _Receive(BaseHTTPRequestHandler):
    def log_message(self, *_args):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.deliveries.append(body)
        self.send_response(204)
        self.end_headers()
