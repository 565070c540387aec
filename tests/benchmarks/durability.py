"""How durably a worker commits, so that the bare loop commits alike."""

from tests.benchmarks.bareloop import Durability
from tests.benchmarks.fleet import add_noops, drained, own_connection

# Deferred: the setting that is in force at the commit counts, wherever in the transaction it was made.
WATCH = """
CREATE TABLE bench_commit (txid bigint, state text, setting text);
CREATE FUNCTION bench_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO bench_commit VALUES (txid_current(), NEW.state, current_setting('synchronous_commit'));
    RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER bench_commit AFTER UPDATE OF state ON tasks_task DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION bench_commit()"""
SEEN = """
SELECT state, array_agg(DISTINCT setting) FROM bench_commit b
WHERE NOT EXISTS (SELECT FROM bench_commit o WHERE o.txid = b.txid AND o.state <> b.state) GROUP BY state"""
UNWATCH = "DROP TRIGGER bench_commit ON tasks_task; DROP FUNCTION bench_commit; DROP TABLE bench_commit"


def of_the_worker(jobs: int = 10) -> Durability:
    """Watch a running worker claim and finish some jobs, one by one."""
    with own_connection() as conn:
        conn.execute(WATCH, prepare=False)
        try:
            for _ in range(jobs):
                add_noops(1)
                drained(20)
            seen: dict[str, list[str]] = dict(conn.execute(SEEN).fetchall())
        finally:
            conn.execute(UNWATCH, prepare=False)
    ([claim], [finish]) = (seen["running"], seen["completed"])
    return Durability(claim, finish)
