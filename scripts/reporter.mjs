// The test reporter: prints failures in full, skipped tests with their reason, and a summary line.
import { inspect } from 'node:util'

export default async function* reporter(events) {
  const counts = { passed: 0, failed: 0, skipped: 0 }
  for await (const { type, data } of events) {
    if (type === 'test:stderr' || type === 'test:stdout') yield data.message
    if (type !== 'test:pass' && type !== 'test:fail') continue
    const isSuite = data.details?.type === 'suite'
    if (data.skip !== undefined) {
      counts.skipped += 1
      yield `skipped: ${data.name}${typeof data.skip === 'string' ? ` (${data.skip})` : ''}\n`
    } else if (type === 'test:fail') {
      if (!isSuite) counts.failed += 1
      yield failureText(data)
    } else if (!isSuite) {
      counts.passed += 1
    }
  }
  yield `\n${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`
}

function failureText({ name, file, line, details }) {
  const error = details?.error
  // A suite fails because of one of its tests, which was already reported.
  if (error?.failureType === 'subtestsFailed') return ''
  const cause = error?.cause ?? error
  return `\nFAILED ${name}\n  at ${file}:${line}\n${cause?.stack ?? inspect(cause)}\n`
}
