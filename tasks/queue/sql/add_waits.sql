-- add_waits: add what one process has counted of its waits
INSERT INTO tasks_waitcount AS c (outcome, le, waits, seconds)
SELECT * FROM unnest(%(outcomes)s::text[], %(les)s::float8[], %(waits)s::bigint[], %(seconds)s::float8[])
ON CONFLICT (outcome, le) DO UPDATE SET waits = c.waits + excluded.waits, seconds = c.seconds + excluded.seconds
