// What is published: JavaScript and types in dist/, made by the TypeScript compiler.
import { execFileSync } from 'node:child_process'
import { chmodSync, rmSync } from 'node:fs'

rmSync('dist', { recursive: true, force: true })
execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'], {
  stdio: 'inherit',
})
chmodSync('dist/main.js', 0o755)
