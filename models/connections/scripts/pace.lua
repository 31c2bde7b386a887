-- Token buckets, each as the time at which it is full again. A message takes a token of every bucket, or of none.
-- KEYS: the buckets. ARGV: for each the milliseconds between two tokens, and how many tokens it holds.
-- Out: how long the message must wait, and for which bucket, by its place from 1; 0: it took its tokens.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local wait, longest = 0, 0
local full = {}
for i, key in ipairs(KEYS) do
  local every, holds = tonumber(ARGV[2 * i - 1]), tonumber(ARGV[2 * i])
  full[i] = math.max(now, tonumber(redis.call('GET', key) or now)) + every
  if full[i] - now - every * holds > wait then
    wait, longest = full[i] - now - every * holds, i
  end
end
if wait <= 0 then
  for i, key in ipairs(KEYS) do
    redis.call('SET', key, string.format('%.3f', full[i]), 'PX', math.ceil(full[i] - now) + 1)
  end
end
return {math.ceil(wait), longest}
