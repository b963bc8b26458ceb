"""Real clients and made-up requests against a Keno in this process: `python -m bench.clients`.

Neither mem0's client nor schemathesis is a dependency: install them where you like and name the
folder in PYTHONPATH. `--requests 5000` says how many schemathesis may make, `--part 2/6` which
sixth of the operations gets its share of them now.
"""

import argparse
import json
import os
import sys
import time
from collections import Counter
from statistics import median, quantiles

from bench.fresh_database import fresh_database

# The first calls load the models.
WARM = 5


def mem0(url: str, key: str) -> list[str]:
    """What mem0's own client says to every verb it has for memories."""
    os.environ.setdefault("MEM0_TELEMETRY", "False")
    from mem0 import MemoryClient

    client, told = MemoryClient(api_key=key, host=url), []
    said = [{"role": "user", "content": "I live in Soria and I keep bees."}]
    told.append(f"add: {client.add(said, user_id='alex')}")
    found = client.search("Where does Alex live?", filters={"user_id": "alex"})["results"]
    told.append(f"search: {[one['memory'] for one in found]}")
    number = found[0]["id"]
    told.append(f"get: {client.get(number)['memory']}")
    told.append(f"get_all: {client.get_all(filters={'user_id': 'alex'})['count']}")
    told.append(f"update: {client.update(number, text='Alex lives in Lugo')['memory']}")
    told.append(f"history: {[one['event'] for one in client.history(number)]}")
    told.append(f"users: {[one['name'] for one in client.users()['results']]}")
    told.append(f"delete: {client.delete(number)['message']}")
    told.append(f"delete_all: {client.delete_all(user_id='alex')['message']}")
    return told


def fuzz(key: str, requests: int, part: str = "1/1") -> Counter:
    """How often each status was answered to made-up requests over the OpenAPI document."""
    import schemathesis
    from hypothesis import HealthCheck, Phase, given, settings

    from kenoweb.wsgi import application

    schema = schemathesis.openapi.from_wsgi("/api/v1/openapi.json", application)
    operations = [one.ok() for one in schema.get_all_operations()]
    statuses: Counter = Counter()
    each = max(1, -(-requests // len(operations)))
    first, step = map(int, part.split("/"))
    for operation in operations[first - 1 :: step]:

        @settings(
            max_examples=each,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy())
        def run(case):
            if case.operation.path.endswith("/messages") and isinstance(case.body, dict):
                case.body["wait"] = 0
            answer = case.call(headers={"Authorization": f"Bearer {key}"})
            statuses[answer.status_code] += 1
            if answer.status_code >= 500 and answer.status_code not in (502, 503):
                print(case.operation.method, case.operation.path, answer.text[:300])

        run()
    return statuses


def recall_times(url: str, key: str, space, times: int = 200) -> tuple[list[float], list[float]]:
    """Milliseconds of recall(), and of questions of the same kind over a socket.

    No question is asked twice: what was thought of the first would make the second faster.
    """
    from urllib.request import Request, urlopen

    from memory.retrieval.recall import recall

    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    alone, over = [], []
    for n in range(times + WARM):
        began = time.perf_counter()
        recall(space, f"Who keeps bees in village {2 * n}?", limit=8, kinds=("fact", "episode"))
        alone.append((time.perf_counter() - began) * 1000)
        asked = json.dumps({"query": f"Who keeps bees in village {2 * n + 1}?"}).encode()
        began = time.perf_counter()
        with urlopen(Request(f"{url}/api/v1/recall", asked, headers)) as answer:
            found = json.load(answer)
        over.append((time.perf_counter() - began) * 1000)
        assert found["memories"], found
    return alone[WARM:], over[WARM:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--only", choices=("mem0", "fuzz", "times"))
    asked = parser.parse_args()
    os.environ.setdefault("API_RATE_LIMIT", "600")
    with fresh_database("keno_clients"):
        os.environ["DJANGO_SETTINGS_MODULE"] = "kenoweb.settings"
        import django
        from django.core.management import call_command

        django.setup()
        call_command("migrate", verbosity=0)
        from kenoweb.api import operations
        from memory.jobs import RateLimit
        from tests.factories import make_fact, make_member, make_space, make_token

        operations.LIMITS = RateLimit()
        member = make_member(space=make_space("bench"))
        for n in range(200):
            make_fact(member.space, text=f"Ana {n} keeps bees in village {n}")
        scopes = ["read", "write", "chat", "private"]
        _token, key = make_token(member.space, user=member.user, scopes=scopes)
        if asked.only in (None, "mem0"):
            with served() as url:
                print("\n".join(mem0(url, key)))
        if asked.only in (None, "fuzz"):
            print("statuses:", dict(sorted(fuzz(key, asked.requests, asked.part).items())))
        if asked.only in (None, "times"):
            with served() as url:
                alone, over = recall_times(url, key, member.space)
            print(f"recall(): {_told(alone)}; over REST: {_told(over)}")


def _told(ms: list[float]) -> str:
    return f"median {median(ms):.1f} ms, p95 {quantiles(ms, n=20)[18]:.1f} ms"


def served():
    """The pages on a free port of this machine, in a thread."""
    import threading
    from contextlib import contextmanager
    from wsgiref.simple_server import WSGIRequestHandler, make_server

    from kenoweb.wsgi import application

    class Quiet(WSGIRequestHandler):
        def log_message(self, *_args):
            pass

    @contextmanager
    def running():
        server = make_server("127.0.0.1", 0, application, handler_class=Quiet)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()

    return running()


if __name__ == "__main__":
    sys.exit(main())
