// Presentation contexts ([MS-RPCE] 3.3.1.5.6): of the offers of a client, the pipe accepts its own interface in NDR.
// NDR64 gets its own refusal in the answer, so that Windows clients use NDR. A bind-time feature negotiation is answered
// with no features.
import type { RpcInterface } from './interface.ts'
import type { ContextOffer, ContextResult, Syntax } from './pdu.ts'

const NDR: Syntax = { uuid: '045d888aeb1cc9119fe808002b104860', version: 2 }
/** 6cb71c2c-9812-4540, then the features as bits ([MS-RPCE] 2.2.2.14). */
const FEATURE_NEGOTIATION = '2c1cb76c12984045'

const ACCEPTANCE = { result: 0, reason: 0, transfer: NDR }
const NEGOTIATED = { result: 3, reason: 0, transfer: undefined }
const refusal = (reason: number): ContextResult => ({ result: 2, reason, transfer: undefined })
const ABSTRACT_SYNTAX_NOT_SUPPORTED = refusal(1)
const TRANSFER_SYNTAXES_NOT_SUPPORTED = refusal(2)

export function answerContext(offer: ContextOffer, { syntax }: RpcInterface): ContextResult {
  if (offer.transfers[0]?.uuid.startsWith(FEATURE_NEGOTIATION) === true) return NEGOTIATED
  const isOurs =
    offer.abstract.uuid === syntax.uuid &&
    (offer.abstract.version & 0xffff) === (syntax.version & 0xffff) &&
    offer.abstract.version >>> 16 <= syntax.version >>> 16
  if (!isOurs) return ABSTRACT_SYNTAX_NOT_SUPPORTED
  const hasNdr = offer.transfers.some(
    ({ uuid, version }) => uuid === NDR.uuid && version === NDR.version,
  )
  return hasNdr ? ACCEPTANCE : TRANSFER_SYNTAXES_NOT_SUPPORTED
}

export function isAccepted({ result }: ContextResult): boolean {
  return result === ACCEPTANCE.result
}
