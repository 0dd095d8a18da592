-- Writes what the fleet knows of one deployment, unless somebody wrote since the writer last read.
-- KEYS: the bucket's snapshot, the bucket's version.
-- ARGV: deployment, version that the writer knows, 1 for a decision, what is known, channel, number of the bucket.
-- A line is "version decision payload": the version of this line, and the one of the latest decision. Versions follow
-- the store's clock, so that they go on rising after a store that came back empty.
-- Answers {1, line} when it was written, else {0, the line that is there}.
local line = redis.call('HGET', KEYS[1], ARGV[1])
local version, decision = 0, 0
if line then
  local v, d = string.match(line, '^(%d+) (%d+) ')
  version, decision = tonumber(v), tonumber(d)
end
if version > tonumber(ARGV[2]) then return {0, line} end
local latest = tonumber(redis.call('GET', KEYS[2]) or '0')
local next = math.max(now, latest + 1, version + 1, tonumber(ARGV[2]) + 1)
if ARGV[3] == '1' then decision = next end
line = string.format('%.0f %.0f %s', next, decision, ARGV[4])
redis.call('HSET', KEYS[1], ARGV[1], line)
redis.call('SET', KEYS[2], string.format('%.0f', next))
redis.call('PUBLISH', ARGV[5], 'line\n' .. ARGV[6] .. '\n' .. ARGV[1] .. '\n' .. line)
return {1, line}
