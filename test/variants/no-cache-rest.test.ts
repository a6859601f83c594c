// One suite of each service by REST again without the cache of records: the same answers.
import { NO_CACHE, setDefaultCacheLimits } from '../../src/kv/cache.ts'
import { runAgain } from './again.ts'

setDefaultCacheLimits(NO_CACHE)
await runAgain('test/{blob/condition,blob/list,queue/message,table/entity,file/read}.test.ts')
