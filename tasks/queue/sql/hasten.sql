-- hasten: make a task that waits for a later time due now
UPDATE tasks_task SET scheduled_at = statement_timestamp()
WHERE id = %(id)s AND state IN ('pending', 'retryable') AND scheduled_at > statement_timestamp()
RETURNING state
