-- The wrk script of the benchmark. It sends a raw HTTP request from a file and replaces every {n} in it by a number of
-- fixed width, so that Content-Length stays the same. Arguments after the URL: the file, the first number, how many
-- numbers before they repeat (0: never), and `sequence` or `scatter` (names in another order than their sort order).

local threads = {}

function setup(thread)
  table.insert(threads, thread)
end

local function split(text)
  local pieces, from = {}, 1
  while true do
    local at = text:find("{n}", from, true)
    if not at then break end
    table.insert(pieces, text:sub(from, at - 1))
    from = at + 3
  end
  table.insert(pieces, text:sub(from))
  return pieces
end

-- An odd factor permutes the numbers below 2^32, so scattered names never repeat.
local function digits(number, scatter)
  if scatter then number = (number * 2654435761) % 4294967296 end
  return string.format("%010.0f", number)
end

function init(args)
  local file = assert(io.open(args[1], "rb"))
  pieces = split(file:read("*a"))
  file:close()
  first, count, scatter = tonumber(args[2]), tonumber(args[3]), args[4] == "scatter"
  ring = {}
  for i = 0, count - 1 do ring[i] = table.concat(pieces, digits(i, scatter)) end
  next_number = first - 1 -- wrk calls `request` once without sending the result.
end

function request()
  local number = next_number
  next_number = number + 1
  if count > 0 then return ring[number % count] end
  return table.concat(pieces, digits(number, scatter))
end

function done(summary, latency)
  local errors = summary.errors
  local line = '\n{"requests":%d,"durationUs":%d,"bytes":%.0f,"refused":%d,"broken":%d,'
    .. '"p50Us":%.0f,"p99Us":%.0f,"nextNumber":%d}\n'
  io.write(line:format(
    summary.requests, summary.duration, summary.bytes, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout,
    latency:percentile(50), latency:percentile(99), threads[1]:get("next_number")))
end
