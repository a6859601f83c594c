// Barriers and faults again, on a store in which every read and commit waits: a held request holds up nobody there either.
import { setMemoryKvWaits } from '../../src/kv/memory-kv.ts'
import { runAgain } from './again.ts'

setMemoryKvWaits(true)
await runAgain('test/control/{barriers,faults,smb}.test.ts')
