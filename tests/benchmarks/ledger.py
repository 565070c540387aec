"""Who became final, and how often: written by a trigger in the transaction of each change."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.benchmarks.fleet import own_connection

OPEN = """
CREATE TABLE bench_final (task_id bigint, state text);
CREATE FUNCTION bench_final() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO bench_final VALUES (NEW.id, NEW.state);
    RETURN NULL; END $$;
CREATE TRIGGER bench_final AFTER UPDATE ON tasks_task FOR EACH ROW
    WHEN (NEW.state IN ('completed', 'discarded', 'cancelled')) EXECUTE FUNCTION bench_final()"""
CLOSE = "DROP TRIGGER bench_final ON tasks_task; DROP FUNCTION bench_final; DROP TABLE bench_final"
TWICE = "SELECT count(*) FROM (SELECT FROM bench_final GROUP BY task_id HAVING count(*) > 1) twice"


@contextmanager
def ledger() -> Iterator[None]:
    with own_connection() as conn:
        conn.execute(OPEN, prepare=False)
    try:
        yield
    finally:
        with own_connection() as conn:
            conn.execute(CLOSE, prepare=False)


def finished_twice() -> int:
    with own_connection() as conn:
        [n] = conn.execute(TWICE).fetchone()  # type: ignore[misc]
    return int(n)
