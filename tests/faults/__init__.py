"""Faults: processes killed while they write, full disks, stores that fail in every way, and long runs."""
