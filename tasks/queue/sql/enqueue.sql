-- enqueue: add a task and ring its queue's bell; no row where its key is taken
WITH added AS (
    INSERT INTO tasks_task (kind, queue, state, args, key, key_scope, attempt, max_attempts, claim, errors, created_at, scheduled_at)
    VALUES (%(kind)s, %(queue)s, 'pending', %(args)s, %(key)s, %(scope)s, 0, %(attempts)s, 0, '[]',
            statement_timestamp(), statement_timestamp() + make_interval(secs => %(delay)s))
    ON CONFLICT DO NOTHING
    RETURNING id, queue)
SELECT id, pg_notify('standmeet_job_new', queue) FROM added
