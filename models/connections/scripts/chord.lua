-- Chords: the tasks of a header that have ended, as a set of their places, so that a copy of one counts once.
-- KEYS: the chord. ARGV: the task's place in the header; how many tasks it has; how long the chord waits for the next one; how
-- long after its end copies may still come. Times are seconds. Out: whether this was the last one.
if redis.call('SADD', KEYS[1], ARGV[1]) == 0 then
  return 0
end
local complete = redis.call('SCARD', KEYS[1]) == tonumber(ARGV[2])
redis.call('EXPIRE', KEYS[1], complete and ARGV[4] or ARGV[3])
return complete and 1 or 0
