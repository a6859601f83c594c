// Compiles the program into a folder: JavaScript, and the pages of the admin port as browsers load them.
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildConsole } from './console.mjs'

export function compileInto(folder, ...options) {
  const compiler = ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json']
  execFileSync(process.execPath, [...compiler, '--outDir', folder, ...options], {
    stdio: 'inherit',
  })
  buildConsole(join(folder, 'console/page'))
  const styles = ['page/style/base.css', 'docs/style.css'].map((name) =>
    readFileSync(join('src/console', name), 'utf8'),
  )
  writeFileSync(join(folder, 'console/docs/style.css'), styles.join('\n'))
}
