-- One verdict: the book's `commit`, step by step.
-- KEYS: the record. ARGV: number of the grant, next interval, shortest gap, state; spans in milliseconds.
-- Answers {what, wait or number of the latest grant, now}.
local record, number = KEYS[1], tonumber(ARGV[1])
local function text(value) return string.format('%.0f', value) end
local r = redis.call('HMGET', record, 'seq', 'cseq', 'gts', 'ver', 'own')
if not r[1] then return {'gone', 0, now} end
local seq, cseq = tonumber(r[1]), tonumber(r[2])
if number ~= seq or number <= cseq then return {'stale', seq, now} end
local next_interval, shortest = tonumber(ARGV[2]), tonumber(ARGV[3])
local gts = tonumber(r[3] or nil)
local due = now + shortest
if gts then
  due = math.max(gts + next_interval, due)
  redis.call('HSET', record, 'obs', text(gts))
end
if r[5] then redis.call('HSET', record, 'oby', r[5]) end
redis.call('HSET', record, 'cseq', text(seq), 'cts', text(now), 'rest', text(shortest), 'st', ARGV[4],
  'ver', text(tonumber(r[4] or '0') + 1), 'floor', text(now), 'due', text(due),
  'gap', text(math.max(next_interval, shortest)))
return {'ok', due - now, now}
