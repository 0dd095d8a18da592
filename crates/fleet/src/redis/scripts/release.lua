-- Deletes a key if it still holds what its owner wrote. KEYS: the key. ARGV: what was written.
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
