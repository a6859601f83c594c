// The pages in docs/ that are made from the code. `npm run docs` writes them; a test fails if one is stale.
import { configurationPage } from './configuration.ts'
import { metricsPage } from './metrics.ts'
import { restApiPage } from './rest-api.ts'
import { smbPage } from './smb.ts'

export type Page = { readonly file: string; readonly text: () => string | Promise<string> }

export const PAGES: readonly Page[] = [
  { file: 'docs/configuration.md', text: configurationPage },
  { file: 'docs/metrics.md', text: metricsPage },
  { file: 'docs/rest-api.md', text: restApiPage },
  { file: 'docs/smb.md', text: smbPage },
]
