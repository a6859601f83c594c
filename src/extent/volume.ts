// Where the bytes of extents are stored: files in a folder (file/), or rows in PostgreSQL (postgres/). The volume knows
// bytes only; extents.ts keeps the records.
import type { Span } from './reader.ts'
import type { Region } from './region.ts'

export interface Volume {
  /** Prepares a new extent for writing. */
  create(extent: number): Promise<Appender>
  /** Called when a reader starts. What it returns sees every byte that is durable by now. */
  reader(isSettled: IsSettled): ReadSpan
  /** Removes the bytes for good. Ignores missing extents. */
  remove(extents: readonly number[]): Promise<void>
  /** The extents that have bytes. */
  list(): Promise<readonly number[]>
  /** Undefined if the extent is missing. */
  storedBytes(extent: number): Promise<number | undefined>
  close(): Promise<void>
}

/** Whether only this process can still add bytes to the extent, or nobody. */
export type IsSettled = (extent: number) => Promise<boolean>

/** Fills the buffer from a span and returns how many bytes it found; undefined if the extent is missing. */
export type ReadSpan = (span: Span, buffer: Uint8Array) => Promise<number | undefined>

/** Bytes `offset` to `end` of an extent are reserved for a body. */
export type Place = { readonly offset: number; readonly end: number }

/** An extent that this process writes to. */
export interface Appender {
  /** The place of the next body, if `reservedBytes` are taken. */
  place(reservedBytes: number, lengthBytes: number): Place
  region(offset: number, lengthBytes: number): Region
  /** Makes all completed regions durable. After a failure nothing more can be written. */
  sync(): Promise<void>
  close(): Promise<void>
}
