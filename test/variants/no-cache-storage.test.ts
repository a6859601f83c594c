// The tests of storage/ again, without the record cache: the outcomes are the same.
import { NO_CACHE, setDefaultCacheLimits } from '../../src/kv/cache.ts'
import { runAgain } from './again.ts'

setDefaultCacheLimits(NO_CACHE)
await runAgain('src/storage/**/*.test.ts')
