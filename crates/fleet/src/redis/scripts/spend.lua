-- What probes of the whole fleet used up on one day of the store's clock: reserves, or settles what was reserved.
-- KEYS: the day's book. ARGV: deployment; day of what is settled, 0 to reserve for today; probes; billionths of a dollar;
-- four caps (probes and dollars of the deployment, then of all; -1 = none); the day of which the caller knows what was
-- used up, and that in the order of the caps.
-- A store that lost its book takes over what the caller knows. Answers {what, day, used up in the order of the caps}.
local book, id, day = KEYS[1], ARGV[1], tonumber(ARGV[2])
local today = math.floor(now / 86400000)
if tonumber(redis.call('HGET', book, 'day') or '0') < today then
  redis.call('DEL', book)
  redis.call('HSET', book, 'day', today)
  redis.call('PEXPIRE', book, 172800000)
end
local names = {'probes:' .. id, 'usd:' .. id, 'probes', 'usd'}
local known = tonumber(ARGV[9]) == today
local used = redis.call('HMGET', book, unpack(names))
for i = 1, 4 do
  if not used[i] then
    used[i] = known and ARGV[9 + i] or '0'
    redis.call('HSET', book, names[i], used[i])
  end
  used[i] = tonumber(used[i])
end
local adds = {tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[3]), tonumber(ARGV[4])}
local function answer(what) return {what, today, used[1], used[2], used[3], used[4]} end
if day == 0 then
  for i = 1, 4 do
    local cap = tonumber(ARGV[4 + i])
    if cap >= 0 and (used[i] >= cap or used[i] + adds[i] > cap) then return answer(i) end
  end
elseif day ~= today then
  return answer(0)
end
for i = 1, 4 do used[i] = redis.call('HINCRBY', book, names[i], string.format('%.0f', adds[i])) end
return answer(0)
