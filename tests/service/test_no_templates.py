"""Templates belong to the operator: no request of the service brings one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import retrivex.service
from retrivex.config import RetrievalConfig
from retrivex.reorder import ReorderOptions
from retrivex.service.bodies import Body, PromptBody, read_body


@pytest.mark.parametrize("name", ["template", "style", "instructions", "tags"])
def test_a_request_for_a_prompt_with_a_template_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        read_body(PromptBody, {"composition": {}, name: "{{ question }}"})


def test_nothing_that_a_request_may_hold_is_a_template() -> None:
    for model in (*Body.__subclasses__(), RetrievalConfig, ReorderOptions):
        assert not [name for name in model.model_fields if "template" in name], model


def test_the_service_runs_no_templates_of_prompts() -> None:
    for file in Path(retrivex.service.__path__[0]).rglob("*.py"):
        assert not re.search(r"JinjaTemplate|prompts\.jinja|\.prompt\([^)]*template=", file.read_text(encoding="utf-8"))
