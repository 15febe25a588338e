"""The Model Context Protocol: search and open as tools, documents as resources, one prompt, over stdio and HTTP."""
