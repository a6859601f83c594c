// One REST suite of each service again, without the record cache: the answers are the same.
import { NO_CACHE, setDefaultCacheLimits } from '../../src/kv/cache.ts'
import { runAgain } from './again.ts'

setDefaultCacheLimits(NO_CACHE)
await runAgain('test/{blob/condition,blob/list,queue/message,table/entity,file/read}.test.ts')
