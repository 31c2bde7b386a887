-- Empties a token bucket for a time, because the provider asks for a pause. See pace.lua.
-- KEYS: the bucket. ARGV: the pause; the milliseconds between two tokens; how many tokens it holds.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local pause, every, holds = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local full = math.max(now + pause + every * (holds - 1), tonumber(redis.call('GET', KEYS[1]) or now))
redis.call('SET', KEYS[1], string.format('%.3f', full), 'PX', math.ceil(full - now) + 1)
return 0
