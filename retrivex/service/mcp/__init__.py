"""The Model Context Protocol: search and open as tools, documents as resources, over stdio and HTTP."""
