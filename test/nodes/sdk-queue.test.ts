// The Queue service on three nodes: everything but its contention, which has a test of its own here.
import { runOnNodes } from './again.ts'

await runOnNodes('test/queue/{message,queue,sdk,text}.test.ts')
