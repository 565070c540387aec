-- states_of: what waiters need to know of their tasks
SELECT id, state, coalesce(errors -> -1 ->> 'error', ''),
       extract(epoch FROM scheduled_at - statement_timestamp())::float8
FROM tasks_task WHERE id = ANY(%(ids)s::bigint[])
