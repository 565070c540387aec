-- unacknowledged: how many tasks were discarded lately with nobody having said that they know, counted up to a limit, and since when
SELECT count(*), min(finalized_at) FROM (
    SELECT finalized_at FROM tasks_task
    WHERE state = 'discarded' AND acknowledged_at IS NULL AND finalized_at > statement_timestamp() - interval '7 days'
    ORDER BY finalized_at LIMIT %(limit)s) counted
