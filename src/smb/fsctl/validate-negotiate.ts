// FSCTL_VALIDATE_NEGOTIATE_INFO ([MS-SMB2] 3.3.5.15.12): the negotiation once more, under a signature. If somebody
// has changed it on its way, the connection ends.
import { chooseDialect } from '../command/negotiate.ts'
import { DIALECT } from '../session/dialect.ts'
import { DropConnection, SmbError } from '../smb-error.ts'
import { decodeValidateNegotiate, encodeValidateNegotiate } from '../wire/session/negotiate.ts'
import type { FsctlCall, FsctlReply } from './fsctl.ts'

const OUTPUT_BYTES = 24

export function runValidateNegotiate(call: FsctlCall): FsctlReply {
  const { connection, world, input, outputMaxBytes } = call
  const { negotiated } = connection
  // With 3.1.1 the hash over the negotiation is in the keys, and clients have no reason to ask.
  if (negotiated === undefined || negotiated.dialect === DIALECT.smb311) {
    throw new DropConnection('nothing to validate')
  }
  const request = decodeValidateNegotiate(input)
  const isSame =
    request.capabilities === negotiated.clientCapabilities &&
    request.securityMode === negotiated.clientSecurityMode &&
    request.clientGuid.equals(negotiated.clientGuid) &&
    chooseDialect(request.dialects) === negotiated.dialect
  if (!isSame) throw new DropConnection('another negotiation than we have seen')
  if (outputMaxBytes < OUTPUT_BYTES) throw new SmbError('INVALID_PARAMETER')
  return { output: encodeValidateNegotiate({ ...negotiated, serverGuid: world.serverGuid }) }
}
