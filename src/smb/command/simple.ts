// ECHO and LOGOFF ([MS-SMB2] 3.3.5.6, 3.3.5.17).
import { requireSession, type SmbCall, type SmbReply } from '../call.ts'
import { endSession } from '../session/session.ts'
import { checkSimpleRequest, encodeSimpleResponse } from '../wire/simple.ts'

export function runEcho({ message }: SmbCall): SmbReply {
  checkSimpleRequest(message)
  return { body: [encodeSimpleResponse()] }
}

export async function runLogoff(call: SmbCall): Promise<SmbReply> {
  checkSimpleRequest(call.message)
  await endSession(call.world, requireSession(call), 'lost')
  return { body: [encodeSimpleResponse()] }
}
