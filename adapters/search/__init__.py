"""What Elasticsearch and OpenSearch share."""
