// Block lists on the wire: what Put Block List is sent and what Get Block List answers with.
import { canonicalBlockId } from '../../../storage/blob/content/block-id.ts'
import {
  COMMITTED_BLOCKS_MAX,
  type BlockListEntry,
  type BlockLists,
  type BlockPlace,
} from '../../../storage/blob/content/block.ts'
import type { Block } from '../../../extent/content/map.ts'
import { StorageError } from '../../../storage/shared/error.ts'
import { createTextWriter, type TextWriter } from '../../../http/protocol/text-writer.ts'
import { parseXml, XML_DECLARATION, type XmlNode } from '../../../http/protocol/xml.ts'

/** 50,000 ids of 64 bytes, each on an indented line of its own, take 6 MiB. */
export const BLOCK_LIST_BYTES_MAX = 8 * 1024 * 1024

/** More nodes than blocks are allowed, so that a list that is too long is refused as that, not as bad XML. */
const LIMITS = { lengthMax: BLOCK_LIST_BYTES_MAX, depthMax: 3, nodeCountMax: 200_000 }

const PLACES: ReadonlySet<string> = new Set<BlockPlace>(['Committed', 'Uncommitted', 'Latest'])

export function decodeBlockListXml(body: Uint8Array): BlockListEntry[] {
  const root = parseXml(body, LIMITS)
  if (root.name !== 'BlockList') throw new StorageError('InvalidXmlDocument')
  if (root.children.length > COMMITTED_BLOCKS_MAX) throw new StorageError('BlockListTooLong')
  return root.children.map(decodeEntry)
}

function decodeEntry({ name, text, children }: XmlNode): BlockListEntry {
  if (!isPlace(name) || children.length > 0) throw new StorageError('InvalidXmlDocument')
  // What is no id is the id of no block.
  const blockId = canonicalBlockId(text.trim())
  if (blockId === undefined) throw new StorageError('InvalidBlockList')
  return [name, blockId]
}

function isPlace(name: string): name is BlockPlace {
  return PLACES.has(name)
}

/** A block takes about 60 bytes and its id. */
const BLOCK_BYTES_LIKELY = 150

export function encodeBlockListXml({ committed, uncommitted }: BlockLists): Uint8Array {
  const count = (committed?.length ?? 0) + (uncommitted?.length ?? 0)
  const writer = createTextWriter(256 + count * BLOCK_BYTES_LIKELY)
  writer.add(`${XML_DECLARATION}<BlockList>`)
  if (committed !== undefined) addBlocks(writer, 'CommittedBlocks', committed)
  if (uncommitted !== undefined) addBlocks(writer, 'UncommittedBlocks', uncommitted)
  writer.add('</BlockList>')
  return writer.bytes()
}

/** Neither base64 nor a number needs escaping. */
function addBlocks(writer: TextWriter, element: string, blocks: readonly Block[]): void {
  if (blocks.length === 0) {
    writer.add(`<${element} />`)
    return
  }
  writer.add(`<${element}>`)
  for (const [id, lengthBytes] of blocks) {
    writer.add(`<Block><Name>${id}</Name><Size>${lengthBytes}</Size></Block>`)
  }
  writer.add(`</${element}>`)
}
