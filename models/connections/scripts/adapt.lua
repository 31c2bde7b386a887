-- Adapts the rate of a token bucket to what the provider takes: additive increase, multiplicative decrease. The rate is
-- stored while it is lower than the bucket's own. It grows with the time since its last change, a second at most, so
-- that it does not grow while nothing is taken. It is cut at most once a second: further messages that are refused
-- meanwhile were under way before the cut.
-- KEYS: the lower rate; the recipient's bucket, which gets the token of a refused message back. ARGV: whether a message
-- was refused, not taken (1 or 0); for how long nothing is to be sent, ms; the bucket's own rate, messages per second;
-- how much it grows in a second; the share that a cut leaves; the least rate; for how long it is stored, ms; the
-- milliseconds between two tokens of the recipient.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local pause, own, growth = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local share, least = tonumber(ARGV[5]), tonumber(ARGV[6])
local stored = redis.call('HMGET', KEYS[1], 'per_s', 'at', 'cut_at', 'paused_until')
local per_s, cut_at, paused_until = tonumber(stored[1]), tonumber(stored[3]) or 0, tonumber(stored[4]) or 0
if ARGV[1] == '1' then
  local full = tonumber(redis.call('GET', KEYS[2]))
  if full then
    redis.call('SET', KEYS[2], string.format('%.3f', full - tonumber(ARGV[8])), 'KEEPTTL')
  end
  paused_until = math.max(paused_until, now + pause)
  if now - cut_at >= 1000 then
    per_s = math.max(least, math.min(per_s or own, own) * share)
    cut_at = now
  end
elseif not per_s then
  return 0
else
  per_s = per_s + growth * math.min(now - tonumber(stored[2]), 1000) / 1000
end
if per_s >= own and paused_until <= now then
  redis.call('DEL', KEYS[1])
  return 0
end
redis.call('HSET', KEYS[1], 'per_s', string.format('%.6f', math.min(per_s, own)), 'at', string.format('%d', now),
           'cut_at', string.format('%d', cut_at), 'paused_until', string.format('%d', paused_until))
redis.call('PEXPIRE', KEYS[1], ARGV[7])
return 0
