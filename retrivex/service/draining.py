"""Whether this process ends: new requests are refused then, while those under way end."""

from threading import Event

DRAINING = Event()
