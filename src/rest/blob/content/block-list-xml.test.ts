import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StorageError } from '../../../storage/shared/error.ts'
import { BLOCK_LIST_BYTES_MAX, decodeBlockListXml, encodeBlockListXml } from './block-list-xml.ts'

const decode = (xml: string) => decodeBlockListXml(Buffer.from(xml))

test('decoding keeps the order, the duplicates and the place of each block', async () => {
  const xml = `<?xml version="1.0" encoding="utf-8"?>
    <BlockList>
      <Latest>AAAA</Latest><Committed> AAAB
      </Committed><!-- a comment --><Uncommitted>QR==</Uncommitted><Latest><![CDATA[AAAA]]></Latest>
    </BlockList>`
  assert.deepEqual(await decode(xml), [
    ['Latest', 'AAAA'],
    ['Committed', 'AAAB'],
    ['Uncommitted', 'QQ=='],
    ['Latest', 'AAAA'],
  ])
})

for (const empty of [
  '<BlockList/>',
  '<BlockList></BlockList>',
  '\ufeff<BlockList>\n</BlockList>',
]) {
  test(`${JSON.stringify(empty)} decodes to an empty list`, async () =>
    assert.deepEqual(await decode(empty), []))
}

const listOf = (count: number, block = '<Latest>AAAA</Latest>') =>
  `<BlockList>${block.repeat(count)}</BlockList>`

// prettier-ignore
const REFUSED: readonly (readonly [what: string, xml: string, code: string])[] = [
  ['an empty body', '', 'InvalidXmlDocument'],
  ['a body that is not XML', 'AAAA', 'InvalidXmlDocument'],
  ['a missing end tag', '<BlockList><Latest>AAAA</Latest>', 'InvalidXmlDocument'],
  ['another root', '<Blocks><Latest>AAAA</Latest></Blocks>', 'InvalidXmlDocument'],
  ['another place', '<BlockList><latest>AAAA</latest></BlockList>', 'InvalidXmlDocument'],
  ['a block in a block', '<BlockList><Latest><Latest>AAAA</Latest></Latest></BlockList>', 'InvalidXmlDocument'],
  ['an entity', '<!DOCTYPE x [<!ENTITY a "AAAA">]><BlockList><Latest>&a;</Latest></BlockList>', 'InvalidXmlDocument'],
  ['an id that is not base64', '<BlockList><Latest>AAA</Latest></BlockList>', 'InvalidBlockList'],
  ['no id', '<BlockList><Latest/></BlockList>', 'InvalidBlockList'],
  ['50,001 blocks', listOf(50_001), 'BlockListTooLong'],
  ['150,000 blocks', listOf(150_000), 'BlockListTooLong'],
  ['a million nodes', listOf(900_000, '<Latest/>'), 'InvalidXmlDocument'],
]

for (const [what, xml, code] of REFUSED) {
  test(`${what} → ${code}`, async () => {
    await assert.rejects(
      decode(xml),
      (error) => error instanceof StorageError && error.code === code,
    )
  })
}

test('50,000 blocks with ids of maximum length, one per line, fit into the limit', async () => {
  const lines = Array.from({ length: 50_000 }, (_, i) => {
    const id = Buffer.from(String(i).padStart(64, '0')).toString('base64')
    return `\r\n    <Uncommitted>${id}</Uncommitted>`
  })
  const body = Buffer.from(`<BlockList>${lines.join('')}\r\n</BlockList>`)
  assert.ok(body.length <= BLOCK_LIST_BYTES_MAX)
  const decoded = await decodeBlockListXml(body)
  assert.equal(decoded.length, 50_000)
  assert.equal(
    Buffer.from(decoded[49_999]?.[1] ?? '', 'base64')
      .toString()
      .slice(-6),
    '049999',
  )
})

const BLOCK = '<Block><Name>AAAA</Name><Size>4194304000</Size></Block>'
const OTHER = '<Block><Name>QQ==</Name><Size>1</Size></Block>'

// prettier-ignore
const ENCODED = [
  [{ committed: [], uncommitted: undefined }, '<CommittedBlocks />'],
  [{ committed: undefined, uncommitted: [] }, '<UncommittedBlocks />'],
  [{ committed: [['AAAA', 4_194_304_000], ['QQ==', 1]], uncommitted: undefined }, `<CommittedBlocks>${BLOCK}${OTHER}</CommittedBlocks>`],
  [{ committed: [['QQ==', 1]], uncommitted: [['AAAA', 4_194_304_000]] },
    `<CommittedBlocks>${OTHER}</CommittedBlocks><UncommittedBlocks>${BLOCK}</UncommittedBlocks>`],
] as const

for (const [lists, xml] of ENCODED) {
  test(`${JSON.stringify(lists)} is encoded as XML`, async () => {
    const body = await encodeBlockListXml({ blob: undefined, ...lists })
    const whole = `<?xml version="1.0" encoding="utf-8"?><BlockList>${xml}</BlockList>`
    assert.equal(Buffer.from(body).toString(), whole)
  })
}
