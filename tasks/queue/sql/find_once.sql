-- find_once: the task that holds a key, whatever its state
SELECT id FROM tasks_task WHERE kind = %(kind)s AND key = %(key)s AND key_scope = 'once'
