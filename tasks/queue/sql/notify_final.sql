-- notify_final: tell whoever waits that these tasks are final
SELECT pg_notify('standmeet_job_final', id::text) FROM unnest(%(ids)s::bigint[]) id
