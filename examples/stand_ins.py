"""Where the examples find a server: yours, as the environment says, else a stand-in for it, while the example runs.

The stand-ins are those that the tests check requests with: they answer the real clients from memory, on this machine.
"""

import atexit
import os
import sys
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

_running = ExitStack()
atexit.register(_running.close)


def search_url(flavour: str) -> str:
    """Return the URL of Elasticsearch or OpenSearch, after ELASTICSEARCH_URL or OPENSEARCH_URL."""
    variable = f"{flavour.upper()}_URL"
    if variable in os.environ:
        return os.environ[variable]
    from support.search.server import SearchServer  # noqa: PLC0415 - not needed beside a server

    server = _running.enter_context(SearchServer(flavour))
    print(f"No {variable} in the environment: a stand-in of the tests answers.")
    return server.url


def weaviate_ports() -> dict[str, int]:
    """Return the ports of Weaviate on this machine, after WEAVIATE_PORT and WEAVIATE_GRPC_PORT."""
    if "WEAVIATE_PORT" in os.environ:
        grpc_port = os.environ.get("WEAVIATE_GRPC_PORT", "50051")
        return {"port": int(os.environ["WEAVIATE_PORT"]), "grpc_port": int(grpc_port)}
    from support.weaviate_server import weaviate_server  # noqa: PLC0415 - not needed beside a server

    _, port, grpc_port = _running.enter_context(weaviate_server())
    print("No WEAVIATE_PORT in the environment: a stand-in of the tests answers.")
    return {"port": port, "grpc_port": grpc_port}


def model_url() -> str:
    """Return the URL of a chat model with OpenAI's API, after MODEL_URL.

    The stand-in finds a needle at both ends of a text in 95 of 100 cases, and in its middle in 55.
    """
    if "MODEL_URL" in os.environ:
        return os.environ["MODEL_URL"]
    from support.model_server import biased, serving  # noqa: PLC0415 - not needed beside a server

    server = _running.enter_context(serving(biased(lambda place: 0.55 + 0.4 * (2 * place - 1) ** 2)))
    print("No MODEL_URL in the environment: a stand-in of the tests answers.")
    return server.url
