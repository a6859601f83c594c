// Builds the published package: compiles JavaScript and types into dist/.
import { execFileSync } from 'node:child_process'
import { chmodSync, rmSync } from 'node:fs'

rmSync('dist', { recursive: true, force: true })
execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'], {
  stdio: 'inherit',
})
chmodSync('dist/main.js', 0o755)
