-- This script keeps a cached result, and the right of one call to fetch it.
-- KEYS: the entry; the flight, which is the right to fetch it; the outcome of the flight that the caller waits for.
-- ARGV: take; the caller's name; how long its right lasts; its eagerness. Times are milliseconds.
-- Out: {known, result}; {landed, outcome of the flight}; {fly, the old result or nil}; {wait, name of the fetching caller}.
if ARGV[1] == 'take' then
  local held = redis.call('HMGET', KEYS[1], 'result', 'took_ms')
  if held[1] and redis.call('PTTL', KEYS[1]) > held[2] * ARGV[4] then
    return {'known', held[1]}
  end
  local landed = redis.call('GET', KEYS[3])
  if landed then
    return {'landed', landed}
  elseif redis.call('SET', KEYS[2], ARGV[2], 'NX', 'PX', ARGV[3]) then
    return {'fly', held[1]}
  elseif held[1] then
    return {'known', held[1]}
  end
  return {'wait', redis.call('GET', KEYS[2])}
end

-- ARGV: keep, to make the result the entry, or tell, to give it only to those who wait for this flight; the caller's name;
-- how long it is valid; how long fetching took; the result.
if ARGV[1] == 'keep' then
  redis.call('HSET', KEYS[1], 'result', ARGV[5], 'took_ms', ARGV[4])
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
else
  redis.call('SET', KEYS[3], ARGV[5], 'PX', ARGV[3])
end
if redis.call('GET', KEYS[2]) == ARGV[2] then
  redis.call('DEL', KEYS[2])
end
return false
