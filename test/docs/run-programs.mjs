// Runs the given modules one after another, and prints a line of JSON for each: how it ended, and what it has printed to stderr.
import { pathToFileURL } from 'node:url'

let stderr = ''
process.stderr.write = (text) => {
  stderr += text
  return true
}
const print = process.stdout.write.bind(process.stdout)
process.stdout.write = () => true

for (const file of process.argv.slice(2)) {
  stderr = ''
  let error
  try {
    await import(pathToFileURL(file).href)
  } catch (thrown) {
    error = thrown?.stack ?? String(thrown)
  }
  print(`${JSON.stringify({ file, error, stderr })}\n`)
}
process.exit()
