// Prepares a fresh clone. `npm start` needs the dependencies only; with --dev, those of developers are installed, too
// (types, lint, the SDKs for tests), and with --test also the system packages that the tests use. Plain JavaScript,
// because the installed Node may be too old to run TypeScript.
import { installDependencies } from './dependencies.mjs'

const isTest = process.argv.includes('--test')

await installDependencies(isTest || process.argv.includes('--dev') ? 'developer' : 'user')
if (isTest) {
  const { installTestTools } = await import('./test-tools.mjs')
  installTestTools()
}
