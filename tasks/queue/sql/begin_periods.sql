-- begin_periods: of each period that is due, set the next time, add the task and note the run; one statement, so that nobody stops half way
WITH declared AS MATERIALIZED (
    SELECT d.name, d.kind, d.queue, d.attempts, make_interval(secs => d.every) AS every
    FROM unnest(%(names)s::text[], %(kinds)s::text[], %(queues)s::text[], %(attempts)s::int[], %(everys)s::float8[])
         AS d(name, kind, queue, attempts, every)),
added AS (
    INSERT INTO tasks_period (name, since, next_due)
    SELECT name, statement_timestamp(), statement_timestamp() + every FROM declared
    WHERE NOT EXISTS (SELECT FROM tasks_period p WHERE p.name = declared.name)
    ON CONFLICT DO NOTHING
    RETURNING name),
due AS MATERIALIZED (
    SELECT p.name, p.next_due FROM tasks_period p JOIN declared d USING (name)
    -- further ahead than a period: the period was shortened, or the clock put back
    WHERE p.next_due <= statement_timestamp() OR p.next_due > statement_timestamp() + d.every + interval '1 minute'
    ORDER BY p.name
    FOR UPDATE OF p SKIP LOCKED),
advanced AS (
    UPDATE tasks_period p
    SET next_due = CASE WHEN due.next_due <= statement_timestamp() AND due.next_due + d.every > statement_timestamp()
                        THEN due.next_due + d.every ELSE statement_timestamp() + d.every END
    FROM due JOIN declared d USING (name) WHERE p.name = due.name
    RETURNING p.name, due.next_due AS due_at,
              greatest(0, floor(extract(epoch FROM statement_timestamp() - due.next_due) / extract(epoch FROM d.every))) AS missed),
begun AS (
    SELECT name, due_at, missed FROM advanced
    UNION ALL
    SELECT name, statement_timestamp(), 0 FROM added),
hastened AS (  -- the last run was put off, or the clock put back since it was added
    UPDATE tasks_task t SET scheduled_at = statement_timestamp()
    FROM begun JOIN declared d USING (name)
    WHERE t.queue = d.queue AND t.state = 'pending' AND t.scheduled_at > statement_timestamp()
      AND t.kind = d.kind AND t.key = d.name AND t.key_scope = 'while_pending'),
enqueued AS (
    INSERT INTO tasks_task (kind, queue, state, args, key, key_scope, attempt, max_attempts, claim, errors, created_at, scheduled_at)
    SELECT d.kind, d.queue, 'pending', '{}', d.name, 'while_pending', 0, d.attempts, 0, '[]', statement_timestamp(), statement_timestamp()
    FROM begun JOIN declared d USING (name)
    WHERE NOT EXISTS (
        SELECT FROM tasks_task t
        WHERE t.queue = d.queue AND t.state = 'pending' AND t.kind = d.kind AND t.key = d.name AND t.key_scope = 'while_pending')
    ORDER BY d.name
    ON CONFLICT DO NOTHING
    RETURNING id, queue, key),
noted AS (
    INSERT INTO tasks_run (name, job_id, due_at, missed, asked_at, state, reason)
    SELECT b.name, e.id, b.due_at, b.missed, statement_timestamp(), '', '' FROM enqueued e JOIN begun b ON b.name = e.key)
SELECT key, id, pg_notify('standmeet_job_new', queue) FROM enqueued
