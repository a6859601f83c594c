// The File service on three nodes: two of them relay to the one that serves the files.
import { runOnNodes } from './again.ts'

await runOnNodes(
  'test/file/{contention,lease,range,read,rename,sdk-coverage,share-snapshot}.test.ts',
)
