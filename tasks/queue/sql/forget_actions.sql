-- forget_actions: what was done to tasks whose rows are gone
DELETE FROM tasks_taskaction a WHERE NOT EXISTS (SELECT FROM tasks_task t WHERE t.id = a.task_id)
