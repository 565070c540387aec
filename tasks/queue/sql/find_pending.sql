-- find_pending: the pending task that holds a key, kept from being claimed until the caller's transaction ends
SELECT id, pg_notify('standmeet_job_new', queue) FROM (
    SELECT id, queue FROM tasks_task
    WHERE kind = %(kind)s AND key = %(key)s AND key_scope = 'while_pending' AND state = 'pending'
    ORDER BY id LIMIT 1 FOR SHARE) held
