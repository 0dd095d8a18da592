-- What every script that decides begins with: the store's own clock and the name of its history.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local history = string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)')
