// The tests of storage/datalake again, on a store in which every read and commit waits, so that transactions interleave.
import { setMemoryKvWaits } from '../../src/kv/memory-kv.ts'
import { runAgain } from './again.ts'

setMemoryKvWaits(true)
await runAgain('src/storage/datalake/**/*.test.ts')
