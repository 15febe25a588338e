"""What all adapters share: collections, records and their fields, scopes, hits, results, retries."""
