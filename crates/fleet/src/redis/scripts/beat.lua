-- A heartbeat, and who else is there.
-- KEYS: the pods. ARGV: this pod, what it says of itself, milliseconds after which a pod is forgotten.
-- Answers {now, pod, milliseconds since its heartbeat, what it says, …}.
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f %s', now, ARGV[2]))
local all, answer = redis.call('HGETALL', KEYS[1]), {now}
for i = 1, #all, 2 do
  local at, says = string.match(all[i + 1], '^(%d+) (.*)$')
  local age = now - tonumber(at or '0')
  if age > tonumber(ARGV[3]) then
    redis.call('HDEL', KEYS[1], all[i])
  else
    answer[#answer + 1], answer[#answer + 2], answer[#answer + 3] = all[i], age, says
  end
end
return answer
