// The Table service on three nodes: the SDK, entities with ETags, batches and queries.
import { runOnNodes } from './again.ts'

await runOnNodes('test/table/{batch,entity,query,sdk}.test.ts')
