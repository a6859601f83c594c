import { testGroup } from './replay.ts'

await testGroup('import')
