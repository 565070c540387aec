-- prune: delete tasks of one final state that ended longer ago than it is kept, some at a time
DELETE FROM tasks_task WHERE id IN (
    SELECT id FROM tasks_task
    WHERE state = %(state)s AND finalized_at < statement_timestamp() - make_interval(secs => %(keep)s)
    ORDER BY finalized_at LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED)
