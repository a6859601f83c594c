// Runs a command that shows or steers a running server.
import { FieldError } from '../../control/field-error.ts'
import { journalEntry, journalPage } from '../admin/api/answers.ts'
import { StartError } from '../start-error.ts'
import { askServer, eventsOf } from './client.ts'
import { findAction } from './commands.ts'
import { entryLines, journalTitle } from './journal-text.ts'
import type { SteerCommand } from './names.ts'
import type { Screen } from './screen.ts'

export type Printing = {
  readonly screen: Screen
  print(lines: readonly string[]): void
  /** Nobody reads any more. */
  readonly signal: AbortSignal
}

export async function runSteer(command: SteerCommand, printing: Printing): Promise<void> {
  const { action, words } = findAction(command)
  const value = await askServer(command, action.call(words, command))
  try {
    if (command.asJson && !command.follow) printing.print([JSON.stringify(value, undefined, 2)])
    else if (command.asJson) printing.print(journalPage.decode(value, '').entries.map(toJson))
    else if (command.follow) printing.print(journalLines(value, printing.screen))
    else printing.print(action.show(value, printing.screen))
    if (command.follow) await follow(command, printing, journalPage.decode(value, '').lastId)
  } catch (error) {
    if (!(error instanceof FieldError)) throw error
    throw new StartError(
      `the server at ${command.adminUrl} answers in another way than this version: ${error.message}`,
    )
  }
}

/** The title is there from the beginning; more entries follow. */
function journalLines(value: unknown, screen: Screen): readonly string[] {
  const { entries } = journalPage.decode(value, '')
  return [journalTitle(screen), ...entries.flatMap((entry) => entryLines(entry, screen))]
}

async function follow(
  command: SteerCommand,
  { print, signal, screen }: Printing,
  since: number,
): Promise<void> {
  const { countMax: _ofTheList, ...filter } = Object.fromEntries(command.fields)
  const query = { ...filter, since: String(since) }
  const call = { method: 'GET', path: 'journal/stream', query } as const
  try {
    for await (const { name, data } of eventsOf(command, call, signal)) {
      if (command.asJson) print([toJson(data)])
      else if (name === 'dropped') print([droppedLine(data)])
      else print(entryLines(journalEntry.decode(data, ''), screen))
    }
  } catch (error) {
    if (signal.aborted) return
    if (error instanceof StartError || error instanceof FieldError) throw error
  }
  throw new StartError(`the server at ${command.adminUrl} has ended the stream`)
}

function droppedLine(data: unknown): string {
  const { count } = data as { readonly count?: number }
  return `… ${count} entries left the memory of the server before they were read`
}

function toJson(value: unknown): string {
  return JSON.stringify(value)
}
