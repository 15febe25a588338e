"""Stores that hold the same chunks, one module each: `running` starts and fills one, and stops it afterwards."""
