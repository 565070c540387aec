-- periods_due: whether any declared period is to be begun
SELECT EXISTS (
    SELECT FROM unnest(%(names)s::text[], %(everys)s::float8[]) AS d(name, every)
    LEFT JOIN tasks_period p USING (name)
    WHERE p.name IS NULL OR p.next_due <= statement_timestamp()
       OR p.next_due > statement_timestamp() + make_interval(secs => d.every + 60))
