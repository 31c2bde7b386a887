-- A rate is the times of its calls, in a sorted set. It includes the times of calls that are still to come.
-- KEYS: the rate. ARGV: the call; calls in a window; the window; the longest wait. Times are milliseconds.
-- Out: how long the call must wait; 0: it may be made now. A call that would wait too long gets no time.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local calls, window, longest = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - window)
local at = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]))
if at then
  return math.max(0, at - now)
end
-- No window holds too many calls if each call comes a window after the one `calls` places before it.
local before = redis.call('ZREVRANGE', KEYS[1], calls - 1, calls - 1, 'WITHSCORES')
at = before[2] and math.max(now, before[2] + window) or now
if at - now <= longest then
  redis.call('ZADD', KEYS[1], at, ARGV[1])
  redis.call('PEXPIRE', KEYS[1], at - now + window)
end
return at - now
