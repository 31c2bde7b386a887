-- Each outside service has a circuit. Open circuits are members of a sorted set, scored with the time from which one call
-- may test whether the service has recovered.
-- KEYS: the open circuits; for this circuit: its failures in a row, whether its service has answered lately, the calls that
-- run before it has. ARGV: the command; the circuit; the call; the pause; how long the call may take; the failures in a row
-- that open it. Times are milliseconds.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local said, circuit, call = ARGV[1], ARGV[2], ARGV[3]

if said == 'list' then  -- Out: for each circuit its name and how long it stays open
  local open = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. now, '+inf', 'WITHSCORES')
  for place = 2, #open, 2 do
    open[place] = open[place] - now
  end
  return open
end

local pause, time, most = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local due = tonumber(redis.call('ZSCORE', KEYS[1], circuit))

if said == 'ask' then  -- Out: {open, how long}; {trial, 0}; {closed or first, failures}; {wait, 0}
  local failures = tonumber(redis.call('GET', KEYS[2])) or 0
  if due and due > now then
    return {'open', due - now}
  elseif due then
    -- The asking call is the test; if no outcome is reported, another may test after its time is over.
    redis.call('ZADD', KEYS[1], now + time, circuit)
    return {'trial', 0}
  elseif redis.call('EXISTS', KEYS[3]) == 1 then
    return {'closed', failures}
  end
  -- If a service has not answered yet, no more calls run than may fail.
  redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', now)
  if redis.call('ZCARD', KEYS[4]) + failures >= most then
    return {'wait', 0}
  end
  redis.call('ZADD', KEYS[4], now + time, call)
  redis.call('PEXPIRE', KEYS[4], pause + time)
  return {'first', failures}
end

-- Out of every report: {closed or opened, 0} if it did that.
redis.call('ZREM', KEYS[4], call)
if said == 'answered' then
  redis.call('SET', KEYS[3], 1, 'PX', pause)
  redis.call('DEL', KEYS[2])
  if redis.call('ZREM', KEYS[1], circuit) == 1 then
    return {'closed', 0}
  end
elseif said == 'failed' then
  local failures = redis.call('INCR', KEYS[2])
  redis.call('PEXPIRE', KEYS[2], pause)
  if due or failures >= most then
    redis.call('ZADD', KEYS[1], now + pause, circuit)
    redis.call('DEL', KEYS[2], KEYS[3])
    redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - 86400000)
    return {'opened', 0}
  end
elseif said == 'unheard' then  -- the testing call had no outcome: the next one may test
  redis.call('ZADD', KEYS[1], 'XX', now, circuit)
end
return {'noted', 0}
