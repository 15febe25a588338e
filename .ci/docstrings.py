"""A griffe extension for the site: `name : what it is` of a docstring is a description, its type the signature's."""

import re
from typing import Any

from griffe import Extension, Object

SECTION = re.compile(r"^(?:Parameters|Attributes)\n-+\n(?:.+\n?)+", re.MULTILINE)
ENTRY = re.compile(r"^([\w*]+(?:, [\w*]+)*) : (.+)$", re.MULTILINE)


class Descriptions(Extension):
    """Move what the house writes behind a parameter's colon to where numpydoc has descriptions."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Rewrite the docstring of an object."""
        if obj.docstring:
            obj.docstring.value = SECTION.sub(lambda section: ENTRY.sub(r"\1\n    \2", section[0]), obj.docstring.value)
