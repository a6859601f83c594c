// The rules of storage/ again without the cache of records: the same outcomes.
import { NO_CACHE, setDefaultCacheLimits } from '../../src/kv/cache.ts'
import { runAgain } from './again.ts'

setDefaultCacheLimits(NO_CACHE)
await runAgain('src/storage/**/*.test.ts')
