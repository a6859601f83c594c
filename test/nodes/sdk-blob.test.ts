// The Blob service on three nodes: conditions and leases, every type of blob, lists, copies and batches.
import { runOnNodes } from './again.ts'

await runOnNodes(
  'test/blob/{append,batch,block-list,blob,condition,copy,lease,list,snapshot}.test.ts',
)
