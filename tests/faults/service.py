"""Break the HTTP service: requests made out of its OpenAPI document, and `kill -9` under writes.

    PYTHONPATH=tests python -m faults.service fuzz --cases 50000
    PYTHONPATH=tests python -m faults.service kill --kills 100

Both need the environment `serve`. The account, `benchmarks/results/service_faults.json`, is kept after every round, and
a run goes on where the last one ended. CI runs fewer of each, as tests. Exits with 1 if something broke.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import hypothesis
from fuzz.ledger import ROOT
from hypothesis import HealthCheck, given, settings, strategies
from hypothesis.errors import Unsatisfiable
from support.service_process import ServiceProcess
from support.service_world import make_index

from benchmarks.code import code_digest
from retrivex.errors import StoreError
from retrivex.service.bodies import DEFAULT_INDEX
from retrivex.service.engine import Engine
from retrivex.stores import SQLiteStore
from retrivex.version import __version__

RESULTS = ROOT / "benchmarks" / "results" / "service_faults.json"
CASES, KILLS = 50_000, 100
ROUND_OF_CASES, ROUND_OF_KILLS = 2_500, 10

_LONGEST_S = 300
"""Seconds for a request, ten times those of the service: on a busy machine the usual 10 are no failure."""

_DOCUMENT = "drones.md"
_PLACE = {"doc_id": "bees.md", "index": DEFAULT_INDEX, "scope": None, "char_start": 0, "char_end": 19}

Message = MutableMapping[str, Any]


# ---- requests out of the document


@dataclass
class Fuzzed:
    """What became of requests that were made out of the OpenAPI document.

    Parameters
    ----------
    done : requests sent
    statuses : how many answers had each status
    operations : the same, of each operation
    left_out : how often an operation gave no requests in a mode, and why
    violations : failures of the service, and answers that are not as the document says
    """

    done: int = 0
    statuses: dict[str, int] = field(default_factory=dict)
    operations: dict[str, dict[str, int]] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)


def fuzz_service(cases: int, folder: Path, *, seed: int = 1) -> Fuzzed:
    """Send at least so many requests, right and wrong ones, over all operations, to a service over a small index.

    They are drawn in rounds, each with seeds of its own: many operations have few requests to give, and the others make
    up for them. Every other right request names what is there: names that are drawn never exist.

    Parameters
    ----------
    cases : requests, at least
    folder : for the index
    seed : of the first round; every draw follows from it

    Raises
    ------
    RuntimeError
        If the document does not give so many.
    """
    import schemathesis  # noqa: PLC0415 - of the environment serve alone
    from schemathesis import checks  # noqa: PLC0415
    from schemathesis.core.errors import InvalidSchema, UnsupportedSchema  # noqa: PLC0415
    from schemathesis.core.failures import Failure, FailureGroup  # noqa: PLC0415
    from schemathesis.specs.openapi import checks as shapes  # noqa: PLC0415
    from starlette.testclient import TestClient  # noqa: PLC0415

    from retrivex.service.app import create_app  # noqa: PLC0415
    from retrivex.service.settings import Settings  # noqa: PLC0415

    options = folder / "options.toml"
    options.write_text('tokenizer = "estimate"\n', encoding="utf-8")
    given_settings: dict[str, Any] = {
        "db": make_index(folder / "index.db"),
        "keys": folder / "keys.db",
        "embed": "hashing",
    }
    app = create_app(Settings(**given_settings, config=options, threads=1, queue=100, hosts=["testserver"]))
    looked_at = [
        checks.not_a_server_error,
        shapes.status_code_conformance,
        shapes.content_type_conformance,
        shapes.response_headers_conformance,
        shapes.response_schema_conformance,
    ]
    made = Fuzzed()

    def answers(case: Any, known: bool) -> None:
        made.done += 1
        more = _name_existing(case, app.state.service.engine) if known else {}
        answer = case.call(timeout=_LONGEST_S, **more)
        status = str(answer.status_code)
        for counts in (made.statuses, made.operations[case.operation.label]):
            counts[status] = counts.get(status, 0) + 1
        case.validate_response(answer, checks=looked_at)

    def ask(operation: Any, mode: Any, most: int, seed: int) -> int:
        """Send at most so many requests to an operation; return how many it gave, or would have given."""
        before = made.done
        drawn = settings(max_examples=most, deadline=None, suppress_health_check=list(HealthCheck), database=None)
        known = strategies.booleans() if mode is schemathesis.GenerationMode.POSITIVE else strategies.just(False)
        case = operation.as_strategy(generation_mode=mode)
        try:
            hypothesis.seed(seed)(drawn(given(case=case, known=known)(answers)))()
        except (Unsatisfiable, UnsupportedSchema) as error:
            # what takes nothing cannot be asked wrongly; not every schema has an opposite
            why = f"{operation.label}, {mode.value}: {type(error).__name__}"
            made.left_out[why] = made.left_out.get(why, 0) + 1
        except InvalidSchema as error:
            # it may break a schema so that nothing fits the broken one, and gives up; another seed goes on
            if mode is not schemathesis.GenerationMode.NEGATIVE:
                raise
            why = f"{operation.label}, {mode.value}: {error}"
            made.left_out[why] = made.left_out.get(why, 0) + 1
            return most if made.done > before else 0
        except (Failure, FailureGroup) as error:
            made.violations.append(f"{operation.label}, {mode.value}, seed {seed}: {error}"[:4000])
        return made.done - before

    with TestClient(app, base_url="http://localhost") as client:
        schema = schemathesis.openapi.from_asgi("/openapi.json", _begun(client.app))
        modes = (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE)
        operations = [found.ok() for found in schema.get_all_operations()]
        made.operations = {operation.label: {} for operation in operations}
        asked = [(operation, mode) for operation in operations for mode in modes]
        while made.done < cases and not made.violations:
            if not asked:
                raise RuntimeError(f"the document gives {made.done:,} requests, and no more: {cases:,} were asked for")
            share = -(-(cases - made.done) // len(asked))
            # what gave less than half of its share has hardly anything else to give
            asked = [(operation, mode) for operation, mode in asked if 2 * ask(operation, mode, share, seed) >= share]
            seed += 1
    made.statuses = dict(sorted(made.statuses.items()))
    made.operations = {name: dict(sorted(counts.items())) for name, counts in sorted(made.operations.items())}
    return made


def _name_existing(case: Any, engine: Engine) -> dict[str, Any]:
    """Name an index, a document, a place or a file that is there, where the request names one; return what to add."""
    body = case.body if isinstance(case.body, dict) else {}
    path, method = case.operation.path, case.operation.method.upper()
    if path == "/v1/vector_stores/{vector_store_id}/search":
        case.path_parameters = {"vector_store_id": DEFAULT_INDEX}
    elif path == "/retrieval":
        setting = body["retrieval_setting"]
        most = min(int(setting["top_k"]), engine.bounds.hits)  # which the document cannot say: the operator sets it
        case.body = body | {"knowledge_id": DEFAULT_INDEX, "retrieval_setting": setting | {"top_k": most}}
    elif path == "/v1/resolve":
        case.body = body | _PLACE
    elif path == "/v1/resolve/batch":
        case.body = {**body, "requests": [one | _PLACE for one in body["requests"]]}
    elif (method, path) == ("DELETE", "/v1/documents"):
        engine.add_file(b"A drone leaves the hive.", _DOCUMENT)
        case.query = {"doc_id": _DOCUMENT}
    elif (method, path) == ("POST", "/v1/documents"):
        return {"files": [("file", (_DOCUMENT, "Drones leave the hive.")), ("index", (None, DEFAULT_INDEX))]}
    return {}


def _begun(app: Any) -> Any:
    """Return an application that has begun already: it begins and ends once, which is up to the client."""

    async def answer(scope: Message, receive: Callable[[], Awaitable[Message]], send: Any) -> None:
        if scope["type"] != "lifespan":
            await app(scope, receive, send)
            return
        for kind in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{kind}.complete"})

    return answer


# ---- kills under writes


@dataclass
class Killed:
    """What became of documents that were written while the service was killed.

    Parameters
    ----------
    done : kills
    sent, acknowledged : uploads, and those answered with 200
    unfinished : kills that left an upload without an answer
    violations : documents that are lost, older than acknowledged or not whole, and indexes that do not open
    """

    done: int = 0
    sent: int = 0
    acknowledged: int = 0
    unfinished: int = 0
    violations: list[str] = field(default_factory=list)


def kill_service(kills: int, folder: Path, *, workers: int = 1, seed: int = 1) -> Killed:
    """Kill the service at random moments while documents are written, and look into its index after each time."""
    import httpx  # noqa: PLC0415 - of the environment serve alone

    rng = random.Random(seed)
    made = Killed()
    kept: dict[str, int] = {}
    for _ in range(kills):
        with ServiceProcess(folder, "--workers", str(workers)) as service:
            end = threading.Timer(rng.uniform(0.05, 1.0), service.kill)
            end.start()
            with httpx.Client(base_url=service.address, timeout=60) as client, suppress(httpx.HTTPError):
                while True:
                    made.sent += 1
                    name, text = f"document-{made.sent % 7}.md", _write_version(made.sent)
                    answer = client.post("/v1/documents", files={"file": (name, text)})
                    if answer.status_code == 200:
                        kept[name] = made.sent
                        made.acknowledged += 1
            end.join()
        made.done += 1
        made.violations += _look_into(folder / "retrivex.db", kept, made.sent)
    made.unfinished = made.sent - made.acknowledged
    return made


def _write_version(version: int) -> str:
    return "\n\n".join(f"Paragraph {n} of version{version}." for n in range(60))


def _look_into(path: Path, kept: dict[str, int], sent: int) -> list[str]:
    """Return what is wrong: a document on its way may be there as well, but each is whole and none older than kept."""
    found = []
    try:
        with SQLiteStore(path) as store:
            found += [f"the index: {problem}" for problem in store.check()]
            for name, last in kept.items():
                document = store.get_document(name)
                whole = document is not None and any(_is_version(document.text, n) for n in range(last, sent + 1, 7))
                if not whole:
                    found.append(f"{name}: not there as version {last} or later, or not whole")
    except StoreError as error:
        found.append(f"the index does not open: {error}")
    return found


def _is_version(text: str, version: int) -> bool:
    return text.split() == _write_version(version).split()


# ---- the command


def run(what: str, total: int, step: int, work: Callable[[int, Path, int], Fuzzed | Killed]) -> int:
    """Go on with one account, up to so many in all; return how many violations it has.

    `work` gets how many to do, a folder, and how many were done before, so that no round repeats an earlier one.
    """
    began = time.perf_counter()
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    account: dict[str, Any] = results.setdefault(what, {"done": 0, "violations": [], "code": []})
    code = {"version": __version__, "digest": code_digest()}
    while account["done"] < total and not account["violations"]:
        with tempfile.TemporaryDirectory(prefix="retrivex-faults-") as folder:
            made = asdict(work(min(step, total - account["done"]), Path(folder), account["done"]))
        for name, value in made.items():
            account[name] = _add(account.get(name), value)
        row = next((row for row in account["code"] if {**row, **code} == row), None)
        if row is None:
            account["code"].append(row := {**code, "done": 0})
        row["done"] += made["done"]
        RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        print(f"{what}: {account['done']:,} of {total:,} in {time.perf_counter() - began:.0f} s", flush=True)
    for violation in account["violations"]:
        print(f"VIOLATION {violation!a}")
    return len(account["violations"])


def _add(before: Any, value: Any) -> Any:
    if not isinstance(value, dict):
        return value if before is None else before + value
    old = before or {}
    return {name: _add(old.get(name), value[name]) if name in value else old[name] for name in sorted({*old, *value})}


def main() -> int:
    """Read the command line, break things, keep the account."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["fuzz", "kill"])
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--kills", type=int, default=KILLS)
    said = parser.parse_args()
    if said.what == "fuzz":

        def fuzz(cases: int, folder: Path, before: int) -> Fuzzed:
            return fuzz_service(cases, folder, seed=before)

        found = run("fuzz", said.cases, ROUND_OF_CASES, fuzz)
    else:

        def kill(kills: int, folder: Path, before: int) -> Killed:
            number = before // ROUND_OF_KILLS
            return kill_service(kills, folder, workers=1 + number % 2, seed=number)  # every other round with two

        found = run("kill", said.kills, ROUND_OF_KILLS, kill)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
