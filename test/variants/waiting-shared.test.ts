// The rules of storage/shared again, on a store whose every read and commit waits: transactions interleave.
import { setMemoryKvWaits } from '../../src/kv/memory-kv.ts'
import { runAgain } from './again.ts'

setMemoryKvWaits(true)
await runAgain('src/storage/shared/**/*.test.ts')
