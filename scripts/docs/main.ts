// `npm run docs` writes the pages in docs/ that are made from the code.
import { writeFileSync } from 'node:fs'
import { PAGES } from './pages.ts'

for (const { file, text } of PAGES) writeFileSync(file, await text())
