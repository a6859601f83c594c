-- The wrk script of the benchmark. It sends a raw HTTP request from a file and replaces every {n} in it by a number of
-- fixed width, so that Content-Length stays the same. Arguments after the URL: the file, the first number, how many
-- numbers before they repeat (0: never), and `sequence` or `scatter` (names in another order than their sort order).
-- {round} is the number of the round, {lap4096} how often the numbers have repeated, times 4096: a position in a file
-- that grows.

local NUMBERS_PER_ROUND = 10000000
local threads = {}

function setup(thread)
  table.insert(threads, thread)
end

-- Pieces of text, with the names of what goes between them.
local function split(text)
  local pieces, from = {}, 1
  for at, name, to in text:gmatch("(){(%w+)}()") do
    if name == "n" or name == "lap4096" then
      table.insert(pieces, text:sub(from, at - 1))
      table.insert(pieces, name)
      from = to
    end
  end
  table.insert(pieces, text:sub(from))
  return pieces
end

-- An odd factor permutes the numbers below 2^32, so scattered names never repeat.
local function digits(number, scatter)
  if scatter then number = (number * 2654435761) % 4294967296 end
  return string.format("%010.0f", number)
end

local function join(number, position, scatter)
  local texts = {}
  for i, piece in ipairs(pieces) do
    if i % 2 == 1 then texts[i] = piece
    elseif piece == "n" then texts[i] = digits(number, scatter)
    else texts[i] = tostring(position) end
  end
  return table.concat(texts)
end

function init(args)
  local file = assert(io.open(args[1], "rb"))
  first, count, scatter = tonumber(args[2]), tonumber(args[3]), args[4] == "scatter"
  local round = math.floor(first / NUMBERS_PER_ROUND)
  local text = file:read("*a"):gsub("{round}", string.format("%d", round))
  file:close()
  grows = text:find("{lap4096}", 1, true) ~= nil
  pieces = split(text)
  ring = {}
  for i = 0, count - 1 do ring[i] = join(i, 0, scatter) end
  next_number = first - 1 -- wrk calls `request` once without sending the result.
end

function request()
  local number = next_number
  next_number = number + 1
  if grows then return join(number % count, math.floor((number - first) / count) * 4096, scatter) end
  if count > 0 then return ring[number % count] end
  return join(number, 0, scatter)
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
