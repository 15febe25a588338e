"""The config: checked when built, never changed, from presets and files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from retrivex import RetrievalConfig, RetrivexError
from retrivex.config import PRESETS
from retrivex.errors import ConfigError
from retrivex.model.retired import RETIRED


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"window": -1}, "window"),
        ({"token_budget": -1}, "token_budget"),
        ({"token_budget": 10.5}, "token_budget"),
        ({"k": 0}, "k"),
        ({"max_spans": 0}, "max_spans"),
        ({"min_continuity": 2}, "min_continuity"),
        ({"weights": {"similarity": -0.1}}, "weights: similarity is -0.1"),
        ({"weights": {"similarty": 1}}, "weights: similarty: .* did you mean similarity"),
        ({"weights": {"similarity": True}}, "weights is .*True and False are none"),
        ({"window": (1, True)}, "window is .*True and False are none"),
        ({"window": (1, -2)}, r"window is \(1, -2\): it must be from 0 to 10,000"),
        ({"window": (1, 2, 3)}, "window is"),
        ({"window": "wide"}, "window is 'wide': it should be a valid integer.*, or it should be a valid tuple"),
        ({"edge_counts": (1,)}, "edge_counts"),
        ({"quotas": (-1.0, 2.0)}, r"quotas.0 is -1.0: it should be greater than or equal to 0"),
        ({"relevance_levels": (0.1, 0.4)}, "relevance_levels are"),
        ({"return_parents": 0}, "return_parents is 0: it should be 'never' or 'auto', or it should be greater than 0"),
        ({"ordering_strategy": "sideways"}, "ordering_strategy"),
        ({"score_kind": "closeness"}, "score_kind"),
        ({"grow_until": "poem"}, "grow_until"),
        ({"store_timeout_s": 0}, "store_timeout_s"),
        ({"min_value": 1.5}, "min_value"),
        ({"budget": 10}, "budget"),
    ],
)
def test_a_wrong_option_is_refused_by_name(options: dict[str, Any], field: str) -> None:
    with pytest.raises(ConfigError, match=field) as caught:
        RetrievalConfig(**options)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"grow_until": "table", "max_window": 1}, "max_window is 1: with grow_until it must be at least the window"),
        ({"quotas": (0.0, 0.0)}, "quotas are"),
        ({"quotas": ()}, "quotas are"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        RetrievalConfig(**options)


def test_a_config_is_frozen_and_an_override_is_a_checked_copy() -> None:
    config = RetrievalConfig(window=1)
    with pytest.raises(ConfigError, match="frozen"):
        config.window = 2
    assert config.override(window=0, token_budget=5).window == 0
    assert config.window == 1
    with pytest.raises(ConfigError, match="window"):
        config.override(window=-1)


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_presets(name: Any) -> None:
    config = RetrievalConfig.preset(name, token_budget=77)
    assert config.token_budget == 77
    assert all(getattr(config, option) == value for option, value in PRESETS[name].items())


def test_the_balanced_preset_is_the_default() -> None:
    assert RetrievalConfig.preset("balanced") == RetrievalConfig()
    assert set(PRESETS) == {"speed", "balanced", "quality", "0.2", "published"}


RETIRED_FORMS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"before": 0}, {"window": (0, 2)}),
    ({"window": 0, "after": 1}, {"window": (0, 1)}),
    ({"window": (5, 6), "before": 1, "after": 3}, {"window": (1, 3)}),
    ({"before": None, "after": None, "pool_factor": 8.0}, {"pool_factor": 8.0}),
    ({"similarity_weight": 2.0, "distance_decay_beta": 0.0}, {"weights": {"similarity": 2.0, "decay": 0.0}}),
    ({"weights": {"parent": 1.0}, "parent_weight": 3.0}, {"weights": {"parent": 3.0}}),
    ({"fusion": "rrf", "quotas": (1.0, 2.0)}, {}),
    ({"fusion": "quota"}, {"quotas": "equal"}),
    ({"fusion": "quota", "quotas": (1.0, 2.0)}, {"quotas": (1.0, 2.0)}),
    ({"return_parents": "auto", "parent_coverage": 0.2}, {"return_parents": 0.2}),
    ({"parent_coverage": 0.2}, {}),
    ({"start_count": 3, "end_count": 2}, {"edge_counts": (3, 2)}),
    ({"stop_on_page_change": True}, {"stop_on_change": ("page",)}),
    ({"stop_on_page_change": False, "stop_on_change": "speaker"}, {"stop_on_change": ("speaker",)}),
    ({"start_count": None, "end_count": None}, {}),
    ({"high_relevance": 0.9, "medium_relevance": 0.2}, {"relevance_levels": (0.9, 0.2)}),
    ({"high_relevance": 0.9}, {"relevance_levels": (0.9, 0.4)}),
    ({"adjacency_weight": 0.0, "continuity_weight": 0.5}, {"weights": {"adjacency": 0.0, "continuity": 0.5}}),
    ({"prefer_fewer_spans": False, "run_cost": 1.0}, {"run_cost": 0.0}),
    ({"rrf_k": 1, "heading_level": 2, "joiner": "+", "order_seed": 3, "selection": "exact"}, {}),
    ({"min_lexical_continuity": 1.0, "continuity_floor": 0.2, "lexical_continuity_floor": 0.2}, {}),
    ({"reserve_gap_markers": True}, {}),
]


@pytest.mark.parametrize(("old", "now"), RETIRED_FORMS)
def test_a_retired_option_is_read_as_what_stands_for_it_and_warns_once(old: Any, now: Any) -> None:
    with pytest.warns(FutureWarning) as warned:
        config = RetrievalConfig.model_validate(old)
    (message,) = {str(one.message) for one in warned}
    assert len(warned) == 1
    assert all(f"{name}: " in message for name in old if name in RETIRED)
    assert config == RetrievalConfig.model_validate(now)


def test_every_retired_option_is_tried_and_named_on_the_page_of_changes() -> None:
    assert set(RETIRED) <= {name for old, _ in RETIRED_FORMS for name in old}
    page = (Path(__file__).parents[1] / "docs" / "compare" / "migrating.md").read_text(encoding="utf-8")
    assert [name for name in RETIRED if f"`{name}" not in page] == []
    assert not set(RETIRED) & set(RetrievalConfig.model_fields)
    assert len(RetrievalConfig.model_fields) <= 50


def test_a_retired_option_overrides_its_half_alone() -> None:
    config = RetrievalConfig(window=(1, 2), weights={"parent": 3.0})
    with pytest.warns(FutureWarning, match="after: write window=\\(before, after\\); similarity_weight: write weights"):
        changed = config.override(after=5, similarity_weight=2.0)
    assert (changed.window, changed.weights.parent, changed.weights.similarity) == ((1, 5), 3.0, 2.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"before": -1}, r"window is \(-1, 2\)"),
        ({"window": (), "before": 1}, "window is"),
        ({"fusion": "sum"}, "quotas is 'sum'"),
        ({"weights": 5, "parent_weight": 1.0}, "weights is 5"),
        ({"prefer_fewer_spans": "maybe"}, "prefer_fewer_spans is 'maybe'"),
    ],
)
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_retired_option_is_checked(options: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        RetrievalConfig.model_validate(options)


def test_no_run_cost_in_an_old_file_is_the_default() -> None:
    assert RetrievalConfig.model_validate({"run_cost": None}).run_cost == 0.0


def test_an_unknown_preset_is_refused() -> None:
    with pytest.raises(RetrivexError, match="preset 'fast' does not exist: choose one of 'speed', 'balanced'"):
        RetrievalConfig.preset("fast")  # type: ignore[arg-type]


def test_files(tmp_path: Path) -> None:
    toml, json_file = tmp_path / "c.toml", tmp_path / "c.json"
    toml.write_text('preset = "speed"\nwindow = 4\ngrow_until = ["table"]\n', encoding="utf-8")
    json_file.write_text('{"token_budget": 9, "ordering_strategy": "document"}', encoding="utf-8")
    config = RetrievalConfig.from_file(toml)
    assert (config.window, config.grow_until) == (4, ("table",))
    assert RetrievalConfig.from_file(str(json_file)).token_budget == 9


@pytest.mark.parametrize(
    ("name", "content"), [("c.json", '{"coefficients": "%s"}'), ("c.toml", 'coefficients = "%s"\n')]
)
def test_relative_coefficients_count_from_the_folder_of_the_file(tmp_path: Path, name: str, content: str) -> None:
    path = tmp_path / "folder" / name
    path.parent.mkdir()
    path.write_text(content % "sub/mine.json", encoding="utf-8")
    assert RetrievalConfig.from_file(path).coefficients == tmp_path / "folder" / "sub" / "mine.json"
    path.write_text(content % (tmp_path / "mine.json").as_posix(), encoding="utf-8")
    assert RetrievalConfig.from_file(path).coefficients == tmp_path / "mine.json"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("c.json", "{", "cannot be read"),
        ("c.toml", "window = ", "cannot be read"),
        ("c.json", "[1]", "holds list"),
        ("c.json", '{"wimdow": 1}', "wimdow"),
        ("c.json", '{"preset": "fast"}', "preset 'fast'"),
        ("missing.json", None, "cannot be read"),
        ("c.yaml", "window: 1", r"c\.yaml is YAML: write it as \.toml or \.json"),
        ("c.yml", "window: 1", "is YAML"),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, name: str, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        RetrievalConfig.from_file(tmp_path / name)


def test_every_option_is_described_and_has_a_default() -> None:
    for name, field in RetrievalConfig.model_fields.items():
        assert field.description, name
        assert not field.is_required(), name


FLOAT_OPTIONS = [name for name, field in RetrievalConfig.model_fields.items() if "float" in str(field.annotation)]


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
@pytest.mark.parametrize("name", FLOAT_OPTIONS)
def test_float_options_are_finite(name: str, value: float) -> None:
    with pytest.raises(ConfigError, match=name):
        RetrievalConfig(**{name: {"quotas": [value], "relevance_levels": (1.0, value)}.get(name, value)})


def test_quotas_must_have_a_finite_sum() -> None:
    with pytest.raises(ConfigError, match="quotas"):
        RetrievalConfig(quotas=(1e308, 1e308))


@pytest.mark.parametrize("preset", ["[5]", "{}", "5", "0.2", '"fastest"'])
def test_a_preset_in_a_file_must_be_a_name(tmp_path: Path, preset: str) -> None:
    path = tmp_path / "c.json"
    path.write_text(f'{{"preset": {preset}}}')
    with pytest.raises(RetrivexError, match="does not exist: choose one of"):
        RetrievalConfig.from_file(path)


def test_every_option_belongs_to_one_step() -> None:
    names = [name for group in RetrievalConfig.option_groups().values() for name in group]
    assert names == list(RetrievalConfig.model_fields)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (RetrievalConfig(), 8.0),
        (RetrievalConfig(token_budget=5), 8.0),
        (RetrievalConfig(window=2), None),
        (RetrievalConfig(window=(1, 2)), None),
        (RetrievalConfig(window=1, pool_factor=3), 3.0),
        (RetrievalConfig(pool_factor=None), None),
        (RetrievalConfig().override(token_budget=7), 8.0),
        (RetrievalConfig().override(window=2), None),
        (RetrievalConfig().override(window=(2, 3), pool_factor=5), 5.0),
        (RetrievalConfig(window=1).override(token_budget=7), None),
        (RetrievalConfig.preset("quality"), 16.0),
        (RetrievalConfig.preset("published"), None),
        (RetrievalConfig.preset("quality", window=1), None),
        (RetrievalConfig.preset("quality", window=(3, 1), pool_factor=3), 3.0),
    ],
)
def test_who_names_a_window_means_it(config: RetrievalConfig, expected: float | None) -> None:
    assert config.pool_factor == expected


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), 1001, "wide", True])
def test_a_pool_factor_is_a_positive_number(bad: Any) -> None:
    with pytest.raises(ValueError, match="pool_factor"):
        RetrievalConfig(pool_factor=bad)


def test_a_file_that_names_a_window_means_it(tmp_path: Path) -> None:
    for content, expected in (
        ('{"preset": "quality", "window": 1}', None),
        ('{"preset": "quality"}', 16.0),
        ("{}", 8.0),
    ):
        (tmp_path / "config.json").write_text(content)
        assert RetrievalConfig.from_file(tmp_path / "config.json").pool_factor == expected


def test_a_copy_is_checked_like_an_override() -> None:
    config = RetrievalConfig(token_budget=300)
    assert config.model_copy() == config
    assert config.model_copy(update={"window": 1}) == config.override(window=1)
    with pytest.raises(ConfigError, match=r"token_buget: there is no such option; did you mean token_budget\?"):
        config.model_copy(update={"token_buget": 3})
    with pytest.raises(ConfigError, match="window is -1"):
        config.model_copy(update={"window": -1}, deep=True)


@pytest.mark.parametrize("option", ["token_budget", "max_spans", "window", "pool_factor", "run_cost"])
@pytest.mark.parametrize("value", [10**400, -(10**400), 10**5000], ids=["large", "negative", "too long to print"])
def test_numbers_beyond_floats_are_refused(option: str, value: int) -> None:
    with pytest.raises(ConfigError, match=option):
        RetrievalConfig(**{option: value})
