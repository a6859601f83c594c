// What the help says about each command. Loaded only to print it.
import type { CommandName } from './commands.ts'
import type { SettingName } from './options.ts'

export type CommandHelp = {
  readonly group: string
  readonly summary: string
  /** Command lines without `lazuli`; undefined for commands for a running server, whose table of actions has them. */
  readonly usage?: readonly string[]
  readonly examples: readonly Example[]
  /** The settings that matter to it; undefined for all. */
  readonly settings?: readonly SettingName[]
  readonly exitCodes?: string
}

export type Example = readonly [command: string, what: string]

const SERVER = 'Run a server'
const DATA = 'Look after its data (see docs/operations.md)'
const SEE = 'See what a running server does'
const STEER = 'Steer a running server, for tests'

/** How a command finds the server. */
const ADMIN: readonly SettingName[] = ['location', 'adminHost', 'adminPort', 'controlToken']

// prettier-ignore
export const COMMAND_HELP: Readonly<Record<CommandName, CommandHelp>> = {
  start: { group: SERVER, summary: 'start the server', usage: ['[start] [flags]'],
    examples: [
      ['lazuli', 'with the data in ./.lazuli'],
      ['lazuli --location /var/lib/lazuli --host 0.0.0.0', 'for other machines'],
      ['lazuli --inMemoryPersistence --silent', 'for tests'],
    ] },
  health: { group: SERVER, summary: 'say whether the server is ready', usage: ['health'],
    examples: [['lazuli health --location /var/lib/lazuli', 'the server of this folder']],
    settings: ['location', 'adminHost', 'adminPort'],
    exitCodes: '0 ready, 1 not' },
  nodes: { group: SERVER, summary: 'list the nodes that use a database', usage: ['nodes --store URL'],
    examples: [['lazuli nodes --store postgres://lazuli@db1/lazuli', '']],
    settings: ['store'] },
  backup: { group: DATA, summary: 'back up a data folder, also of a running server', usage: ['backup PLACE', 'backup PLACE --verify'],
    examples: [
      ['lazuli backup /backup/lazuli --location /var/lib/lazuli', 'to a folder: only what is new'],
      ['lazuli backup /backup/lazuli.tar --location /var/lib/lazuli', 'whole, as one file'],
      ['lazuli backup /backup/lazuli --verify', 'check every byte of a backup'],
    ],
    settings: ADMIN,
    exitCodes: '0 the backup is complete, 1 it is not' },
  restore: { group: DATA, summary: 'restore a backup to an empty folder or database', usage: ['restore PLACE --location FOLDER', 'restore PLACE --store URL'],
    examples: [['lazuli restore /backup/lazuli.tar --location /var/lib/lazuli', '']],
    settings: ['location', 'store', 'bytes'],
    exitCodes: '0 everything is restored and was checked, 1 it is not' },
  fsck: { group: DATA, summary: 'check data, and repair it', usage: ['fsck --location FOLDER', 'fsck --store URL'],
    examples: [
      ['lazuli fsck --location /var/lib/lazuli', 'of a stopped server'],
      ['lazuli fsck --location /var/lib/lazuli --repair', 'correct what follows from other records'],
      ['lazuli fsck --store postgres://lazuli@db1/lazuli', 'also beside running nodes'],
    ],
    settings: ['location', 'store', 'bytes'],
    exitCodes: '0 no problems, 1 problems, 2 could not check' },
  copy: { group: DATA, summary: 'copy data to another folder or database', usage: ['copy --from STORE --to STORE'],
    examples: [['lazuli copy --from /var/lib/lazuli --to postgres://lazuli@db1/lazuli', '']],
    settings: [] },
  import: { group: DATA, summary: "import Azurite's data", usage: ['import azurite FOLDER'],
    examples: [['lazuli import azurite ./azurite --location ./.lazuli', '']],
    settings: ['location', 'services'],
    exitCodes: '0 everything is imported, 1 something was left out' },
  journal: { group: SEE, summary: 'the last requests, and whom they lost to',
    examples: [
      ['lazuli journal --conflicts --follow', 'as they happen'],
      ['lazuli journal --resource /devstoreaccount1/images/cat.png', 'of one blob'],
    ],
    settings: ADMIN },
  leases: { group: SEE, summary: 'active leases; break one',
    examples: [['lazuli leases break /devstoreaccount1/images/cat.png', '']], settings: ADMIN },
  messages: { group: SEE, summary: 'messages that clients hold; make one visible',
    examples: [['lazuli messages', '']], settings: ADMIN },
  opens: { group: SEE, summary: 'files that SMB clients have open; close one',
    examples: [['lazuli opens', '']], settings: ADMIN },
  locks: { group: SEE, summary: 'byte-range locks of SMB clients',
    examples: [['lazuli locks', '']], settings: ADMIN },
  copies: { group: SEE, summary: 'copies in progress',
    examples: [['lazuli copies', '']], settings: ADMIN },
  uncommitted: { group: SEE, summary: 'blobs with uncommitted blocks',
    examples: [['lazuli uncommitted', '']], settings: ADMIN },
  races: { group: SEE, summary: 'races that the journal proves',
    examples: [['lazuli races', '']], settings: ADMIN },
  clock: { group: STEER, summary: 'hold, advance, set and run the clock',
    examples: [['lazuli clock advance PT15S', 'leases of 15 seconds end'], ['lazuli clock set 2030-01-01T00:00:00Z', '']], settings: ADMIN },
  barriers: { group: STEER, summary: 'hold requests, and release them',
    examples: [[`lazuli barriers hold '{"at":"checked","match":{"operation":"Put Blob"}}'`, '']], settings: ADMIN },
  faults: { group: STEER, summary: 'make requests fail',
    examples: [[`lazuli faults add '{"effect":{"status":503},"times":1}'`, 'the next request']], settings: ADMIN },
  snapshots: { group: STEER, summary: 'save and restore states of the store',
    examples: [['lazuli snapshots save before-test', '']], settings: ADMIN },
  reset: { group: STEER, summary: 'empty the store, or a part of it',
    examples: [['lazuli reset --account devstoreaccount1 --service queue', '']], settings: ADMIN },
  seed: { group: STEER, summary: 'fill the store from a folder',
    examples: [['lazuli seed ./test-data', 'docs/seed.md says what is in it']], settings: ADMIN },
  export: { group: STEER, summary: 'write the store to such a folder',
    examples: [['lazuli export ./test-data', '']], settings: ADMIN },
  torture: { group: 'Test a server', summary: 'run many clients and check that all answers fit', usage: ['torture'],
    examples: [
      ['lazuli torture --url http://127.0.0.1:10000 --seconds 60', ''],
      ['lazuli torture --check history.jsonl', 'decide about an earlier run'],
    ],
    settings: ['services', 'adminPort', 'controlToken'] },
}
