from dataclasses import dataclass, replace
from datetime import timedelta

import pytest
from django.core.checks import run_checks

from tasks import registry
from tasks.declare import (
    PUBLIC,
    Backoff,
    Caller,
    Catalog,
    EventType,
    Operation,
    Periodic,
    Subscription,
    TaskKind,
    periodic_kind,
)
from tests.catalog import CATALOG
from tests.probe.kinds import HEARS, NOOP, NOTICED, Probe


def positional(by: Caller, thing: int) -> None: ...


def untyped(by: Caller, *, thing) -> None: ...


def list_input(by: Caller, *, things: list) -> None: ...


def fine(by: Caller, *, thing: int | None = None) -> None: ...


@dataclass(frozen=True)
class Thing:
    thing: str


CLOCKED = Periodic("work", timedelta(hours=1), periodic_kind("k", NOOP.handler), "Work")


def clocked(**given: object) -> Catalog:
    work = replace(CLOCKED, **given)  # type: ignore[arg-type]
    return Catalog(kinds=(work.kind,), periodic=(work,))


OPERATION = Operation("probe.do", fine, "Do", PUBLIC)
UNSOUND = {
    "E001": Catalog(kinds=(NOOP, NOOP)),
    "E002": Catalog(kinds=(replace(NOOP, args=str),)),
    "E003": Catalog(kinds=(replace(NOOP, queue="fast"),)),
    "E004": Catalog(kinds=(replace(NOOP, limit=timedelta(0)),)),
    "E005": Catalog(kinds=(replace(NOOP, handler="tests.probe.handlers.nothing"),)),
    "E006": Catalog(kinds=(HEARS,), subscriptions=(Subscription(EventType("probe.else", Thing, ""), HEARS),)),
    "E007": Catalog(events=(NOTICED,), subscriptions=(Subscription(NOTICED, HEARS),)),
    "E008": Catalog(
        events=(NOTICED,),
        kinds=(kind := TaskKind("k", Probe, NOOP.handler, "index", 1, Backoff((1,)), timedelta(1)),),
        subscriptions=(Subscription(NOTICED, kind),),
    ),
    "E009": Catalog(operations=(replace(OPERATION, permission=""),)),
    "E010": Catalog(operations=(replace(OPERATION, run=untyped),)),
    "E011": Catalog(operations=(replace(OPERATION, run=positional),)),
    "E012": Catalog(operations=(replace(OPERATION, run=list_input),)),
    "E013": Catalog(operations=(replace(OPERATION, on="requests.nothing"),)),
    "E021": Catalog(kinds=(replace(NOOP, attempts=1),)),
    "E014": Catalog(operations=(replace(OPERATION, on="accounts.owner"),)),
    "E023": Catalog(operations=(replace(OPERATION, faces=frozenset({"mcp"})),)),
    "E015": Catalog(periodic=(CLOCKED,)),
    "E016": clocked(kind=replace(CLOCKED.kind, unique=None)),
    "E017": clocked(kind=replace(CLOCKED.kind, attempts=2)),
    "E018": clocked(every=CLOCKED.kind.limit - timedelta(seconds=1)),
    "E019": clocked(summary=""),
    "E020": Catalog(kinds=(CLOCKED.kind,), periodic=(CLOCKED, replace(CLOCKED, name="again"))),
}


@pytest.mark.parametrize("number", UNSOUND)
def test_an_unsound_catalog_does_not_start(settings, monkeypatch, number) -> None:
    monkeypatch.setattr("tests.catalog.CATALOG", UNSOUND[number])
    registry.forget()

    found = {message.id for message in run_checks()}

    monkeypatch.undo()
    registry.forget()
    assert found == {f"tasks.{number}"}


def test_the_catalog_is_sound_with_what_runs_by_the_clock(settings) -> None:
    settings.CATALOG = "standmeet.catalog.CATALOG"
    registry.forget()

    found = run_checks()

    settings.CATALOG = "tests.catalog.CATALOG"
    registry.forget()
    assert found == []


def test_the_catalog_is_sound() -> None:
    assert CATALOG.kinds
    assert run_checks() == []


def test_the_diagram_of_states_in_the_docs_is_what_the_code_does() -> None:
    from tasks.management.commands.statemachine import PATH, draw

    assert PATH.read_text() == draw(), "run: ./run statemachine"
