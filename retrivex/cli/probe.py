"""`retrivex probe`: measures at which depths of a context a model reads well, and whether order can help."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from retrivex.cli.endpoints import EndpointOptions, ModelName, ModelUrl
from retrivex.cli.failures import SOME_FAILED
from retrivex.cli.options import AsJson, taking
from retrivex.cli.terminal import note, progress, write_json, write_text
from retrivex.evaluation.probe.probe import ANSWER_TOKENS, ProbeResult, tokens_of_probe
from retrivex.evaluation.probe.probe import probe as run_probe

_BAR = 20


@taking(asking=EndpointOptions)
def probe(
    *,
    model_url: ModelUrl,
    model: ModelName,
    out: Annotated[
        Path,
        typer.Option(
            "--out", metavar="FILE", dir_okay=False, help="Where the position profile is written.", show_default=False
        ),
    ],
    lengths: Annotated[
        str, typer.Option("--lengths", metavar="N,N", help="Of the texts, in tokens, with commas between.")
    ] = "2000,8000",
    depths: Annotated[int, typer.Option("--depths", min=2, max=101, metavar="N", help="From front to end.")] = 11,
    needles: Annotated[int, typer.Option("--needles", min=1, metavar="N", help="At each depth and length.")] = 20,
    answer_tokens: Annotated[
        int, typer.Option("--answer-tokens", min=1, metavar="N", help="More for a model that thinks first.")
    ] = ANSWER_TOKENS,
    seed: Annotated[int, typer.Option("--seed", min=0, metavar="S", help="Of needles and texts.")] = 0,
    asking: EndpointOptions,
    as_json: AsJson = False,
) -> None:
    """Measure where in a context a model reads well, and write the profile that the order `profile` reads.

    Needles are asked for at every depth of made-up texts. Says whether reordering can pay for this model; where no
    effect is seen, the profile is level. Answers are kept beside the profile, so that a run that was stopped goes on.
    Needs the extra 'evaluate'.

    \b
    Examples:
      retrivex probe --model-url http://localhost:8000/v1 --model qwen3 --out qwen3.json
      retrivex probe --model-url https://api.openai.com/v1 --model gpt-5-mini --out gpt.json --answer-tokens 2000 \\
        --model-option max_tokens=null --model-option max_completion_tokens=2000 --model-option temperature=null
      retrivex query "How do bees survive the winter?" --order profile --set position_profile=qwen3.json
    """
    sizes = _lengths(lengths)
    spent = tokens_of_probe(sizes, depths, needles, answer_tokens)
    note(f"{len(sizes) * depths * needles:,} questions, at most about {spent:,} tokens")
    endpoint = asking.open(model_url, model, out.with_name(f"{out.name}.answers.db"), seed=seed)
    with endpoint, progress("needles") as show:
        result = run_probe(
            endpoint, sizes, depths, needles, name=model, answer_tokens=answer_tokens, seed=seed, report=show
        )
    result.save(out)
    for warning in result.warnings:
        note(warning)
    if as_json:
        write_json({**result.to_dict(), "written": str(out)})
    else:
        write_text("\n".join(table(result)))
        write_text(f"\n{result.verdict}\nwritten: {out}")
    if result.usage.unanswered:
        raise typer.Exit(SOME_FAILED)


def table(result: ProbeResult) -> Iterator[str]:
    """Yield the lines of the report: accuracy at each depth, its band, and that of each length."""
    fit = result.fit
    yield f"{fit.needles:,} needles, {fit.rows:,} rows; {result.usage}"
    yield ""
    columns = "".join(f"{f'{length:,}':>10}" for length in result.by_length)
    yield f"{'position':<10}{'right':>7}   {f'{100 * fit.level:g} % band':<15}{'':<{_BAR}}{columns}   tokens"
    for at, position in enumerate(fit.positions):
        band = f"{fit.low[at]:.2f} to {fit.high[at]:.2f}"
        bar = "█" * round(_BAR * fit.accuracy[at])
        each = "".join(f"{values[at]:>10.2f}" for values in result.by_length.values())
        yield f"{position:<10.2f}{fit.accuracy[at]:>7.2f}   {band:<15}{bar:<{_BAR}}{each}"


def _lengths(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError as error:
        raise typer.BadParameter(f"--lengths is {text!r}: give whole numbers with commas between") from error
