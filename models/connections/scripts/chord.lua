-- A chord is the set of the places of its header's ended tasks, so that a copy of a task counts once.
-- KEYS: the chord. ARGV: the task's place in the header; the header's number of tasks; how long the chord waits for the
-- next task; how long after its end copies may still come. Times are seconds. Out: whether this task was the last.
if redis.call('SADD', KEYS[1], ARGV[1]) == 0 then
  return 0
end
local complete = redis.call('SCARD', KEYS[1]) == tonumber(ARGV[2])
redis.call('EXPIRE', KEYS[1], complete and ARGV[4] or ARGV[3])
return complete and 1 or 0
