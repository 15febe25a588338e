"""Cases that are drawn one by one, each from its own number, and checked as compositions are."""

from __future__ import annotations

import random
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass

from fuzz.cases import Case
from fuzz.compositions import minimal
from fuzz.ledger import Violation
from fuzz.limits import TooSlowError, processor_limit
from fuzz.tally import Tally, describe


@dataclass(frozen=True)
class Trial:
    """How cases of a kind are drawn and run.

    Parameters
    ----------
    kind : its name, which the draws depend on
    draw : makes a case, and lists the features that it has
    run : raises on the first violation
    seconds : most processor time of one case
    """

    kind: str
    draw: Callable[[random.Random, list[str]], Case]
    run: Callable[[Case, random.Random], None]
    seconds: float

    def try_case(self, seed: int, number: int, covered: list[str]) -> tuple[Case | None, BaseException | None]:
        """Draw one case and try it; return it with what went wrong."""
        rng, case = random.Random(f"{self.kind}:{seed}:{number}"), None
        try:
            with processor_limit(self.seconds):
                case = self.draw(rng, covered)
                self.run(case, rng)
        except (Exception, TooSlowError) as error:  # noqa: BLE001 - whatever goes wrong is what is looked for
            return case, error
        return case, None

    def fuzz(self, seed: int, numbers: range, stop_after: int = 20) -> Tally:
        """Try the cases of these numbers."""
        tally, began = Tally(), time.process_time()
        for number in numbers:
            covered: list[str] = []
            case, error = self.try_case(seed, number, covered)
            tally.cases += 1
            tally.covered.update(set(covered))
            if error is not None:
                tally.violations.append(Violation(f"{seed}:{number}", describe(error), minimal(case)))
                if len(tally.violations) >= stop_after:
                    break
        tally.seconds = time.process_time() - began
        return tally

    def repeat(self, seed: int, number: int) -> int:
        """Try one case again, with a traceback."""
        case, error = self.try_case(seed, number, [])
        print(ascii(minimal(case)))
        if error is not None:
            traceback.print_exception(error)
        return 1 if error is not None else 0
