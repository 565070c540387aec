-- retry: give a discarded or cancelled task its kind's attempts again; the numbering goes on
WITH picked AS MATERIALIZED (
    SELECT id, state FROM tasks_task
    WHERE id = %(id)s AND state IN ('discarded', 'cancelled')
    FOR UPDATE)
UPDATE tasks_task t
SET state = 'pending', max_attempts = t.attempt + %(attempts)s, claim = t.claim + 1,
    scheduled_at = statement_timestamp(), finalized_at = NULL, acknowledged_at = NULL
FROM picked WHERE t.id = picked.id
RETURNING t.id, t.kind, picked.state, t.state
