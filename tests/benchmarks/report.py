"""How figures are shown."""

import json
import operator
import sys
from collections.abc import Mapping

Figure = float | str
Figures = dict[str, Figure]
Wanted = Mapping[str, tuple[str, float]]  # figure: (comparison, value)
HOLDS = {"<=": operator.le, ">=": operator.ge, "==": operator.eq}


def rounded(value: Figure) -> Figure:
    return round(value, 3 if value < 10 else 1) if isinstance(value, float) else value


def line(name: str, figures: Figures, busy: float) -> None:
    """One JSON object."""
    shown = {figure: rounded(value) for figure, value in figures.items()}
    sys.stdout.write(json.dumps({"name": name, **shown, "busy": round(busy, 2)}) + "\n")
    sys.stdout.flush()


def table(name: str, figures: Figures, wanted: Wanted, busy: float) -> None:
    sys.stdout.write(f"\n{name} (the machine was {busy:.0%} busy before)\n")
    for figure, value in figures.items():
        verdict = ""
        if figure in wanted:
            comparison, bound = wanted[figure]
            verdict = f"{comparison} {bound:<6g} {'ok' if HOLDS[comparison](value, bound) else 'MISSED'}"
        sys.stdout.write(f"  {figure:<26}{rounded(value)!s:>12}  {verdict}".rstrip() + "\n")
    sys.stdout.flush()
