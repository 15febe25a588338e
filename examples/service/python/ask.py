"""Ask a running service, look up what the answer cites, and see what an error is."""

import os
import sys

from retrivex.service.client import Client

url = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080"

with Client(url, key=os.environ.get("RETRIVEX_KEY")) as client:
    made = client.query("Which meals are paid on a business trip?", config={"token_budget": 300})
    print(made.text)
    for citation in made.citations:
        found = client.resolve(citation)
        print(f"[{citation.number}] {found.doc_id} ({found.title}), {len(found.text)} characters")
    for item in client.query_batch(["Who signs a claim?", {"question": "Who?", "index": "archive"}]):
        print(f"{item.error.status}: {item.error.detail}" if item.error else item.unwrap().citations[0].doc_id)
