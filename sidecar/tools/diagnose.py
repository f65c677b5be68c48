"""The checks of `sidecar doctor`, for surfaces; `engine/doctor.py` performs them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sidecar.tools.assemble import own_environment
from sidecar.tools.lines import BAD, GOOD, Line


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check. `advice` is empty if nothing needs to be done."""

    name: str
    ok: bool
    found: str
    advice: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The results of all checks."""

    checks: tuple[CheckResult, ...]

    @property
    def ok(self) -> bool:
        """Whether no check found a problem."""
        return all(check.ok for check in self.checks)

    @property
    def value(self) -> dict[str, Any]:
        """The checks as JSON-ready values."""
        return {"ok": self.ok, "checks": [asdict(check) for check in self.checks]}

    def as_lines(self) -> Iterator[Line]:
        """Yields a line for each check, and one with advice for each problem."""
        width = max((len(check.name) for check in self.checks), default=0)
        for check in self.checks:
            word = (GOOD, "ok     ") if check.ok else (BAD, "problem")
            yield word, f"  {check.name:<{width}}  {check.found}"
            if not check.ok and check.advice:
                yield f"{'':9}{'':{width}}  -> {check.advice}"


def run_checks(flags: Mapping[str, object], root: str, env: Mapping[str, str] | None = None) -> Diagnosis:
    """Runs every check. Never raises."""
    from sidecar.engine.doctor import check_everything

    environment = own_environment() if env is None else env
    found = check_everything(flags, environment, root)
    return Diagnosis(tuple(CheckResult(check.name, check.ok, check.found, check.advice) for check in found))
