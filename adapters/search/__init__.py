"""The common parts of the Elasticsearch and OpenSearch adapters."""
