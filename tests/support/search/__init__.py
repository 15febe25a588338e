"""A server of Elasticsearch and OpenSearch on the wire, and the cases that run against it."""
