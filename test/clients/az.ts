// The Azure CLI for the tests of each service: whether it is installed, and its environment.
import { tempFolder } from '../server-process.ts'
import { CLIENT_LIMIT_MS, clientOf, missingReason, type Client } from './program.ts'

/** `az version` would take as long as a test. */
const skip = missingReason('az', ['sh', '-c', 'command -v az']) ?? false

/** Every call takes a second to start, so two run at a time. */
export const AZ_SUITE = { skip, timeout: CLIENT_LIMIT_MS, concurrency: 2 }

/** `az storage` with JSON output and no other messages. */
export function azStorage(connectionString: string): Client {
  return clientOf(['az', 'storage'], {
    AZURE_STORAGE_CONNECTION_STRING: connectionString,
    AZURE_CONFIG_DIR: tempFolder('az-config'),
    AZURE_CORE_COLLECT_TELEMETRY: '0',
    AZURE_CORE_ONLY_SHOW_ERRORS: '1',
    AZURE_CORE_OUTPUT: 'json',
    AZURE_CORE_SURVEY_MESSAGE: '0',
  })
}
