// Data Lake Storage on three nodes: every operation of the SDK, who may do what, and the flat account's part.
import { runOnNodes } from './again.ts'

await runOnNodes('test/datalake/{sdk,identity,flat,path}.test.ts')
