// Block lists on the wire: the body of Put Block List and the answer of Get Block List.
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
import { parseLongXml, XML_DECLARATION, type XmlNode } from '../../../http/protocol/xml.ts'
import { inTurns } from '../../../kv/turn.ts'

/** 50,000 ids of 64 bytes, each on its own indented line, take 6 MiB. */
export const BLOCK_LIST_BYTES_MAX = 8 * 1024 * 1024

/** Allows more nodes than blocks, so that a list that is too long gets BlockListTooLong, not InvalidXmlDocument. */
const LIMITS = { lengthMax: BLOCK_LIST_BYTES_MAX, depthMax: 3, nodeCountMax: 200_000 }

const PLACES: ReadonlySet<string> = new Set<BlockPlace>(['Committed', 'Uncommitted', 'Latest'])

export async function decodeBlockListXml(body: Uint8Array): Promise<BlockListEntry[]> {
  const root = await parseLongXml(body, LIMITS)
  if (root.name !== 'BlockList') throw new StorageError('InvalidXmlDocument')
  if (root.children.length > COMMITTED_BLOCKS_MAX) throw new StorageError('BlockListTooLong')
  const entries: BlockListEntry[] = []
  await inTurns(root.children, (node) => entries.push(decodeEntry(node)))
  return entries
}

function decodeEntry({ name, text, children }: XmlNode): BlockListEntry {
  if (!isPlace(name) || children.length > 0) throw new StorageError('InvalidXmlDocument')
  // An invalid id is the id of no block.
  const blockId = canonicalBlockId(text.trim())
  if (blockId === undefined) throw new StorageError('InvalidBlockList')
  return [name, blockId]
}

function isPlace(name: string): name is BlockPlace {
  return PLACES.has(name)
}

/** Estimate: a block takes about 60 bytes plus its id. */
const BLOCK_BYTES_LIKELY = 150

export async function encodeBlockListXml({
  committed,
  uncommitted,
}: BlockLists): Promise<Uint8Array> {
  const count = (committed?.length ?? 0) + (uncommitted?.length ?? 0)
  const writer = createTextWriter(256 + count * BLOCK_BYTES_LIKELY)
  writer.add(`${XML_DECLARATION}<BlockList>`)
  if (committed !== undefined) await addBlocks(writer, 'CommittedBlocks', committed)
  if (uncommitted !== undefined) await addBlocks(writer, 'UncommittedBlocks', uncommitted)
  writer.add('</BlockList>')
  return writer.bytes()
}

/** Neither base64 nor a number needs escaping. */
async function addBlocks(
  writer: TextWriter,
  element: string,
  blocks: readonly Block[],
): Promise<void> {
  if (blocks.length === 0) {
    writer.add(`<${element} />`)
    return
  }
  writer.add(`<${element}>`)
  await inTurns(blocks, ([id, lengthBytes]) => {
    writer.add(`<Block><Name>${id}</Name><Size>${lengthBytes}</Size></Block>`)
  })
  writer.add(`</${element}>`)
}
