-- One claim: the book's `claim`, step by step (crates/fleet/src/book).
-- KEYS: the record. ARGV: pod, interval, hold, first touch, split brain; spans in milliseconds.
-- Answers {what, wait or gap, number of the latest grant, now}.
local record, pod = KEYS[1], ARGV[1]
local interval, hold, touch, split = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local gap = math.max(interval, hold)
local function text(number) return string.format('%.0f', number) end
local function keep(spacing) redis.call('PEXPIRE', record, text(86400000 + 10 * spacing)) end

local r = redis.call('HMGET', record, 'seq', 'cseq', 'rid', 'floor', 'gap', 'gts', 'cts', 'rest')
if not r[1] then
  local due = text(now + touch)
  redis.call('HSET', record, 'seq', text(now), 'cseq', text(now), 'rid', history, 'due', due, 'floor', due,
    'gap', text(math.max(gap, touch)), 'rest', 0)
  if touch >= interval then redis.call('HSET', record, 'gts', text(now)) end
  keep(gap)
  return {'touch', touch, now, now}
end
local seq, cseq, floor, kept = tonumber(r[1]), tonumber(r[2]), tonumber(r[4]), tonumber(r[5])
local gts, cts, rest = tonumber(r[6] or nil), tonumber(r[7] or nil), tonumber(r[8])

if r[3] ~= history then
  local longest = math.max(kept, gap)
  floor = math.max(floor, now + longest + split)
  seq = math.max(seq + 1000, now)
  redis.call('HSET', record, 'rid', history, 'seq', text(seq), 'gap', text(longest), 'gts', text(now + split),
    'floor', text(floor), 'due', text(floor))
  keep(longest)
  return {'quarantine', floor - now, seq, now}
end

local function due()
  local at = floor
  if gts then at = math.max(at, gts + interval) end
  if cts and cseq == seq then at = math.max(at, cts + math.min(rest, interval)) end
  return at
end
local longest = math.max(kept, gap)
if due() - now > 4 * longest + split then
  if gts then gts = math.min(gts, now); redis.call('HSET', record, 'gts', text(gts)) end
  if cts then cts = math.min(cts, now); redis.call('HSET', record, 'cts', text(cts)) end
  floor = now + longest
  redis.call('HSET', record, 'floor', text(floor), 'due', text(floor))
end
local wait = due() - now
if wait > 0 then return {'wait', wait, seq, now} end
seq = seq + 1
redis.call('HSET', record, 'seq', text(seq), 'own', pod, 'gts', text(now), 'floor', text(now + hold),
  'due', text(now + gap), 'gap', text(gap))
keep(gap)
return {'grant', gap, seq, now}
