-- A cached result, and the one call that fetches it.
-- KEYS: the entry; the flight, which is the right to fetch it; how the flight ended that the caller waits for.
-- ARGV: take; the caller's name; how long its right lasts; its eagerness. Times are milliseconds.
-- Out: {known, result}; {landed, outcome of the flight}; {fly, the result there is or nil}; {wait, name of who flies}.
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

-- ARGV: keep, the result becomes the entry; or tell, it is only for those who wait for this flight; the caller's name; for how
-- long; how long fetching took; the result.
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
