"""Code that is copied from the page gives what the page showed, whatever the service was started with."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from support.examples import run
from support.service_process import ServiceProcess
from support.service_world import make_index

from retrivex import Document, RetrievalConfig

pytestmark = pytest.mark.integration

TOPICS = ("honey", "wax", "drones", "queens", "swarms", "winter")
USUAL = RetrievalConfig()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return a service with a budget, an order and a window of its own, over documents with and without a scope."""
    folder = tmp_path_factory.mktemp("copied")
    text = "\n\n".join(f"# {one}\n\nA hive has {one}. " + f"More is said of {one} here. " * 30 for one in TOPICS)
    of_acme = Document("acme:bees.md", text.replace("A hive has", "Each hive of Acme has"), scope="acme")
    make_index(folder / "retrivex.db", Document("bees.md", text), of_acme)
    config = folder / "own.toml"
    own = 'tokenizer = "estimate"\ntoken_budget = 90\nwindow = 0\nordering_strategy = "document"\neffort = "lean"\n'
    config.write_text(own, encoding="utf-8")
    with ServiceProcess(folder, RETRIVEX_CONFIG=str(config)) as service:
        yield service


def post(address: str, path: str, body: Any) -> Any:
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{address}{path}", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read())


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"token_budget": USUAL.token_budget},
        {"token_budget": 400, "window": None},
        {"token_budget": 400, "order": USUAL.ordering_strategy.value, "effort": USUAL.effort},
        {"token_budget": USUAL.token_budget, "window": 2, "effort": "full", "scoring": USUAL.scoring},
    ],
)
@pytest.mark.parametrize("scope", [None, "acme"])
def test_python_curl_and_json_give_what_the_page_showed(
    service: ServiceProcess, tmp_path: Path, settings: dict[str, Any], scope: str | None
) -> None:
    asked = {"question": "What does a hive have?", "settings": settings, "scope": scope}
    [shown] = post(service.address, "/v1/view", asked)["answers"]
    text = "".join(piece["text"] for piece in shown["context"])
    code = shown["code"]
    assert run(code["python"], "what is copied", tmp_path, warnings="default") == text + "\n"
    curl = subprocess.run(["bash", "-c", code["curl"] + " --silent"], capture_output=True, text=True, check=True)
    assert json.loads(curl.stdout)["text"] == text
    assert post(service.address, "/v1/query", json.loads(code["json"]))["text"] == text
