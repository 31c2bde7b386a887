-- Token buckets, each as the time at which it is full again. A message takes a token of every bucket, or of none.
-- KEYS: the buckets; if there are more, one with a lower rate and a pause for the first of them, see adapt.lua, and its
-- line. ARGV: for each bucket the milliseconds between two tokens, and how many tokens it holds.
-- Out: how long the message must wait, and for which bucket, by its place from 1; 0: it took its tokens.
-- The line is when the last of those who wait for the first bucket is to ask again: each asks when there will be a token
-- for it, but within five seconds, because the rate may have grown by then.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local buckets = #ARGV / 2
local lower = KEYS[buckets + 1] and redis.call('HMGET', KEYS[buckets + 1], 'per_s', 'paused_until') or {}
local per_s, paused = tonumber(lower[1]), (tonumber(lower[2]) or 0) - now
local every, holds, full, waits = {}, {}, {}, {}
for i = 1, buckets do
  every[i], holds[i] = tonumber(ARGV[2 * i - 1]), tonumber(ARGV[2 * i])
  if i == 1 and per_s then
    every[i] = math.max(every[i], 1000 / per_s)
    holds[i] = math.max(1, math.min(holds[i], math.floor(250 / every[i])))  -- of a quarter of a second: it stays even
  end
  full[i] = math.max(now, tonumber(redis.call('GET', KEYS[i]) or now)) + every[i]
  waits[i] = full[i] - now - every[i] * holds[i]
end
waits[1] = math.max(waits[1], paused)
local wait, longest = 0, 0
for i = 1, buckets do
  if waits[i] > wait then
    wait, longest = waits[i], i
  end
end
if wait < 1 then  -- what is less comes of rounding
  for i = 1, buckets do
    redis.call('SET', KEYS[i], string.format('%.3f', full[i]), 'PX', math.ceil(full[i] - now) + 1)
  end
  return {0, 0}
end
local line = KEYS[buckets + 2]
if line and waits[1] >= 1 then
  local place = math.max(now, tonumber(redis.call('GET', line) or now))
  redis.call('SET', line, string.format('%.3f', place + every[1]), 'PX', math.ceil(place + every[1] - now))
  wait = math.max(wait, waits[1] + (place - now) % 5000)
end
return {math.ceil(wait), longest}
