// Compiles the program into a folder: JavaScript, and the console's page as browsers load it.
import { execFileSync } from 'node:child_process'
import { cpSync, globSync } from 'node:fs'
import { join } from 'node:path'

export function compileInto(folder, ...options) {
  // The page comes first: it only uses types of the server's modules, which the second run writes over.
  for (const project of ['src/console/page/tsconfig.build.json', 'tsconfig.build.json']) {
    const args = ['node_modules/typescript/bin/tsc', '-p', project, '--outDir', folder, ...options]
    execFileSync(process.execPath, args, { stdio: 'inherit' })
  }
  for (const file of globSync('src/console/{page,browse,docs}/**/*.{css,svg}')) {
    cpSync(file, join(folder, file.replace(/^src/, '')))
  }
}
